"""A skill that was made elsewhere, as a source lists it."""

from __future__ import annotations

from collections.abc import Sequence

from assembler.errors import Diagnostic
from assembler.skills.skill import Skill, SkillResource, SkillScript


class Sourced(Skill):
    """A skill of a class of its own, in the name of the source that lists it.

    The skill itself stays as it is: other sources, and other agents of this process, may list it as well.

    Args:
        skill: The skill.
        source: Name of the source.
    """

    def __init__(self, skill: Skill, source: str) -> None:
        self._skill = skill
        self.source, self.frontmatter, self.where, self.stamp = source, skill.frontmatter, skill.where, skill.stamp

    @property
    def has_resources(self) -> bool:
        """As it says."""
        return self._skill.has_resources

    @property
    def has_scripts(self) -> bool:
        """As it says."""
        return self._skill.has_scripts

    @property
    def needs_runner(self) -> bool:
        """As it says."""
        return self._skill.needs_runner

    @property
    def findings(self) -> Sequence[Diagnostic]:
        """As it says."""
        return self._skill.findings

    async def digest(self) -> str:
        """As it says."""
        return await self._skill.digest()

    async def content(self) -> str:
        """Its instructions."""
        return await self._skill.content()

    async def resources(self) -> Sequence[SkillResource]:
        """What it lets the model read."""
        return await self._skill.resources()

    async def scripts(self) -> Sequence[SkillScript]:
        """What it lets the model run."""
        return await self._skill.scripts()

    def changed(self) -> bool:
        """As it says."""
        return self._skill.changed()
