"""What a model is: it answers a conversation with a stream of Responses events."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from assembler.components import Component
from assembler.items import Item
from assembler.scope import Scope
from assembler.values import JSON


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to a model.

    Attributes:
        instructions: The rendered prompt.
        items: The conversation so far, as Responses items.
        tools: The tools as they are sent: name, description, parameters, strict.
        files: Names of the files handed to the run.
        skills: Names of the skills on offer.
    """

    instructions: str
    items: Sequence[Item]
    tools: Sequence[dict[str, JSON]]
    files: Sequence[str] = ()
    skills: Sequence[str] = ()


class ModelClient(ABC):
    """An open model."""

    @abstractmethod
    def stream(self, request: ModelRequest) -> AsyncGenerator[dict[str, JSON]]:
        """Answers with Responses streaming events.

        The last one is ``response.completed``, ``response.incomplete`` or ``response.failed`` and holds the whole
        response with its ``output`` items and ``usage``; a stream that ends without one has failed.

        Raises:
            AssemblerError: The model cannot be reached or refuses (``model/...``).
        """


class Model(Component, room="model"):
    """Answers the conversation."""

    dialect: ClassVar[str] = "openai"
    """The strict mode that its provider accepts."""

    @abstractmethod
    def open(self, scope: Scope) -> ModelClient:
        """A client that lives as long as the scope."""
