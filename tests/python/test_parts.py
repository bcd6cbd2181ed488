"""The kinds `python`: components of every room that are written in Python, named from YAML."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.python.importable import importable, key, trusting
from tests.skills.support import Static, inline, list_of

from assembler import AgentConfig
from assembler.components import BuildContext, Component
from assembler.errors import AssemblerError, Diagnostic
from assembler.python.parts import PythonPart
from assembler.python.refs import load
from assembler.runners.base import Runner, ScriptJob
from assembler.runners.python import PythonRunner
from assembler.scope import Scope
from assembler.skills.decorators.base import SkillDecorator
from assembler.skills.decorators.python import PythonDecorator
from assembler.skills.sources.base import SkillSource
from assembler.skills.sources.python import PythonSource
from assembler.tools.base import Toolset
from assembler.tools.python import PythonToolset

PARTS = """\
    from pathlib import Path
    from pydantic import Field, model_validator
    from assembler.errors import problem
    from assembler.runners.base import Confinement, Runner, ScriptResult
    from assembler.skills.decorators.base import SkillDecorator
    from assembler.skills.decorators.dedupe import Dedupe
    from assembler.skills.inline import InlineSkill
    from assembler.skills.sources.base import SkillSource
    from assembler.skills.sources.files import FilesSource
    from assembler.tools.base import Tool, Toolset

    class Source(SkillSource, kind="mine"):
        names: list[str]
        size: int = Field(default=1, ge=1)
        inner: SkillSource | None = None

        async def list_skills(self, context):
            return [InlineSkill(name, "x", source=context.name) for name in self.names]

    source = Source(names=["ready"])
    decorated = Source(names=["ready"], decorators={"dedupe": Dedupe()})
    foreign = FilesSource(paths=[Path("skills")])

    class Reversed(SkillDecorator, kind="mine"):
        skip: int = 0

        def wrap(self, inner):
            return _Reversed(inner, self.skip)

    class _Reversed:
        def __init__(self, inner, skip):
            self.inner, self.skip = inner, skip

        async def list_skills(self, context):
            return list(reversed(await self.inner.list_skills(context)))[self.skip:]

    reversed_ = Reversed()

    class Hammer(Tool):
        name, description, schema = "hammer", "Hits.", {"type": "object"}

        async def invoke(self, arguments, context): ...

    class Tools(Toolset, kind="mine"):
        count: int = 1

        async def tools(self, name, scope):
            hammer = Hammer()
            hammer.owner = name
            return [hammer] * self.count

    tools = Tools()

    class Quiet(Runner, kind="mine"):
        says: str = "hush"

        async def confinement(self):
            return Confinement("silence")

        def check(self, script):
            if not script.endswith(".q"):
                raise problem("runner/no-interpreter", script)

        async def run(self, job):
            return ScriptResult(0, self.says, "", 0, 0, 0.0, "silence")

    quiet = Quiet(limits={"timeout": "1s"})

    class Abstract(SkillSource, kind="mine"):
        names: list[str]

    class Failing(Source, kind="mine"):
        @model_validator(mode="after")
        def _fails(self):
            raise RuntimeError("first\\nsecond")

    class Refusing(Source, kind="mine"):
        @model_validator(mode="after")
        def _fails(self):
            raise problem("mine/refused", "not today", hint="tomorrow")

    class Positional(Source, kind="mine"):
        def __init__(self, dsn, **options):
            super().__init__(**options)

    class Plain:
        async def list_skills(self, context):
            return []

    def function(): ...
    """

ROOMS: dict[str, tuple[type[Component], str, str]] = {
    "sources": (SkillSource, "Source", "source"),
    "decorators": (SkillDecorator, "Reversed", "reversed_"),
    "tools": (Toolset, "Tools", "tools"),
    "runner": (Runner, "Quiet", "quiet"),
}


@pytest.fixture(autouse=True, scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    with importable(tmp_path_factory.mktemp("parts"), {"parts.py": PARTS}) as folder:
        yield folder


def part(room: type[Component], name: str, **fields: Any) -> Any:
    return room.of_kind("python").model_validate({"target": f"parts:{name}", **fields})


def loaded(room: type[Component], name: str, **fields: Any) -> Any:
    return load(part(room, name, **fields), is_trusted=trusting("parts"), where=key)


def refusals(room: type[Component], name: str, **fields: Any) -> list[Diagnostic]:
    with pytest.raises(AssemblerError) as caught:
        loaded(room, name, **fields)
    return [*caught.value.diagnostics]


def test_a_source_is_the_class_with_its_options_or_the_object() -> None:
    source = loaded(SkillSource, "Source", options={"names": ["b", "a"]}, order=3)
    assert isinstance(source, PythonSource)
    assert (source.order, asyncio.run(list_of(source)).names) == (3, ["b", "a"])
    assert asyncio.run(list_of(loaded(SkillSource, "source"))).names == ["ready"]


def test_an_object_counts_whoever_wrote_its_class() -> None:
    assert loaded(SkillSource, "foreign").loaded.kind == "files"
    assert [told.code for told in refusals(SkillSource, "FilesSource")] == ["python/foreign-object"]


def test_a_decorator_wraps() -> None:
    inner = Static(*inline("a", "b", "c"))
    for decorator, names in (
        (loaded(SkillDecorator, "Reversed", options={"skip": 1}), ["b", "a"]),
        (loaded(SkillDecorator, "reversed_"), ["c", "b", "a"]),
    ):
        assert isinstance(decorator, PythonDecorator)
        assert asyncio.run(list_of(decorator.wrap(inner))).names == names


def test_a_toolset_brings_its_tools() -> None:
    async def owners(toolset: PythonToolset) -> list[str]:
        async with Scope() as scope:
            return [tool.owner for tool in await toolset.tools("box", scope)]

    assert asyncio.run(owners(loaded(Toolset, "Tools", options={"count": 2}))) == ["box", "box"]
    assert asyncio.run(owners(loaded(Toolset, "tools"))) == ["box"]


def test_a_runner_runs_as_it_likes() -> None:
    runner = loaded(Runner, "Quiet", options={"says": "pst"})
    assert isinstance(runner, PythonRunner)
    assert asyncio.run(runner.confinement()).name == "silence"
    assert asyncio.run(runner.run(ScriptJob(Path("/"), "x.q"))).stdout == "pst"
    runner.check("x.q")
    with pytest.raises(AssemblerError):
        runner.check("x.py")
    assert runner.unconfined_by == "target"
    assert asyncio.run(loaded(Runner, "quiet").run(ScriptJob(Path("/"), "x.q"))).stdout == "hush"


@pytest.mark.parametrize(("room", "cls", "instance"), ROOMS.values(), ids=ROOMS)
def test_each_room_takes_its_own(room: type[Component], cls: str, instance: str) -> None:
    for other, (_, other_cls, other_instance) in ROOMS.items():
        for name in (other_cls, other_instance):
            if other != room.room:
                (told,) = refusals(room, name)
                assert (told.code, told.where) == ("python/wrong-type", key(("target",)))
                assert f"`{room.__name__}`" in told.message


@pytest.mark.parametrize("name", ["Plain", "function", "Hammer"])
def test_what_is_no_component_is_refused(name: str) -> None:
    for room, _, _ in ROOMS.values():
        assert [told.code for told in refusals(room, name)] == ["python/wrong-type"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [("options.names", "config/missing-key", "")]),
        (
            {"names": "a", "sise": 2, "size": 0},
            [
                ("options.names", "config/bad-value", ""),
                ("options.size", "config/bad-value", ""),
                ("options.sise", "config/unknown-key", "did you mean `size`?"),
            ],
        ),
        ({"names": ["a", 7]}, [("options.names.1", "config/bad-value", "")]),
        ({"names": [], "inner": {"kind": "files"}}, [("options.inner.paths", "config/missing-key", "")]),
        (
            {"names": [], "inner": {"kind": "nothing"}},
            [("options.inner", "component/unknown-kind", "one of: `files`, `inline`, `python`")],
        ),
        (
            {"names": [], "order": 2, "decorators": {}},
            [
                ("options.decorators", "python/misplaced-option", "write `decorators` beside `target`"),
                ("options.order", "python/misplaced-option", "write `order` beside `target`"),
            ],
        ),
    ],
)
def test_options_are_checked_as_those_of_any_kind(options: dict[str, Any], expected: Any) -> None:
    told = refusals(SkillSource, "Source", options=options)
    assert [(str(each.where), each.code, each.hint) for each in told] == expected
    assert all("parts:Source" in each.message for each in told)


def test_an_object_takes_no_options_and_no_decorators_of_its_own() -> None:
    (told,) = refusals(SkillSource, "source", options={"size": 2})
    assert (told.code, told.where) == ("python/misplaced-option", key(("options",)))
    (told,) = refusals(SkillSource, "decorated")
    assert (told.code, told.where) == ("python/misplaced-option", key(("target",)))


@pytest.mark.parametrize(
    ("name", "code", "told"),
    [
        ("Abstract", "python/construction-failed", "abstract"),
        ("Failing", "python/construction-failed", "RuntimeError: first"),
        ("Positional", "python/construction-failed", "dsn"),
        ("Refusing", "mine/refused", "not today"),
    ],
)
def test_a_class_that_cannot_be_made_is_told(name: str, code: str, told: str) -> None:
    (found,) = refusals(SkillSource, name, options={"names": []})
    assert (found.code, found.where) == (code, key(("target",)))
    assert told in found.message
    assert "second" not in found.message


def test_the_limits_of_a_runner_are_its_own() -> None:
    part(Runner, "Quiet", limits={"timeout": "30s"})
    with pytest.raises(ValidationError) as caught:
        part(Runner, "Quiet", limits={"timeout": "1s"})
    assert [error["type"] for error in caught.value.errors()] == ["python/misplaced-option"]


def test_options_are_part_of_what_is_agreed_to(parts: Path) -> None:
    def power(**fields: Any) -> Any:
        (found,) = part(SkillSource, "Source", **fields).powers(parts)
        return found

    assert (power().target, power().keys, power().binds) == ("parts:Source", (("target",),), None)
    assert power().code == (parts,)
    assert power(options={"names": ["a"]}).binds == {"names": ["a"]}


def test_nothing_works_that_is_not_loaded() -> None:
    source: PythonPart = part(SkillSource, "Source")
    with pytest.raises(AssemblerError) as caught:
        asyncio.run(list_of(source))  # type: ignore[arg-type]
    assert caught.value.diagnostics[0].code == "python/not-loaded"


AGENT: dict[str, Any] = {
    "name": "a",
    "model": {"kind": "scripted", "turns": {"echo": {"text": "x"}}},
    "skills": {
        "sources": {
            "python": {
                "target": "parts:Source",
                "options": {"names": ["b", "a"]},
                "decorators": {"back": {"kind": "python", "target": "parts:Reversed"}},
            }
        },
        "decorators": {"python": {"target": "parts:reversed_"}},
    },
    "tools": {"box": {"kind": "python", "target": "parts:Tools"}},
    "runner": {"kind": "python", "target": "parts:Quiet"},
    "scripts": {"loud": {"scripts": ["x/*"], "runner": {"options": {"says": "hey"}}}},
}


def test_a_whole_agent_is_loaded_and_stays_what_it_was() -> None:
    context = BuildContext({"runner": AGENT["runner"]})
    declared = AgentConfig.model_validate(AGENT, context=context)
    config = load(declared, is_trusted=trusting("parts"), where=key)
    assert config.digest == declared.digest
    assert config.model_dump(mode="json") == declared.model_dump(mode="json")
    assert asyncio.run(list_of(config.skills.open())).names == ["b", "a"]
    override = config.scripts["loud"].runner
    assert asyncio.run(override.run(ScriptJob(Path("/"), "x.q"))).stdout == "hey"
    with pytest.raises(AssemblerError) as caught:
        load(declared, is_trusted=trusting(), where=key)
    assert {(str(told.where), told.code) for told in caught.value.diagnostics} == {
        (f"{path}.target", "python/untrusted")
        for path in (
            "skills.sources.python",
            "skills.sources.python.decorators.back",
            "skills.decorators.python",
            "tools.box",
            "runner",
            "scripts.loud.runner",
        )
    }
