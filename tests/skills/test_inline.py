"""Skills in code and in the configuration."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.python.importable import importable, key, trusting
from tests.skills.support import Listed, in_run, list_of

from assembler.errors import AssemblerError
from assembler.python.refs import load
from assembler.scope import Scope
from assembler.skills.inline import InlineSkill
from assembler.skills.skill import Skill
from assembler.skills.sources.inline import InlineSource

GREETING = {"description": "Says hello.", "instructions": "Say hello.", "resources": {"b.md": "B", "a.md": "A"}}


def listed(**skills: Any) -> Listed:
    return asyncio.run(list_of(InlineSource(skills=skills)))


def test_it_offers_what_was_given() -> None:
    skill = InlineSkill("greet", "Says hello.", "Say hello.", resources={"b.md": "B", "a.md": "A"}, source="mine")

    async def use() -> None:
        assert (skill.name, skill.description, skill.source) == ("greet", "Says hello.", "mine")
        assert await skill.content() == "Say hello."
        async with Scope() as scope:
            texts = {resource.name: await resource.read(in_run(scope)) for resource in await skill.resources()}
        assert list(texts.items()) == [("a.md", "A"), ("b.md", "B")]
        assert (skill.has_resources, skill.has_scripts, await skill.scripts()) == (True, False, [])
        assert skill.changed() is False

    asyncio.run(use())


def test_the_configuration_gives_the_same() -> None:
    (skill,) = listed(greet=GREETING).skills
    same = InlineSkill("greet", "Says hello.", "Say hello.", resources={"a.md": "A", "b.md": "B"})
    assert skill.source == "main"
    assert asyncio.run(skill.digest()) == asyncio.run(same.digest())


@pytest.mark.parametrize(
    "change",
    [{"description": "x"}, {"instructions": "x"}, {"resources": {"a.md": "A"}}, {"metadata": {"tags": "x"}}],
    ids=lambda change: next(iter(change)),
)
def test_everything_counts_for_the_digest(change: dict[str, Any]) -> None:
    (skill,) = listed(greet=GREETING).skills
    (other,) = listed(greet={**GREETING, **change}).skills
    assert asyncio.run(skill.digest()) != asyncio.run(other.digest())
    assert skill.stamp != other.stamp


def test_skills_come_in_their_order_and_null_is_off() -> None:
    found = listed(b=GREETING, c=None, a=GREETING, first={**GREETING, "order": -1})
    assert found.names == ["first", "b", "a"]


def test_tags_can_be_matched() -> None:
    (skill,) = listed(greet={**GREETING, "metadata": {"tags": ["a", "b"]}}).skills
    assert skill.facts.tags == ("a", "b")


@pytest.mark.parametrize("name", ["Greet", "", "a b", "../x"])
def test_a_bad_name_is_refused(name: str) -> None:
    with pytest.raises(AssemblerError) as caught:
        InlineSkill(name, "x")
    assert caught.value.diagnostics[0].code == "skills/bad-name"
    with pytest.raises(ValidationError) as invalid:
        listed(**{name: GREETING})
    assert [error["type"] for error in invalid.value.errors()] == ["skills/bad-name"]


def test_a_missing_description_is_refused() -> None:
    with pytest.raises(AssemblerError) as caught:
        InlineSkill("greet", " ")
    assert caught.value.diagnostics[0].code == "skills/no-description"
    for description in ({}, {"description": " "}):
        with pytest.raises(ValidationError):
            listed(greet=description)


def today() -> str:
    """Says which day it is."""
    return "Monday"


def add(left: int, right: int) -> int:
    """Adds."""
    return left + right


async def texts_of(skill: Skill) -> dict[str, Any]:
    async with Scope() as scope:
        return {resource.name: await resource.read(in_run(scope)) for resource in await skill.resources()}


async def results_of(skill: Skill, arguments: Any) -> dict[str, Any]:
    async with Scope() as scope:
        return {script.name: await script.run(arguments, in_run(scope)) for script in await skill.scripts()}


def test_functions_do_what_texts_cannot() -> None:
    skill = InlineSkill("sums", "Adds.", resources={"today": today, "a.md": "A"}, scripts={"add": add})
    assert (skill.has_resources, skill.has_scripts, skill.needs_runner) == (True, True, False)
    assert asyncio.run(texts_of(skill)) == {"a.md": "A", "today": "Monday"}
    assert asyncio.run(results_of(skill, {"left": 1, "right": 2})) == {"add": 3}


def test_a_function_counts_by_its_reference() -> None:
    def stamp(**functions: Any) -> str:
        return InlineSkill("sums", "Adds.", **functions).stamp

    def same_code(left: int, right: int) -> int:
        """Adds."""
        return left + right

    assert stamp(scripts={"add": add}) == stamp(scripts={"add": add})
    assert len({stamp(), stamp(scripts={"add": add}), stamp(scripts={"sum": add})}) == 3
    assert stamp(scripts={"add": add}) != stamp(scripts={"add": same_code})
    assert stamp(resources={"today": f"{__name__}:today"}) != stamp(resources={"today": today})


def wants_more(context: str) -> str:
    return context


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"scripts": {"x": 7}}, "python/wrong-type"),
        ({"scripts": {"x": "text"}}, "python/wrong-type"),
        ({"scripts": {"x": dict}}, "python/wrong-type"),
        ({"scripts": {"x": iter}}, "skills/bad-function"),
        ({"resources": {"x": wants_more}}, "skills/bad-function"),
    ],
)
def test_what_is_no_fitting_function_is_refused(given: Any, code: str) -> None:
    with pytest.raises(AssemblerError) as caught:
        InlineSkill("sums", "Adds.", **given)
    assert caught.value.diagnostics[0].code == code


SKILLS = """\
    from assembler.skills.inline import InlineSkill, TextResource
    from assembler.skills.skill import Frontmatter, Skill

    def add(left: int, right: int) -> int:
        return left + right

    def now():
        return "Monday"

    def bad(*, value: "Nowhere"): ...

    class Mine(Skill):
        frontmatter = Frontmatter("mine", "Does it.")
        stamp = "1"
        has_resources, has_scripts = True, False

        async def digest(self): return "sha256:1"
        async def content(self): return "Do it."
        async def resources(self): return [TextResource("a.md", "A")]
        async def scripts(self): return []

    ready = InlineSkill("ready", "Is ready.", scripts={"add": add})

    class Picky(Mine):
        def __init__(self, what): ...

    class Failing(Mine):
        def __init__(self): raise ValueError("first\\nsecond")

    class Abstract(Skill): ...

    class Headless(Mine):
        frontmatter = None
    """


@pytest.fixture
def written(tmp_path: Path) -> Generator[Path]:
    with importable(tmp_path, {"written.py": SKILLS}) as folder:
        yield folder


def from_yaml(**skills: Any) -> Listed:
    source = InlineSource.model_validate({"skills": skills})
    return asyncio.run(list_of(load(source, is_trusted=trusting("written"), where=key)))


def refused(**skills: Any) -> tuple[str, str]:
    with pytest.raises(AssemblerError) as caught:
        from_yaml(**skills)
    (told,) = caught.value.diagnostics
    return told.code, str(told.where)


def ref(name: str) -> dict[str, Any]:
    return {"target": f"written:{name}"}


def test_yaml_names_functions(written: Path) -> None:
    (skill,) = from_yaml(
        sums={"description": "x", "scripts": {"add": ref("add")}, "resources": {"now": ref("now")}}
    ).skills
    assert asyncio.run(results_of(skill, {"left": 1, "right": 2})) == {"add": 3}
    assert asyncio.run(texts_of(skill)) == {"now": "Monday"}


def test_a_skill_with_a_bad_function_is_left_out_and_told(written: Path) -> None:
    found = from_yaml(bad={"description": "x", "scripts": {"bad": ref("bad")}}, good=GREETING)
    assert (found.names, found.codes) == (["good"], ["skills/bad-function"])


def test_yaml_names_skills(written: Path) -> None:
    found = from_yaml(mine=ref("Mine"), greet=GREETING, ready={**ref("ready"), "order": -1})
    assert (found.names, found.codes) == (["ready", "mine", "greet"], [])
    ready, mine, _ = found.skills
    assert (mine.source, mine.description, asyncio.run(mine.digest())) == ("main", "Does it.", "sha256:1")
    assert asyncio.run(mine.content()) == "Do it."
    assert asyncio.run(texts_of(mine)) == {"a.md": "A"}
    assert (mine.has_resources, mine.has_scripts, mine.needs_runner) == (True, False, False)
    assert (mine.findings, mine.changed()) == ((), False)
    assert (ready.source, ready.has_scripts, ready.needs_runner) == ("main", True, False)
    assert asyncio.run(results_of(ready, {"left": 1, "right": 2})) == {"add": 3}


def test_two_sources_list_one_object_each_in_its_name(written: Path) -> None:
    source = InlineSource.model_validate({"skills": {"ready": ref("ready")}})
    loaded = load(source, is_trusted=trusting("written"), where=key)
    (one,), (two,) = (asyncio.run(list_of(loaded, name=name)).skills for name in ("one", "two"))
    assert (one.source, two.source, one.facts.source) == ("one", "two", "one")


def test_the_key_is_the_name(written: Path) -> None:
    found = from_yaml(other=ref("Mine"))
    assert (found.names, found.codes) == ([], ["skills/bad-name"])
    assert "`mine`" in found.diagnostics[0].hint


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("add", "python/wrong-type"),
        ("Headless", "python/wrong-type"),
        ("Abstract", "python/construction-failed"),
        ("Picky", "python/construction-failed"),
        ("Failing", "python/construction-failed"),
        ("InlineSkill", "python/foreign-object"),
    ],
)
def test_what_is_no_skill_is_refused(written: Path, name: str, code: str) -> None:
    assert refused(x=ref(name)) == (code, "skills.x.target")


def test_what_is_not_loaded_is_told_and_the_others_stay(written: Path) -> None:
    source = InlineSource.model_validate({"skills": {"mine": ref("Mine"), "greet": GREETING}})
    found = asyncio.run(list_of(source))
    assert (found.names, found.codes) == (["greet"], ["python/not-loaded"])


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"target": "x"}, {("target",): "component/bad-target"}),
        ({"target": "x:y", "description": "z"}, {("description",): "config/unknown-key"}),
        ({"description": "x", "scripts": {"s": "x:y"}}, {("scripts", "s"): "model_type"}),
        ({"description": "x", "scripts": {"s": {"taget": "x:y"}}}, {("scripts", "s", "taget"): "config/unknown-key"}),
        ({"description": "x", "script": {}}, {("script",): "config/unknown-key"}),
    ],
)
def test_a_mistake_is_told_for_the_form_that_was_meant(entry: Any, expected: dict[tuple[str, ...], str]) -> None:
    with pytest.raises(ValidationError) as caught:
        InlineSource.model_validate({"skills": {"a": entry}})
    found = {tuple(error["loc"][2:]): error["type"] for error in caught.value.errors() if error["type"] != "missing"}
    assert found == expected


def test_a_program_hands_functions_over_in_the_configuration_too() -> None:
    handed: Callable[..., Any] = add
    source = InlineSource.model_validate({"skills": {"sums": {"description": "Adds.", "scripts": {"add": handed}}}})
    dumped = source.model_dump(mode="json")["skills"]["sums"]["scripts"]
    assert dumped == {"add": {"target": f"{__name__}:add"}}
    (skill,) = asyncio.run(list_of(source)).skills
    assert asyncio.run(skill.digest()) == InlineSkill("sums", "Adds.", scripts={"add": add}).stamp
