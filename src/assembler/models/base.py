"""What a model is: it answers a conversation with a stream of Responses events."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace

from pydantic import field_validator
from pydantic_core import PydanticCustomError

from assembler.components import Component
from assembler.errors import AssemblerError
from assembler.items import Item
from assembler.schemas.dialects import dialect_named
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
        response with its ``output`` items and ``usage``, and with a ``request_id`` where the provider gave one; a
        stream that ends without one has failed.

        Raises:
            AssemblerError: The model cannot be reached, refuses or fails (``model/...``).
        """


class Model(Component, room="model"):
    """Answers the conversation."""

    dialect: str = "openai"
    """The strict mode that its server holds it to: `openai`, `azure`, `vllm`, or `none` for one that has none."""

    @field_validator("dialect")
    @classmethod
    def _is_known(cls, value: str) -> str:
        try:
            return dialect_named(value).name
        except AssemblerError as error:
            found = error.diagnostics[0]
            told = {"text": found.message, "hint": found.hint}
            raise PydanticCustomError("schemas/unknown-dialect", "{text}", told) from None

    @abstractmethod
    def open(self, scope: Scope) -> ModelClient:
        """A client that lives as long as the scope."""


def of_request(error: AssemblerError, request_id: object) -> AssemblerError:
    """The same error, with what the provider calls the request: its support asks for that.

    Args:
        error: What went wrong.
        request_id: A text; anything else, or an empty one, names no request.
    """
    if not isinstance(request_id, str) or not request_id:
        return error
    first, *others = error.diagnostics
    return AssemblerError(replace(first, message=f"{first.message} (request {request_id})"), *others)
