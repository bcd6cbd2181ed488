"""A model and a tool of a test's own, in a declared agent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from assembler import Agent, AgentConfig
from assembler.items import Item
from assembler.models.base import Model, ModelClient, ModelRequest
from assembler.scope import Scope
from assembler.sessions.base import Conversation, SessionStore, SessionSummary
from assembler.skills.skill import RunContext
from assembler.tools.base import Tool, ToolOutput, Toolset
from assembler.values import JSON


def call(call_id: str, name: str = "probe", **arguments: Any) -> dict[str, Any]:
    """A function call of the model."""
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": json.dumps(arguments)}


def say(text: str) -> dict[str, Any]:
    """A message of the model."""
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def done(*items: Any, kind: str = "completed", **more: Any) -> list[Any]:
    """A stream with one answer."""
    response = {"output": list(items), "usage": {"total_tokens": 1}, **more}
    return [{"type": f"response.{kind}", "response": response}]


class Answers(Model, kind="answers"):
    """Answers with the next of its streams; an exception among the events is raised."""

    def open(self, scope: Scope) -> ModelClient:
        return CLIENT


class _Client(ModelClient):
    def __init__(self) -> None:
        self.streams: list[Any] = []
        self.requests: list[ModelRequest] = []
        self.closed = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[dict[str, JSON]]:
        self.requests.append(request)
        events = self.streams.pop(0)
        try:
            for event in events:
                if isinstance(event, BaseException):
                    raise event
                yield event
        finally:
            await asyncio.sleep(0)
            self.closed += 1


CLIENT = _Client()

Body = Callable[[Mapping[str, JSON]], Awaitable[object]]


class FunctionTool(Tool):
    """A tool that runs a function of the test."""

    name = "probe"
    description = "Does what a test wants."
    owner = "probes"
    schema: Mapping[str, Any] = {
        "type": "object",
        "properties": {"do": {"type": "string"}},
        "additionalProperties": False,
    }

    def __init__(self, body: Body) -> None:
        self._body = body

    async def invoke(self, arguments: Mapping[str, JSON], context: RunContext) -> ToolOutput:
        value = await self._body(arguments)
        return value if isinstance(value, ToolOutput) else ToolOutput(value)


class Functions(Toolset, kind="functions-of-a-test"):
    """Brings the test's tool."""

    async def tools(self, name: str, scope: Scope) -> Sequence[Tool]:
        return TOOLS


TOOLS: list[Tool] = []


class FailingStore(SessionStore):
    """Holds nothing, and fails when it is given something."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def load(self, name: str) -> Conversation:
        return Conversation()

    async def append(self, name: str, items: Sequence[Item], **what: Any) -> int:
        raise self._error

    async def summaries(self) -> Sequence[SessionSummary]:
        return []

    async def agents(self, name: str) -> Mapping[str, Mapping[str, JSON]]:
        return {}

    async def delete(self, name: str) -> bool:
        return False


def agent(*streams: Any, body: Body | None = None, **parts: Any) -> Agent:
    """An agent whose model answers with these streams, and whose tool runs this function."""
    CLIENT.__init__()
    CLIENT.streams.extend(streams)

    async def nothing(arguments: Mapping[str, JSON]) -> object:
        return {"done": arguments.get("do")}

    TOOLS[:] = [FunctionTool(body or nothing)]
    parts = {"approval": {"default": "allow"}, **parts}
    return Agent(
        AgentConfig.model_validate({"name": "a", "model": Answers(), "tools": {"probes": Functions()}, **parts})
    )
