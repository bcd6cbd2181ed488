"""Models behind the OpenAI Responses API, through the SDK's own transport with plain JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, cast

from assembler.errors import AssemblerError
from assembler.events import Event
from assembler.items import Item
from assembler.models.base import ModelClient, ModelRequest
from assembler.models.growing_items import EXTRA
from assembler.models.openai_base import Effort, OpenAIModel
from assembler.models.openai_client import TERMINAL, OpenAIClient, Reading
from assembler.models.provider_errors import Refused, cut, failed, unreadable
from assembler.scope import Scope

ENCRYPTED = "reasoning.encrypted_content"
"""What has to be asked for so that reasoning can be sent back to a provider that stores nothing:
https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items."""

_UNREADABLE = "invalid_encrypted_content"
"""OpenAI's code for encrypted reasoning that it did not encrypt itself."""

_ELSEWHERE = frozenset({"id", EXTRA})
"""Keys of an item that mean something to whoever said it, and to nobody else."""

_INLINE = frozenset({"message", "reasoning", "function_call", "function_call_output"})
"""Items that say all that they are about; others, such as those of a provider's own tools, need their ids."""


class Reasoning(Effort):
    """How much a model thinks, and what is told of it."""

    summary: Literal["auto", "concise", "detailed"] | None = None
    """What is told of its thoughts; None for nothing."""


class OpenAIResponses(OpenAIModel, kind="openai"):
    """Answers through `POST /responses`, and asks the server to store nothing."""

    owned: ClassVar[frozenset[str]] = frozenset(
        {
            "background",
            "conversation",
            "include",
            "input",
            "instructions",
            "model",
            "previous_response_id",
            "prompt",
            "store",
            "stream",
            "tools",
        }
    )

    reasoning: Reasoning | None = None
    """How much it thinks; None leaves it to the provider."""

    def open(self, scope: Scope) -> ModelClient:
        """A client that imports the SDK when the first request is about to be sent."""
        return _Client(self, scope)


class _Client(OpenAIClient):
    path = "/responses"

    def __init__(self, model: OpenAIResponses, scope: Scope) -> None:
        super().__init__(model, scope)
        self._declared = model
        self._asks_for_reasoning = True
        self._foreign: set[str] = set()
        """Encrypted reasoning that the provider could not read: another one's, of a session that goes on here."""

    def body(self, request: ModelRequest) -> dict[str, Any]:
        model = self._declared
        body: dict[str, Any] = {
            "model": model.name,
            "instructions": request.instructions,
            "input": _replayed(request.items, self._foreign),
            "stream": model.stream,
            "store": False,
        }
        settings = {
            "include": [ENCRYPTED] if self._asks_for_reasoning else None,
            "tools": list(request.tools) or None,
            "temperature": model.temperature,
            "top_p": model.top_p,
            "max_output_tokens": model.max_output_tokens,
            "parallel_tool_calls": model.parallel_tool_calls if request.tools else None,
            "reasoning": model.reasoning.model_dump(exclude_none=True) if model.reasoning else None,
        }
        return body | {name: value for name, value in settings.items() if value is not None}

    def reading(self, request: ModelRequest) -> Reading:
        return _Reading()

    def asks_less(self, error: Refused, body: Mapping[str, Any]) -> bool:
        """A model without reasoning to encrypt refuses to be asked for it, and no provider reads another's."""
        if error.error.get("code") == _UNREADABLE or error.is_about("", "could not be verified"):
            foreign = {item["encrypted_content"] for item in body["input"] if item.get("type") == "reasoning"}
            self._foreign |= foreign
            return bool(foreign)
        # "Encrypted content is not supported with this model"
        is_refused = "include" in body and error.is_about("include", "encrypted content")
        self._asks_for_reasoning &= not is_refused
        return is_refused


class _Reading:
    """Passes events on as they came."""

    def __init__(self) -> None:
        self.is_complete = False
        self._begun = False

    def events(self, value: Mapping[str, Any]) -> Iterator[Event]:
        kind = value.get("type")
        if kind is None and value.get("object") == "response":
            yield self._ended({"type": f"response.{value.get('status')}", "response": dict(value)})
        elif kind in TERMINAL:
            yield self._ended(cast("Event", value))
        elif kind is None and isinstance(value.get("message") or value.get("detail"), str):
            raise failed(value)
        elif isinstance(kind, str) and kind.startswith("response."):
            self._begun = True
            yield cast("Event", value)

    def end(self) -> Sequence[Event]:
        if not self.is_complete:
            raise cut(begun=self._begun)
        return ()

    def _ended(self, event: Event) -> Event:
        response = event.get("response")
        if event["type"] not in TERMINAL:
            raise unreadable("a response that is neither completed nor incomplete nor failed")
        if event["type"] == "response.failed":
            raise _failure(response)
        self.is_complete = True
        return event


def _failure(response: object) -> AssemblerError:
    return failed(cast("dict[str, Any]", response).get("error") if isinstance(response, dict) else None)


def _replayed(items: Sequence[Item], foreign: Collection[str]) -> list[Item]:
    """A conversation as a provider takes it that has stored nothing of it (`store: false`), whoever said it.

    It would look up each `id` that it once gave, and answer "Item with id 'rs_...' not found. Items are not persisted
    when `store` is set to false". Without their ids, items are taken as they stand. Reasoning without its encrypted
    content is nothing but an id, so it is left out:
    https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items.

    Args:
        items: The conversation.
        foreign: Encrypted content of reasoning that is left out too.
    """
    return [
        {key: value for key, value in item.items() if key not in _ELSEWHERE} if item.get("type") in _INLINE else item
        for item in items
        if item.get("type") != "reasoning" or _is_readable(item.get("encrypted_content"), foreign)
    ]


def _is_readable(encrypted: object, foreign: Collection[str]) -> bool:
    return isinstance(encrypted, str) and encrypted != "" and encrypted not in foreign
