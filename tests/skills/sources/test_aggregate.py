"""Several sources as one: their order, their decorators, their names, their failures."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from tests.skills.support import list_of

from assembler.errors import AssemblerError, Diagnostic, problem
from assembler.skills.declared import Skills
from assembler.skills.decorators.base import SkillDecorator
from assembler.skills.inline import InlineSkill
from assembler.skills.skill import Skill, Source, SourceContext
from assembler.skills.sources.aggregate import Aggregate
from assembler.skills.sources.base import SkillSource


class Made(SkillSource, kind="made"):
    """Lists skills after a while, or fails."""

    names: tuple[str, ...] = ()
    text: str = "Same."
    after: float = 0
    says: str = ""
    fails: str = ""

    async def list_skills(self, context: SourceContext) -> Sequence[Skill]:
        await asyncio.sleep(self.after)
        if self.says:
            context.report(Diagnostic("skills/said", self.says, "info"))
        if self.fails == "unexpectedly":
            raise RuntimeError("token=secret")
        if self.fails:
            raise problem("skills/down", self.fails)
        return [InlineSkill(name, self.text, source=context.name) for name in self.names]


class Mark(SkillDecorator, kind="mark"):
    """Appends a letter to every name, so that the order of decorators shows."""

    letter: str

    def wrap(self, inner: Source) -> Source:
        letter = self.letter

        class Marked:
            async def list_skills(self, context: SourceContext) -> Sequence[Skill]:
                skills = await inner.list_skills(context)
                return [InlineSkill(f"{skill.name}-{letter}", "Marked.", source=skill.source) for skill in skills]

        return Marked()


def test_sources_come_in_their_order_whichever_is_ready_first() -> None:
    sources = {
        "slow": Made(names=("b", "a"), after=0.03, says="first"),
        "fast": Made(names=("c",), says="second"),
    }
    found = asyncio.run(list_of(Aggregate(sources)))
    assert [(skill.source, skill.name) for skill in found.skills] == [("slow", "b"), ("slow", "a"), ("fast", "c")]
    assert [told.message for told in found.diagnostics] == ["first", "second"]


def test_sources_list_side_by_side() -> None:
    meeting: list[str] = []

    class Meeting(Made, kind="meeting"):
        """Lists once the others have come too."""

        async def list_skills(self, context: SourceContext) -> Sequence[Skill]:
            meeting.append(context.name)
            while len(meeting) < 3:  # noqa: ASYNC110 - the point is that all of them get here
                await asyncio.sleep(0)
            return []

    async def list_all() -> None:
        await asyncio.wait_for(list_of(Aggregate({name: Meeting() for name in "abc"})), 5)

    asyncio.run(list_all())


def test_a_source_goes_through_its_own_decorators_and_then_through_the_common_ones() -> None:
    source = Made(names=("x",), decorators={"1": Mark(letter="a"), "2": Mark(letter="b")})
    aggregate = Aggregate({"one": source, "two": Made(names=("y",))}, {"3": Mark(letter="c"), "4": Mark(letter="d")})
    assert asyncio.run(list_of(aggregate)).names == ["x-a-b-c-d", "y-c-d"]


def test_of_equal_names_the_first_source_wins_and_the_other_is_told() -> None:
    sources = {"one": Made(names=("a", "b")), "two": Made(names=("b", "c"), text="Other.")}
    found = asyncio.run(list_of(Aggregate(sources)))
    assert [(skill.source, skill.name) for skill in found.skills] == [("one", "a"), ("one", "b"), ("two", "c")]
    assert found.codes == ["skills/shadowed"]


def test_equal_skills_go_without_a_word() -> None:
    found = asyncio.run(list_of(Aggregate({"one": Made(names=("a",)), "two": Made(names=("a",))})))
    assert ([skill.source for skill in found.skills], found.codes) == (["one"], [])


def test_all_that_fails_is_told_at_once() -> None:
    sources = {
        "good": Made(names=("a",), says="still told"),
        "down": Made(fails="the server is down"),
        "broken": Made(fails="unexpectedly"),
    }
    said: list[Diagnostic] = []
    with pytest.raises(AssemblerError) as caught:
        asyncio.run(Aggregate(sources).list_skills(SourceContext(report=said.append)))
    assert [told.code for told in caught.value.diagnostics] == ["skills/down", "skills/source-failed"]
    assert "`broken`" in caught.value.diagnostics[1].message
    assert "secret" not in str(caught.value)
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert [told.message for told in said] == ["still told"]


def test_no_sources_have_no_skills() -> None:
    assert asyncio.run(list_of(Aggregate({}))).names == []


def test_it_is_what_the_configuration_makes() -> None:
    skills = Skills.model_validate(
        {
            "sources": {
                "late": {"kind": "inline", "skills": {"a": {"description": "x"}}, "order": 1},
                "inline": {
                    "skills": {"b": {"description": "x"}, "internal-c": {"description": "x"}},
                    "decorators": {"hide": {"kind": "filter", "exclude": ["internal-*"]}},
                },
                "off": None,
            },
            "decorators": {"dedupe": {}, "cache": {"ttl": "5m"}},
        }
    )
    found = asyncio.run(list_of(skills.open()))
    assert [(skill.source, skill.name) for skill in found.skills] == [("inline", "b"), ("late", "a")]
