"""What a tool is: a name, a schema, and something that happens when the model calls it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assembler.components import Component, Entry
from assembler.matching import Facts
from assembler.scope import Scope
from assembler.skills.skill import RunContext
from assembler.values import JSON


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What a call would do, told before it is done.

    Attributes:
        match: What a policy's rules look at.
        arguments: The decoded arguments.
        runs: What would run, for a person to read; empty where nothing does.
        digests: Digests of what would run, by what they are of; an approval is bound to them.
        by_runner: Whether the agent's runner runs it, and confines it as it does.
    """

    match: Facts
    arguments: Mapping[str, JSON]
    runs: str = ""
    digests: tuple[tuple[str, str], ...] = ()
    by_runner: bool = False


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool hands back.

    Attributes:
        value: Goes to the model, reduced to JSON; text goes as it is.
        failed: Whether it is an error that the model can act on.
        details: Facts about what happened for whoever watches, such as the isolation of a script.
        events: Events of the tool's own, told before it is told that the call finished.
    """

    value: object
    failed: bool = False
    details: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    events: Sequence[dict[str, JSON]] = ()


class Tool(ABC):
    """Something that the model can call."""

    name: str
    description: str
    owner: str
    """Who brings it: the name of a toolset, or ``skills``."""
    schema: Mapping[str, Any]
    """The original JSON Schema of its arguments; what is sent is compiled from it."""

    async def facts(self, arguments: Mapping[str, JSON]) -> CallFacts:
        """What a call with these decoded arguments would do.

        Raises:
            AssemblerError: The call cannot be made; the message is shown to the model.
        """
        return CallFacts(Facts(tool=self.name, source=self.owner), arguments)

    @abstractmethod
    async def invoke(self, arguments: Mapping[str, JSON], context: RunContext) -> ToolOutput:
        """Does it, with decoded arguments that fit the schema.

        Raises:
            AssemblerError: It failed; the message is shown to the model.
        """


class Toolset(Component, Entry, room="tools"):
    """Brings tools."""

    @abstractmethod
    async def tools(self, name: str, scope: Scope) -> Sequence[Tool]:
        """The tools that it has while the agent is open.

        Args:
            name: The toolset's name in the configuration, which owns the tools.
            scope: Where connections are kept; they are closed with it.
        """
