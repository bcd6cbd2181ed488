"""A skill written in code or in the configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assembler.digests import digest_json
from assembler.errors import problem
from assembler.skills import names
from assembler.skills.skill import Frontmatter, RunContext, Skill, SkillResource, SkillScript
from assembler.values import JSON


class InlineSkill(Skill):
    """A skill whose text is given.

    Args:
        name: Its name, as the specification wants it: lower-case letters, digits and single hyphens between them.
        description: What it does and when to use it.
        instructions: What loading it hands to the model.
        resources: Texts that the model can read, by name.
        metadata: Keys of the author's own; `tags` among them is what matchers look at.
        source: Name of the source that lists it.

    Raises:
        AssemblerError: The name is none (``skills/bad-name``), or there is no description (``skills/no-description``).
    """

    def __init__(
        self,
        name: str,
        description: str,
        instructions: str = "",
        *,
        resources: Mapping[str, str] | None = None,
        metadata: Mapping[str, JSON] | None = None,
        source: str = "",
    ) -> None:
        if not names.is_name(name):
            near = names.safe_name(name)
            hint = f"use {names.RULE}" + (f", such as `{near}`" if near else "")
            raise problem("skills/bad-name", f"`{name}` is not a skill name", hint=hint)
        if not description.strip():
            hint = "say in a sentence or two what it does and when to use it"
            raise problem("skills/no-description", f"the skill `{name}` has no description", hint=hint)
        self.source = source
        self.frontmatter = Frontmatter(name, description.strip(), metadata=dict(metadata or {}))
        self._instructions = instructions
        self._resources = dict(sorted((resources or {}).items()))
        self.stamp = digest_json(
            {
                "name": name,
                "description": description,
                "instructions": instructions,
                "resources": dict(self._resources),
                "metadata": dict(metadata or {}),
            }
        )

    @property
    def has_resources(self) -> bool:
        """Whether it has texts beside its instructions."""
        return bool(self._resources)

    @property
    def has_scripts(self) -> bool:
        """It has none."""
        return False

    async def digest(self) -> str:
        """Digest of everything that was given."""
        return self.stamp

    async def content(self) -> str:
        """The instructions."""
        return self._instructions

    async def resources(self) -> Sequence[SkillResource]:
        """Its texts."""
        return [TextResource(name, text) for name, text in self._resources.items()]

    async def scripts(self) -> Sequence[SkillScript]:
        """None."""
        return []


class TextResource(SkillResource):
    """A text that was given."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self._text = name, text

    async def read(self, context: RunContext) -> str:
        """The text."""
        return self._text
