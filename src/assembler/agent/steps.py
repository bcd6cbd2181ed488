"""The door through which everything passes that a run does outside itself: model calls and tool calls.

A durable engine takes its place here, to remember what was done and not do it twice.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import aclosing

from assembler.agent.answers import TERMINAL, Answer, checked_answer, checked_event
from assembler.errors import AssemblerError, problem
from assembler.events import Emit
from assembler.models.base import ModelClient, ModelRequest
from assembler.skills.skill import RunContext
from assembler.tools.base import Tool, ToolOutput
from assembler.values import JSON


class Steps:
    """Does each step when asked."""

    async def model(self, client: ModelClient, request: ModelRequest, used: Collection[str], emit: Emit) -> Answer:
        """One request to the model, its events passed on as they come.

        Args:
            client: The open model.
            request: What it is asked.
            used: Ids of the calls that the conversation has already.
            emit: Takes the events.

        Raises:
            AssemblerError: It failed (``model/failed``), broke the protocol (``model/malformed``), or its stream was
                cut (``model/cut``).
        """
        try:
            return await self._stream(client, request, used, emit)
        except AssemblerError:
            raise
        except Exception as error:  # a model is foreign code: its failure ends the run, and not the program
            raise problem("model/failed", f"the model failed: {type(error).__name__}") from error

    async def _stream(self, client: ModelClient, request: ModelRequest, used: Collection[str], emit: Emit) -> Answer:
        done: list[JSON] = []
        async with aclosing(client.stream(request)) as stream:
            async for raw in stream:
                event = checked_event(raw)
                if event is None:
                    continue
                emit(event)
                if event["type"] in TERMINAL:
                    return checked_answer(event, done, used)
                if event["type"] == "response.output_item.done":
                    done.append(event.get("item"))
        raise problem("model/cut", "the model's answer ended before it was complete", hint="run again")

    async def tool(self, tool: Tool, arguments: Mapping[str, JSON], context: RunContext) -> ToolOutput:
        """One call of a tool."""
        return await tool.invoke(arguments, context)
