"""What a skill is, wherever it comes from: frontmatter, instructions, resources and scripts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from assembler.errors import NOWHERE, Diagnostic, Where
from assembler.items import Item
from assembler.matching import Facts
from assembler.runners.base import Runner
from assembler.scope import Scope
from assembler.values import JSON

Report = Callable[[Diagnostic], None]
"""Where a diagnostic goes that does not stop anything."""


def _forget(diagnostic: Diagnostic) -> None:
    """The report of a context that nobody listens to."""


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The head of a SKILL.md: https://agentskills.io/specification.

    Attributes:
        name: The name under which the skill is offered and loaded.
        description: What it does and when to use it.
        license: Name of a licence, or of a file in the skill.
        compatibility: What it needs of its environment, as free text.
        metadata: Keys of the client's or the author's own.
        allowed_tools: Tools that the author considers pre-approved; kept, and never acted upon by itself.
        extra: Fields that the specification does not know, as they came.
    """

    name: str
    description: str
    license: str = ""
    compatibility: str = ""
    metadata: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    allowed_tools: tuple[str, ...] = ()
    extra: Mapping[str, JSON] = field(default_factory=dict[str, JSON])

    @property
    def tags(self) -> tuple[str, ...]:
        """The words of ``metadata.tags``, written as a list or separated by spaces or commas."""
        tags = self.metadata.get("tags")
        if isinstance(tags, str):
            return tuple(tags.replace(",", " ").split())
        return tuple(str(tag) for tag in tags) if isinstance(tags, list) else ()


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a run hands to resources and scripts.

    Attributes:
        scope: The open agent's; private copies live in it.
        runner: Runs file scripts.
        files: Files handed to the run, by the name under which a script finds them.
        services: Objects that the host provides, by name.
        items: The conversation so far.
    """

    scope: Scope
    runner: Runner
    files: Sequence[tuple[str, Path]] = ()
    services: Mapping[str, object] = field(default_factory=dict[str, object])
    items: Sequence[Item] = ()


class SkillResource(ABC):
    """Something that a skill lets the model read."""

    name: str
    """Path from the skill's root, in POSIX form, or a name."""
    description: str = ""

    @abstractmethod
    async def read(self, context: RunContext) -> str | bytes:
        """The content now: text, or bytes where it is not text.

        Raises:
            AssemblerError: It cannot be read; the message says why and is shown to the model.
        """


class SkillScript(ABC):
    """Something that a skill lets the model run."""

    name: str
    """Path from the skill's root, in POSIX form, or a name."""
    description: str = ""
    schema: JSON = None
    """JSON Schema of the arguments, where they are known."""
    needs_runner: bool = True
    """Whether the runner runs it, which confines it; what runs itself has this process's rights, or another's."""
    runs: str = ""
    """What runs, for a person to read, where that is no file of the skill."""

    @abstractmethod
    async def run(self, arguments: JSON, context: RunContext) -> object:
        """Runs it once.

        Args:
            arguments: The decoded value that the model sent; None for none.
            context: What the run provides.

        Returns:
            A ``ScriptResult``, or any value that ``values.to_json`` can reduce.

        Raises:
            AssemblerError: It was not run, or failed; the message is shown to the model.
        """


class Skill(ABC):
    """A skill: of any origin, it passes through the same decorators, catalog and tools."""

    source: str
    """Name of the source that found it; with the name it is the skill's identity."""
    frontmatter: Frontmatter
    where: Where = NOWHERE
    """Where it was found."""
    stamp: str
    """Digest of what listing read: when it is unchanged, so is what the catalog shows."""

    @property
    def name(self) -> str:
        """The advertised name, which is the loadable one."""
        return self.frontmatter.name

    @property
    def description(self) -> str:
        """What the catalog shows."""
        return self.frontmatter.description

    @property
    def facts(self) -> Facts:
        """What a matcher can look at."""
        return Facts(skill=self.name, source=self.source, tags=self.frontmatter.tags)

    @property
    @abstractmethod
    def has_resources(self) -> bool:
        """Whether it has anything to read; cheap."""

    @property
    @abstractmethod
    def has_scripts(self) -> bool:
        """Whether it has anything to run; cheap."""

    @property
    def needs_runner(self) -> bool:
        """Whether any of its scripts needs the runner; cheap. A skill whose scripts all run themselves says so."""
        return self.has_scripts

    @abstractmethod
    async def digest(self) -> str:
        """Digest of everything that it consists of; reads it when first asked for."""

    @abstractmethod
    async def content(self) -> str:
        """The instructions: the body of its SKILL.md, without the frontmatter."""

    @abstractmethod
    async def resources(self) -> Sequence[SkillResource]:
        """What can be read, sorted by name."""

    @abstractmethod
    async def scripts(self) -> Sequence[SkillScript]:
        """What can be run, sorted by name."""

    @property
    def findings(self) -> Sequence[Diagnostic]:
        """What was left out of it and why, as far as it was read."""
        return ()

    def changed(self) -> bool:
        """Whether anything that was read differs now from what it was then; False for what cannot change.

        Called in a thread, since it may look at files.
        """
        return False


@dataclass(frozen=True, slots=True)
class SourceContext:
    """What a source is told when it lists.

    Attributes:
        name: Its name in the configuration; empty outside one.
        base: Folder against which its relative paths resolve.
        report: Takes what was skipped or changed; called from the thread of the event loop.
    """

    name: str = ""
    base: Path = field(default_factory=Path.cwd)
    report: Report = _forget


class Source(Protocol):
    """Anything that lists skills: a declared source, or one inside its decorators."""

    async def list_skills(self, context: SourceContext) -> Sequence[Skill]:
        """The skills that it has now, in a deterministic order."""
        ...
