"""Skills that lie in folders."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from assembler.folders import located
from assembler.powers import Power, reads
from assembler.skills.discovery import Search, find_skills
from assembler.skills.frontmatter import Mode
from assembler.skills.skill import Skill, SourceContext
from assembler.skills.sources.base import SkillSource


class FilesSource(SkillSource, kind="files"):
    """Skills found in folders that hold a SKILL.md.

    A folder with a SKILL.md is a skill with everything below it, another SKILL.md included. Hidden folders, those of
    version control and of package managers, and files that look like keys are passed over; links are followed only
    where they lead to something inside the path that is searched.
    """

    paths: Annotated[tuple[Path, ...], Field(min_length=1)]
    """Folders to search: a skill, a folder of skills, or a whole repository."""
    depth: Annotated[int, Field(ge=0, le=32)] = 6
    """How many folders below a path a skill may lie; 0 for the path alone."""
    mode: Mode = "lenient"
    """`lenient` loads what it safely can and tells what it changed; `strict` skips what breaks the specification."""
    hard_links: Literal["refuse", "allow"] = "refuse"
    """Whether files that have a second name outside their skill are read: it may be a file that is none of theirs, or
    the cache of a package manager that shares files this way."""

    def powers(self, base: Path) -> Iterable[Power]:
        """Reading what lies outside of the project."""
        return (power for path in self.paths for power in reads(path, base, ("paths",)))

    def folders(self, base: Path) -> Sequence[Path]:
        """What it searches."""
        return [located(path, base) for path in self.paths]

    async def list_skills(self, context: SourceContext) -> Sequence[Skill]:
        """The skills, sorted by path in each of the paths.

        What is skipped or changed is told: with severity ``error`` a skill or path that is left out, with ``warning``
        what was mended.
        """
        search = Search(context.name, context.base, self.depth, self.mode, self.hard_links == "allow")
        skills, diagnostics = await asyncio.to_thread(find_skills, self.paths, search)
        for diagnostic in diagnostics:
            context.report(diagnostic)
        return skills
