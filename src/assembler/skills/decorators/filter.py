"""Hides skills."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from assembler.errors import Diagnostic
from assembler.matching import Match
from assembler.skills.decorators.base import SkillDecorator
from assembler.skills.skill import Skill, Source, SourceContext


class Filter(SkillDecorator, kind="filter"):
    """Keeps the skills that `include` matches and `exclude` does not; `exclude` beats `include`."""

    include: Match | None = None
    """Skills to keep; every skill where it is left out. An empty list keeps none."""
    exclude: Match | None = None
    """Skills to hide."""

    @model_validator(mode="after")
    def _looks_at_skills(self) -> Self:
        for match in (self.include, self.exclude):
            if match is not None and (match.scripts or match.tools):
                message = "a filter looks at `skills`, `sources` and `tags`; scripts and tools are no skills"
                raise PydanticCustomError("skills/bad-filter", message)
        return self

    def keeps(self, skill: Skill) -> bool:
        """Whether a skill stays."""
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
            if self._filter.keeps(skill):
                kept.append(skill)
            else:
                message = f"the skill `{skill.name}` of `{skill.source}` is hidden by a filter"
                context.report(Diagnostic("skills/filtered", message, "info", skill.where))
        return kept
