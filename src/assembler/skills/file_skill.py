"""A skill that lies in a folder."""

from __future__ import annotations

from collections.abc import Sequence

from assembler.errors import Diagnostic, Where
from assembler.runners.base import ScriptJob, ScriptResult
from assembler.skills.folder import SkillFolder
from assembler.skills.frontmatter import body_of
from assembler.skills.skill import Frontmatter, RunContext, Skill, SkillResource, SkillScript
from assembler.skills.tree import SKILL_FILE, is_script
from assembler.values import JSON


class FileSkill(Skill):
    """A skill that lies in a folder; of it, listing has read the SKILL.md alone.

    Args:
        source: Name of the source that found it.
        frontmatter: What its SKILL.md says.
        where: Its SKILL.md.
        stamp: Digest of its SKILL.md.
        folder: Reads the rest.
        has_resources: Whether it has files beside its SKILL.md that are no scripts.
        has_scripts: Whether it has scripts.
    """

    def __init__(
        self,
        source: str,
        frontmatter: Frontmatter,
        where: Where,
        stamp: str,
        folder: SkillFolder,
        *,
        has_resources: bool,
        has_scripts: bool,
    ) -> None:
        self.source, self.frontmatter, self.where, self.stamp = source, frontmatter, where, stamp
        self._folder, self._has_resources, self._has_scripts = folder, has_resources, has_scripts

    @property
    def has_resources(self) -> bool:
        """Whether it has files beside its SKILL.md that are no scripts."""
        return self._has_resources

    @property
    def has_scripts(self) -> bool:
        """Whether it has files under `scripts/` with the extension of a script."""
        return self._has_scripts

    @property
    def findings(self) -> Sequence[Diagnostic]:
        """What was left out of it and why; empty until its files were read."""
        return self._folder.findings

    async def digest(self) -> str:
        """Digest of all its files: their paths and bytes."""
        return await self._folder.digest()

    async def content(self) -> str:
        """The instructions in its SKILL.md."""
        return body_of((await self._folder.files())[SKILL_FILE], self.where)

    async def resources(self) -> Sequence[SkillResource]:
        """Its files, without the SKILL.md and the scripts."""
        paths = await self._folder.digests()
        return [FileResource(path, self._folder) for path in paths if path != SKILL_FILE and not is_script(path)]

    async def scripts(self) -> Sequence[SkillScript]:
        """Its scripts."""
        return [FileScript(path, self._folder) for path in await self._folder.digests() if is_script(path)]

    def changed(self) -> bool:
        """Whether any of its files that were read differs now."""
        return self._folder.changed()


class FileResource(SkillResource):
    """A file of a skill."""

    def __init__(self, name: str, folder: SkillFolder) -> None:
        self.name, self._folder = name, folder

    async def read(self, context: RunContext) -> str | bytes:
        """Text where the file is UTF-8 without NUL bytes, its bytes otherwise."""
        data = (await self._folder.files())[self.name]
        if b"\0" in data:
            return data
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return data


class FileScript(SkillScript):
    """A script of a skill."""

    def __init__(self, name: str, folder: SkillFolder) -> None:
        self.name, self._folder = name, folder

    async def run(self, arguments: JSON, context: RunContext) -> ScriptResult:
        """Runs the hashed file in a private copy of its skill."""
        copy = await self._folder.copy(context.scope)
        return await context.runner.run(ScriptJob(copy, self.name, arguments, context.files))
