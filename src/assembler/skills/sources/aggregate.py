"""Several sources as one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from assembler.errors import AssemblerError, Diagnostic
from assembler.skills.decorators.base import SkillDecorator
from assembler.skills.shadowing import first_of_each
from assembler.skills.skill import Skill, Source, SourceContext
from assembler.skills.sources.base import SkillSource


class Aggregate:
    """Named sources, each inside its own decorators, and all of them inside the common ones.

    Of skills with the same name the first one counts, in the order of the sources.

    Args:
        sources: Sources by name, in their order.
        decorators: What the skills of all of them pass through, innermost first.
    """

    def __init__(
        self, sources: Mapping[str, SkillSource], decorators: Mapping[str, SkillDecorator] | None = None
    ) -> None:
        each = {name: _wrapped(source, source.decorators) for name, source in sources.items()}
        self._source = _wrapped(_SideBySide(each), decorators or {})

    async def list_skills(self, context: SourceContext) -> Sequence[Skill]:
        """The skills of all sources, source by source.

        Raises:
            AssemblerError: A source as a whole cannot be read; with the diagnostics of every one that cannot.
        """
        skills = await self._source.list_skills(context)
        return first_of_each(skills, str, context.report)


def _wrapped(source: Source, decorators: Mapping[str, SkillDecorator]) -> Source:
    for decorator in decorators.values():
        source = decorator.wrap(source)
    return source


class _SideBySide:
    def __init__(self, sources: Mapping[str, Source]) -> None:
        self._sources = sources

    async def list_skills(self, context: SourceContext) -> Sequence[Skill]:
        """What each source lists, and what each has to say, in their order whichever is ready first."""
        said: dict[str, list[Diagnostic]] = {name: [] for name in self._sources}
        listings = await asyncio.gather(
            *(
                source.list_skills(replace(context, name=name, report=said[name].append))
                for name, source in self._sources.items()
            ),
            return_exceptions=True,
        )
        skills: list[Skill] = []
        failures: list[Diagnostic] = []
        unexpected: BaseException | None = None
        for name, listing in zip(self._sources, listings, strict=True):
            for diagnostic in said[name]:
                context.report(diagnostic)
            if isinstance(listing, BaseException):
                failures.extend(_failure(name, listing))
                unexpected = None if isinstance(listing, AssemblerError) else listing
            else:
                skills.extend(listing)
        if failures:
            raise AssemblerError(*failures) from unexpected
        return skills


def _failure(name: str, error: BaseException) -> Sequence[Diagnostic]:
    """Why a source cannot be read; of an unexpected error its type alone, since its text may hold a secret."""
    if isinstance(error, AssemblerError):
        return error.diagnostics
    if not isinstance(error, Exception):
        raise error
    message = f"the source `{name}` failed with {type(error).__name__}"
    return [Diagnostic("skills/source-failed", message, hint="report this to who provides this kind of source")]
