"""The filter: what stays, what goes, and that it is told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.skills.support import Listed, Static, inline, list_of

from assembler.skills.decorators.filter import Filter

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
