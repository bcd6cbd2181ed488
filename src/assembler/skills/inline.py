"""A skill written in code or in the configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from assembler.digests import digest_json
from assembler.errors import problem
from assembler.python.refs import FunctionRef
from assembler.skills import names
from assembler.skills.functions import FunctionResource, FunctionScript
from assembler.skills.skill import Frontmatter, RunContext, Skill, SkillResource, SkillScript
from assembler.values import JSON

GivenFunction = Callable[..., Any] | FunctionRef
"""A function, or a reference to one."""


class InlineSkill(Skill):
    """A skill whose text is given, with functions for what texts cannot do.

    Its digest covers what is given; of a function that is its reference, `package.module:Name`, and not its code.

    Args:
        name: Its name, as the specification wants it: lower-case letters, digits and single hyphens between them.
        description: What it does and when to use it.
        instructions: What loading it hands to the model.
        resources: What the model can read, by name: texts, and functions that are called at each read.
        scripts: Functions that the model can run, by name of the script.
        metadata: Keys of the author's own; `tags` among them is what matchers look at.
        source: Name of the source that lists it.

    Raises:
        AssemblerError: The name is none (``skills/bad-name``), there is no description (``skills/no-description``), or
            a function cannot be what it is given for (``skills/bad-function``, ``python/wrong-type``).
    """

    def __init__(
        self,
        name: str,
        description: str,
        instructions: str = "",
        *,
        resources: Mapping[str, str | GivenFunction] | None = None,
        scripts: Mapping[str, GivenFunction] | None = None,
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
        readable = {key: item if isinstance(item, str) else FunctionRef.of(item) for key, item in _sorted(resources)}
        runnable = {key: FunctionRef.of(item) for key, item in _sorted(scripts)}
        self.source = source
        self.frontmatter = Frontmatter(name, description.strip(), metadata=dict(metadata or {}))
        self._instructions = instructions
        self._resources = [_resource(key, item) for key, item in readable.items()]
        self._scripts = [FunctionScript(key, item) for key, item in runnable.items()]
        self.stamp = digest_json(
            {
                "name": name,
                "description": description,
                "instructions": instructions,
                "resources": {key: _content(item) for key, item in readable.items()},
                "scripts": {key: _content(item) for key, item in runnable.items()},
                "metadata": dict(metadata or {}),
            }
        )

    @property
    def has_resources(self) -> bool:
        """Whether it has anything to read beside its instructions."""
        return bool(self._resources)

    @property
    def has_scripts(self) -> bool:
        """Whether it has functions to run."""
        return bool(self._scripts)

    @property
    def needs_runner(self) -> bool:
        """It does not: functions run themselves."""
        return False

    async def digest(self) -> str:
        """Digest of everything that was given."""
        return self.stamp

    async def content(self) -> str:
        """The instructions."""
        return self._instructions

    async def resources(self) -> Sequence[SkillResource]:
        """Its texts, and the functions that make some."""
        return [*self._resources]

    async def scripts(self) -> Sequence[SkillScript]:
        """Its functions."""
        return [*self._scripts]


class TextResource(SkillResource):
    """A text that was given."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self._text = name, text

    async def read(self, context: RunContext) -> str:
        """The text."""
        return self._text


def _sorted(given: Mapping[str, Any] | None) -> list[tuple[str, Any]]:
    return sorted((given or {}).items())


def _resource(name: str, item: str | FunctionRef) -> SkillResource:
    return TextResource(name, item) if isinstance(item, str) else FunctionResource(name, item)


def _content(item: str | FunctionRef) -> JSON:
    return item if isinstance(item, str) else {"target": item.target}
