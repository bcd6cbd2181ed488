"""The filter: what stays, what goes, and that it is told."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.python.importable import importable, key, trusting
from tests.skills.support import Listed, Static, inline, list_of

from assembler.errors import AssemblerError
from assembler.python.refs import load
from assembler.skills.decorators.filter import Filter
from assembler.skills.skill import Skill

SKILLS = [
    *inline("unit-converter", "csv-profile", source="ours"),
    *inline("internal-notes", source="ours", metadata={"tags": "internal notes"}),
    *inline("unit-pricing", source="theirs"),
]


def kept(**options: Any) -> Listed:
    return asyncio.run(list_of(Filter.model_validate(options).wrap(Static(*SKILLS))))


EVERY = [skill.name for skill in SKILLS]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, EVERY),
        ({"include": None, "exclude": None}, EVERY),
        ({"include": ["unit-*"]}, ["unit-converter", "unit-pricing"]),
        ({"exclude": ["unit-*"]}, ["csv-profile", "internal-notes"]),
        ({"include": ["unit-*"], "exclude": ["*-pricing"]}, ["unit-converter"]),
        ({"include": ["*"], "exclude": ["*"]}, []),
        ({"include": []}, []),
        ({"exclude": []}, EVERY),
        ({"include": ["UNIT-*"]}, []),
        ({"include": ["!unit-*"]}, ["csv-profile", "internal-notes"]),
        ({"exclude": {"tags": ["internal"]}}, ["unit-converter", "csv-profile", "unit-pricing"]),
        ({"include": {"sources": ["theirs"]}}, ["unit-pricing"]),
        ({"exclude": {"skills": ["unit-*"], "sources": ["theirs"]}}, EVERY[:3]),
    ],
)
def test_what_stays(options: dict[str, Any], names: list[str]) -> None:
    found = kept(**options)
    assert found.names == names
    hidden = [told for told in found.diagnostics if told.code == "skills/filtered"]
    assert len(hidden) == len(found.diagnostics) == len(SKILLS) - len(names)
    assert {told.severity for told in hidden} <= {"info"}


@given(include=st.lists(st.sampled_from(EVERY)), exclude=st.lists(st.sampled_from(EVERY)))
def test_exclude_beats_include_and_the_order_stays(include: list[str], exclude: list[str]) -> None:
    names = kept(include=include, exclude=exclude).names
    assert names == [name for name in EVERY if name in include and name not in exclude]


@pytest.mark.parametrize("key", ["scripts", "tools"])
def test_what_no_skill_has_cannot_be_asked_for(key: str) -> None:
    for side in ("include", "exclude"):
        with pytest.raises(ValidationError) as invalid:
            Filter.model_validate({side: {"skills": ["x"], key: ["x"]}})
        assert [error["type"] for error in invalid.value.errors()] == ["skills/bad-filter"]


def test_a_source_that_fails_fails_through_it() -> None:
    class Failing:
        async def list_skills(self, context: object) -> Any:
            raise RuntimeError("down")

    with pytest.raises(RuntimeError, match="down"):
        asyncio.run(list_of(Filter().wrap(Failing())))


def is_short(skill: Skill) -> bool:
    return len(skill.name) < 12


async def is_short_later(skill: Skill) -> bool:
    await asyncio.sleep(0)
    return is_short(skill)


class Short:
    async def __call__(self, skill: Skill) -> bool:
        return is_short(skill)


def looks_sync(skill: Skill) -> Any:
    return is_short_later(skill)


@pytest.mark.parametrize("predicate", [is_short, is_short_later, Short(), looks_sync])
def test_a_predicate_decides_about_what_the_others_keep(predicate: Any) -> None:
    asked: list[str] = []

    def watched(skill: Skill) -> Any:
        asked.append(skill.name)
        return predicate(skill)

    assert kept(predicate=predicate).names == ["csv-profile"]
    found = kept(exclude=["unit-*"], predicate=watched)
    assert found.names == ["csv-profile"]
    assert asked == ["csv-profile", "internal-notes"]
    assert found.codes == ["skills/filtered"] * 3


@pytest.mark.parametrize(
    ("answer", "told"), [(None, "NoneType"), (1, "int"), ("yes", "str"), ([], "list"), (is_short, "function")]
)
def test_an_answer_that_is_none_hides_the_skill(answer: Any, told: str) -> None:
    async def later(skill: Skill) -> Any:
        return answer

    for predicate in (lambda skill: answer, later):
        found = kept(predicate=predicate)
        assert found.names == []
        assert found.codes == ["skills/bad-predicate"] * len(SKILLS)
        assert {diagnostic.severity for diagnostic in found.diagnostics} == {"error"}
        assert f"returned a {told}" in found.diagnostics[0].message


@pytest.mark.parametrize("error", [ValueError("a secret"), StopIteration(), SystemExit(1), asyncio.CancelledError()])
def test_a_predicate_that_fails_hides_the_skill(error: BaseException) -> None:
    def fails(skill: Skill) -> bool:
        if skill.name.startswith("unit"):
            raise error
        return True

    found = kept(predicate=fails)
    assert found.names == ["csv-profile", "internal-notes"]
    assert found.codes == ["skills/bad-predicate"] * 2
    assert "a secret" not in str(found.diagnostics)


def test_a_predicate_that_blocks_does_not_block_the_event_loop() -> None:
    threads: list[bool] = []

    def where(skill: Skill) -> bool:
        threads.append(threading.current_thread() is threading.main_thread())
        return True

    assert kept(predicate=where).names == EVERY
    assert not any(threads)


def test_yaml_names_a_predicate(tmp_path: Path) -> None:
    declared = Filter.model_validate({"predicate": {"target": "short_names:is_short"}})
    with importable(tmp_path, {"short_names.py": "def is_short(skill): return len(skill.name) < 12"}):
        filter_ = load(declared, is_trusted=trusting("short_names"), where=key)
    assert asyncio.run(list_of(filter_.wrap(Static(*SKILLS)))).names == ["csv-profile"]
    with pytest.raises(AssemblerError) as caught:
        asyncio.run(list_of(declared.wrap(Static(*SKILLS))))
    assert caught.value.diagnostics[0].code == "python/not-loaded"
