"""Hides skills."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from assembler.calling import call
from assembler.errors import Diagnostic
from assembler.matching import Match
from assembler.python.refs import Function, FunctionRef
from assembler.skills.decorators.base import SkillDecorator
from assembler.skills.skill import Skill, Source, SourceContext


class Filter(SkillDecorator, kind="filter"):
    """Keeps the skills that `include` matches, `exclude` does not, and `predicate` agrees to."""

    include: Match | None = None
    """Skills to keep; every skill where it is left out. An empty list keeps none."""
    exclude: Match | None = None
    """Skills to hide; it beats `include`."""
    predicate: Function | None = None
    """A Python function (`{target: package.module:Name}`), async or not, that is asked about each skill that the others
    keep, and returns true for what stays; where it fails, the skill is hidden."""

    @model_validator(mode="after")
    def _looks_at_skills(self) -> Self:
        for match in (self.include, self.exclude):
            if match is not None and (match.scripts or match.tools):
                message = "a filter looks at `skills`, `sources` and `tags`; scripts and tools are no skills"
                raise PydanticCustomError("skills/bad-filter", message)
        return self

    def matches(self, skill: Skill) -> bool:
        """Whether `include` and `exclude` let a skill stay."""
        if self.exclude is not None and self.exclude.matches(skill.facts):
            return False
        return self.include is None or self.include.matches(skill.facts)

    def wrap(self, inner: Source) -> Source:
        """A source that hides what does not pass."""
        return _Filtered(inner, self)


class _Filtered:
    def __init__(self, inner: Source, filter_: Filter) -> None:
        self._inner, self._filter = inner, filter_

    async def list_skills(self, context: SourceContext) -> Sequence[Skill]:
        kept: list[Skill] = []
        for skill in await self._inner.list_skills(context):
            hidden = await self._why_hidden(skill)
            if hidden is None:
                kept.append(skill)
            else:
                context.report(hidden)
        return kept

    async def _why_hidden(self, skill: Skill) -> Diagnostic | None:
        predicate = self._filter.predicate
        if not self._filter.matches(skill):
            return _filtered(skill)
        return None if predicate is None else await _asked(predicate, skill)


def _filtered(skill: Skill) -> Diagnostic:
    message = f"the skill `{skill.name}` of `{skill.source}` is hidden by a filter"
    return Diagnostic("skills/filtered", message, "info", skill.where)


async def _asked(predicate: FunctionRef, skill: Skill) -> Diagnostic | None:
    """Why the predicate hides a skill; an answer that is neither true nor false is none, and hides it too."""
    function = predicate.loaded
    try:
        answer = await call(function, skill)
    except Exception as error:  # noqa: BLE001  a predicate is foreign code; what it says may hold a secret
        why = f"failed with {type(error).__name__}"
    else:
        if isinstance(answer, bool):
            return None if answer else _filtered(skill)
        why = f"returned a {type(answer).__name__}, not true or false"
    message = f"the skill `{skill.name}` of `{skill.source}` is hidden: the predicate `{predicate.target}` {why}"
    return Diagnostic("skills/bad-predicate", message, where=skill.where)
