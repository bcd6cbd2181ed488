"""Skills in code and in the configuration."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import ValidationError
from tests.skills.support import Listed, in_run, list_of

from assembler.errors import AssemblerError
from assembler.scope import Scope
from assembler.skills.inline import InlineSkill
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
        assert await skill.changed() is False

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
