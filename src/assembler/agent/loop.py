"""The run: send, stream, call tools, repeat; until there is an answer, a limit, or something outside must answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assembler.agent.calls import Caller, TurnOutcome
from assembler.agent.snapshot import Snapshot
from assembler.agent.steps import Steps
from assembler.errors import AssemblerError
from assembler.events import Emit, Result, Status
from assembler.items import Item, function_call_output, text_of
from assembler.models.base import ModelClient, ModelRequest
from assembler.values import JSON


class _Ended(Exception):
    """The run is over."""

    def __init__(self, status: Status, reason: str = "") -> None:
        super().__init__(reason)
        self.status: Status = status
        self.reason = reason


@dataclass
class Run:
    """One run over one snapshot.

    Attributes:
        snapshot: The agent as it is now.
        client: The open model.
        caller: Makes the tool calls.
        steps: The door to the model.
        before: The conversation so far.
        added: What this run adds to it, the input first.
        emit: Where events go.
        files: Names of the files handed to the run.
    """

    snapshot: Snapshot
    client: ModelClient
    caller: Caller
    steps: Steps
    before: Sequence[Item]
    added: list[Item]
    emit: Emit
    files: Sequence[str] = ()
    usage: dict[str, int] = field(default_factory=dict[str, int])
    pending: list[dict[str, JSON]] = field(default_factory=list[dict[str, JSON]])
    _calls: int = 0
    _failing: tuple[str, int] = ("", 0)

    async def execute(self) -> Result:
        """Runs to an end of any kind; afterwards every call in ``added`` is answered, but for pending ones.

        Raises:
            asyncio.CancelledError: It was cancelled; ``added`` is consistent all the same.
        """
        limits = self.snapshot.config.limits
        try:
            async with asyncio.timeout(limits.timeout.total_seconds()):
                return await self._turns()
        except TimeoutError:
            return await self._result("limit", f"the run took longer than limits.timeout={limits.timeout}")
        except _Ended as end:
            return await self._result(end.status, end.reason)
        except AssemblerError as error:
            return await self._result("failed", error.diagnostics[0].message, error)
        except BaseException:
            self._answer_open_calls("the run was cancelled")
            raise

    async def _turns(self) -> Result:
        limits = self.snapshot.config.limits
        for _ in range(limits.turns):
            response = await self.steps.model(self.client, self._request(), self.emit)
            output: list[Item] = response.get("output") or []
            self.added += output
            self._count(response.get("usage") or {})
            calls = [item for item in output if item.get("type") == "function_call"]
            if not calls:
                return await self._answered(response)
            self._calls += len(calls)
            if self._calls > limits.tool_calls:
                raise _Ended("limit", f"more calls than limits.tool_calls={limits.tool_calls}")
            self._take(await self.caller.turn(calls, [*self.before, *self.added[: -len(output)]]))
        raise _Ended("limit", f"no answer after limits.turns={limits.turns}")

    def _request(self) -> ModelRequest:
        return ModelRequest(
            instructions=self.snapshot.instructions,
            items=[*self.before, *self.added],
            tools=self.snapshot.sent,
            files=self.files,
            skills=list(self.snapshot.skills),
        )

    async def _answered(self, response: Mapping[str, Any]) -> Result:
        if response.get("status") == "incomplete":
            details: dict[str, Any] = response.get("incomplete_details") or {}
            reason = details.get("reason", "no reason given")
            return await self._result("limit", f"the model stopped before it was done: {reason}")
        return await self._result("completed")

    def _take(self, turn: TurnOutcome) -> None:
        """Adds a turn's outputs; ends the run where something outside must answer, or nothing gets better."""
        self.added += turn.outputs
        for name, failed in turn.failures:
            count = self._failing[1] + 1 if failed and self._failing[0] == name else int(failed)
            self._failing = (name, count)
            if count >= self.snapshot.config.limits.repeated_failures:
                raise _Ended("limit", f"`{name}` failed {count} times in a row (limits.repeated_failures)")
        if turn.pending:
            self.pending = [request.to_json() for request in turn.pending]
            raise _Ended("requires_action", "a call waits for approval and nobody is here to ask")

    def _count(self, usage: Mapping[str, Any]) -> None:
        for name, number in usage.items():
            if isinstance(number, int):
                self.usage[name] = self.usage.get(name, 0) + number

    async def _result(self, status: Status, reason: str = "", error: AssemblerError | None = None) -> Result:
        if status != "requires_action":
            self._answer_open_calls(f"not run: {reason}")
        texts = [text_of(item) for item in self.added if item.get("role") == "assistant"]
        return Result(
            status=status,
            output_text=texts[-1] if texts else "",
            digest=await self.snapshot.digest(),
            usage=self.usage,
            items=tuple(self.added),
            pending=tuple(self.pending),
            reason=reason,
            diagnostics=error.diagnostics if error else (),
        )

    def _answer_open_calls(self, why: str) -> None:
        self.added += close_open_calls(self.added, why)


def close_open_calls(items: Sequence[Item], why: str) -> list[Item]:
    """Answers to the calls in a conversation that nobody answered; a provider refuses one with an open call."""
    answered = {str(item["call_id"]) for item in items if item.get("type") == "function_call_output"}
    called = [str(item["call_id"]) for item in items if item.get("type") == "function_call"]
    return [function_call_output(call_id, why) for call_id in called if call_id not in answered]
