"""The door through which everything passes that a run does outside itself: model calls and tool calls.

A durable engine takes its place here, to remember what was done and not do it twice.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import aclosing
from dataclasses import replace

from assembler.agent.answers import TERMINAL, Answer, checked_answer, checked_event
from assembler.errors import AssemblerError, problem
from assembler.events import Emit
from assembler.models.base import ModelClient, ModelRequest
from assembler.scrubbing import scrubbed, scrubbed_error, scrubbed_json
from assembler.skills.skill import RunContext
from assembler.tools.base import Tool, ToolOutput
from assembler.values import JSON


class Steps:
    """Does each step when asked."""

    async def model(self, client: ModelClient, request: ModelRequest, used: Collection[str], emit: Emit) -> Answer:
        """One request to the model, its events passed on as they come.

        What this process revealed is hidden in the request, in the events, in the answer and in errors. In events that
        bring a text piece by piece it is hidden where a piece holds it whole: a model is told no secret that it could
        spread over several, and holding pieces back would make every reader wait.

        Args:
            client: The open model.
            request: What it is asked.
            used: Ids of the calls that the conversation has already.
            emit: Takes the events.

        Raises:
            AssemblerError: It failed (``model/failed``), broke the protocol (``model/malformed``), or its stream was
                cut (``model/cut``).
        """
        # Errors are raised from None: what is behind one may repeat a secret, in its text or in its variables.
        try:
            return await self._stream(client, _scrubbed_request(request), used, emit)
        except AssemblerError as error:
            raise scrubbed_error(error) from None
        except Exception as error:  # noqa: BLE001  a model is foreign code: its failure ends the run, not the program
            raise problem("model/failed", f"the model failed: {type(error).__name__}") from None

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


def _scrubbed_request(request: ModelRequest) -> ModelRequest:
    return replace(
        request,
        instructions=scrubbed(request.instructions),
        items=scrubbed_json(list(request.items)),
        tools=scrubbed_json(list(request.tools)),
    )
