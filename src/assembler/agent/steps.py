"""The door through which everything passes that a run does outside itself: model calls and tool calls.

A durable engine takes its place here, to remember what was done and not do it twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from assembler.errors import problem
from assembler.events import Emit
from assembler.models.base import ModelClient, ModelRequest
from assembler.skills.skill import RunContext
from assembler.tools.base import Tool, ToolOutput
from assembler.values import JSON

TERMINAL = frozenset({"response.completed", "response.incomplete", "response.failed"})
"""Events that end a stream; without one it was cut."""


class Steps:
    """Does each step when asked."""

    async def model(self, client: ModelClient, request: ModelRequest, emit: Emit) -> dict[str, Any]:
        """One request to the model, its events passed on as they come.

        Returns:
            The whole response.

        Raises:
            AssemblerError: It failed (``model/failed``), was refused, or its stream was cut (``model/cut``).
        """
        async for event in client.stream(request):
            kind = event.get("type")
            if kind == "error":
                raise problem(
                    "model/failed", f"the model answered with an error: {event.get('message', 'no reason given')}"
                )
            emit(event)
            if kind not in TERMINAL:
                continue
            response = cast("dict[str, Any]", event["response"])
            if kind == "response.failed":
                error: dict[str, Any] = response.get("error") or {}
                raise problem("model/failed", f"the model failed: {error.get('message', 'no reason given')}")
            return response
        raise problem("model/cut", "the model's answer ended before it was complete", hint="run again")

    async def tool(self, tool: Tool, arguments: Mapping[str, JSON], context: RunContext) -> ToolOutput:
        """One call of a tool."""
        return await tool.invoke(arguments, context)
