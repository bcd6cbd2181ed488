"""Keeps one of several equal skills."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from assembler.errors import AssemblerError
from assembler.skills.decorators.base import SkillDecorator
from assembler.skills.shadowing import first_of_each
from assembler.skills.skill import Skill, Source, SourceContext


class Dedupe(SkillDecorator, kind="dedupe"):
    """Keeps the first of equal skills."""

    by: Literal["name", "content"] = "name"
    """`name`: of skills with the same name, upper and lower case being the same, the first stays; one with another
    SKILL.md is told. `content`: of skills whose files are the same to the byte, the first stays."""

    def wrap(self, inner: Source) -> Source:
        """A source without the others."""
        return _ByName(inner) if self.by == "name" else _ByContent(inner)


class _ByName:
    def __init__(self, inner: Source) -> None:
        self._inner = inner

    async def list_skills(self, context: SourceContext) -> Sequence[Skill]:
        return first_of_each(await self._inner.list_skills(context), str.casefold, context.report)


class _ByContent:
    def __init__(self, inner: Source) -> None:
        self._inner = inner

    async def list_skills(self, context: SourceContext) -> Sequence[Skill]:
        skills = await self._inner.list_skills(context)
        with_stamp = Counter(skill.stamp for skill in skills)
        known: set[str] = set()
        kept: list[Skill] = []
        for skill in skills:
            # Listing has read the SKILL.md alone; only where those are equal is the rest worth reading.
            if with_stamp[skill.stamp] > 1:
                try:
                    digest = await skill.digest()
                except AssemblerError as error:  # it cannot be compared, so it stays, and using it will fail
                    for diagnostic in error.diagnostics:
                        context.report(diagnostic)
                else:
                    if digest in known:
                        continue
                    known.add(digest)
            kept.append(skill)
        return kept
