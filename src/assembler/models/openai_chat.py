"""Models behind Chat Completions, which nearly every server speaks, through the SDK's own transport with plain JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from assembler.models.base import ModelClient, ModelRequest
from assembler.models.chat_messages import functions, messages
from assembler.models.chat_stream import ChatReading
from assembler.models.openai_base import Effort, OpenAIModel
from assembler.models.openai_client import OpenAIClient, Reading
from assembler.models.provider_errors import Refused
from assembler.schemas.dialects import dialect_named
from assembler.scope import Scope


class OpenAIChat(OpenAIModel, kind="openai_chat"):
    """Answers through `POST /chat/completions`; conversation and events are those of the Responses API all the same."""

    owned: ClassVar[frozenset[str]] = frozenset(
        {"functions", "messages", "model", "n", "store", "stream", "tools"},
    )

    reasoning: Effort | None = None
    """How much it thinks; None leaves it to the provider. Its thoughts are no part of its answers, nor sent back."""
    limit_as: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    """What the server calls the limit of `max_output_tokens`; older ones know `max_tokens` alone."""

    def open(self, scope: Scope) -> ModelClient:
        """A client that imports the SDK when the first request is about to be sent."""
        return _Client(self, scope)


class _Client(OpenAIClient):
    path = "/chat/completions"

    def __init__(self, model: OpenAIChat, scope: Scope) -> None:
        super().__init__(model, scope)
        self._declared = model
        self._is_strict = dialect_named(model.dialect).strict
        self._asks_for_usage = model.stream

    def body(self, request: ModelRequest) -> dict[str, Any]:
        model = self._declared
        body: dict[str, Any] = {
            "model": model.name,
            "messages": messages(request.instructions, request.items),
            "stream": model.stream,
        }
        settings = {
            "stream_options": {"include_usage": True} if self._asks_for_usage else None,
            "tools": functions(request.tools, strict=self._is_strict) or None,
            "temperature": model.temperature,
            "top_p": model.top_p,
            model.limit_as: model.max_output_tokens,
            "parallel_tool_calls": model.parallel_tool_calls if request.tools else None,
            "reasoning_effort": model.reasoning.effort if model.reasoning else None,
        }
        return body | {name: value for name, value in settings.items() if value is not None}

    def reading(self, request: ModelRequest) -> Reading:
        tools = {str(tool["name"]) for tool in request.tools}
        used = {str(item["call_id"]) for item in request.items if item.get("type") == "function_call"}
        return ChatReading(tools, used)

    def asks_less(self, error: Refused, body: Mapping[str, Any]) -> bool:
        """Some servers do not know that the count of tokens can be asked for, and refuse what they do not know."""
        is_refused = "stream_options" in body and error.is_about("stream_options", "stream_options")
        self._asks_for_usage &= not is_refused
        return is_refused
