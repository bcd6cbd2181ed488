"""The run: send, stream, call tools, repeat; until there is an answer, a limit, or something outside must answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

from assembler.agent.calls import Call, Caller, calls_of
from assembler.agent.limits import tokens_of
from assembler.agent.snapshot import Snapshot
from assembler.agent.steps import Steps
from assembler.errors import AssemblerError, Diagnostic
from assembler.events import Emit, Result, Status, diagnostic_event
from assembler.items import Item, function_call_output
from assembler.models.base import ModelClient, ModelRequest


class _Ended(Exception):
    """The run is over."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status: Status = status
        self.reason = reason


class Run:
    """One run over one snapshot.

    Args:
        snapshot: The agent as it is now.
        client: The open model.
        caller: Makes the tool calls.
        steps: The door to the model.
        before: The conversation so far.
        said: What the run adds to it first.
        files: Names of the files handed to the run.
        emit: Where events go.

    Attributes:
        added: What the run adds to the conversation; consistent once ``execute`` is left, however it is left.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        client: ModelClient,
        caller: Caller,
        steps: Steps,
        before: Sequence[Item],
        said: Sequence[Item],
        files: Sequence[str],
        emit: Emit,
    ) -> None:
        self.added: list[Item] = list(said)
        self._snapshot = snapshot
        self._client = client
        self._caller = caller
        self._steps = steps
        self._before = before
        self._files = files
        self._emit = emit
        self._limits = snapshot.config.limits
        self._usage: dict[str, int] = {}
        self._text = ""
        self._turn: list[Call] = []
        self._calls = 0
        self._tokens = 0
        self._failing = 0
        self._is_told = False

    async def execute(self) -> Result:
        """Runs to an end of any kind; afterwards every call in ``added`` is answered, but for pending ones.

        Raises:
            asyncio.CancelledError: It was cancelled.
        """
        deadline = asyncio.timeout(self._limits.timeout.total_seconds())
        try:
            async with deadline:
                await self._turns()
            return await self.result("completed")
        except TimeoutError:
            if not deadline.expired():
                raise
            written = self._limits.model_dump(mode="json")["timeout"]
            return await self.result("limit", f"the run took longer than limits.timeout={written}")
        except _Ended as end:
            return await self.result(end.status, end.reason)
        except AssemblerError as error:
            return await self.result("failed", error.diagnostics[0].message, error)
        except asyncio.CancelledError:
            if cast("asyncio.Task[Any]", asyncio.current_task()).cancelling():
                self._settle("the run was cancelled")
                raise
            return await self.result("failed", "something that the run waited for was cancelled")
        finally:
            self._settle("the run ended")

    async def result(self, status: Status, reason: str = "", error: AssemblerError | None = None) -> Result:
        """What came of the run."""
        digest = await self._snapshot.digest()  # before anything is settled: whoever is cancelled here settles it all
        waiting = [call.request for call in self._turn if call.state == "waiting" and call.request is not None]
        if status == "requires_action":
            self._write_down()
        self._settle(reason)
        return Result(
            status=status,
            output_text=self._text,
            digest=digest,
            usage=self._usage,
            items=tuple(deepcopy(self.added)),  # what is stored is not the caller's to change
            pending=tuple(request.to_json() for request in waiting) if status == "requires_action" else (),
            reason=reason,
            diagnostics=error.diagnostics if error else (),
        )

    async def _turns(self) -> None:
        for _ in range(self._limits.turns):
            conversation = [*self._before, *self.added]
            used = {str(item["call_id"]) for item in conversation if item.get("type") == "function_call"}
            answer = await self._steps.model(self._client, self._request(conversation), used, self._emit)
            self.added += answer.items
            self._count(answer.usage)
            self._turn = calls_of(answer.calls)
            if answer.cut:
                self._text = answer.text
                raise _Ended("limit", f"the model stopped before it was done: {answer.cut}")
            if not answer.calls:
                self._text = answer.text
                return
            tokens = self._limits.tokens
            if tokens is not None and self._tokens >= tokens:
                raise _Ended("limit", f"the run used {self._tokens} tokens (limits.tokens={tokens})")
            self._calls += len(self._turn)
            if self._calls > self._limits.tool_calls:
                raise _Ended("limit", f"more calls than limits.tool_calls={self._limits.tool_calls}")
            await self._caller.make(self._turn, conversation)
            self._end_turn()
        raise _Ended("limit", f"no answer after limits.turns={self._limits.turns}")

    def _count(self, usage: Mapping[str, int]) -> None:
        """Adds up what the provider counted; that it does not is told where it matters."""
        for name, number in usage.items():
            self._usage[name] = self._usage.get(name, 0) + number
        tokens = tokens_of(usage)
        self._tokens += tokens or 0
        if tokens is None and self._limits.tokens is not None and not self._is_told:
            self._is_told = True
            message = (
                f"the model does not say how many tokens it used: limits.tokens={self._limits.tokens} has no effect"
            )
            hint = "`limits.turns` and `limits.timeout` do not depend on it"
            self._emit(diagnostic_event(Diagnostic("run/uncounted-tokens", message, "warning", hint=hint)))

    def _request(self, conversation: Sequence[Item]) -> ModelRequest:
        return ModelRequest(
            instructions=self._snapshot.instructions,
            items=conversation,
            tools=self._snapshot.sent(),
            files=self._files,
            skills=list(self._snapshot.skills),
        )

    def _end_turn(self) -> None:
        """Ends the run where something outside must answer, or nothing gets better."""
        if any(call.state == "waiting" for call in self._turn):
            raise _Ended("requires_action", "a call waits for approval and nobody is here to ask")
        # By the turn, since calls side by side are one attempt: the model saw none of their failures before.
        has_failed = all(call.output is not None and call.output.failed for call in self._turn)
        self._failing = self._failing + 1 if has_failed else 0
        if self._failing >= self._limits.repeated_failures:
            names = ", ".join(f"`{name}`" for name in dict.fromkeys(call.name for call in self._turn))
            limit = f"limits.repeated_failures={self._limits.repeated_failures}"
            raise _Ended("limit", f"every call failed in {self._failing} turns in a row ({limit}), at last of {names}")
        self._write_down()

    def _write_down(self) -> None:
        """Moves the turn's answers to the conversation, in the order of the calls."""
        answered = [call for call in self._turn if call.state == "answered"]
        self.added += [call.item(self._limits.tool_output) for call in answered]
        self._turn = []

    def _settle(self, why: str) -> None:
        """Answers whatever is still open, since a provider refuses a conversation with an open call."""
        for call in self._turn:
            call.stop(why)
        self._write_down()


def close_open_calls(items: Sequence[Item], why: str) -> list[Item]:
    """Answers to the calls of a stored conversation that nobody answered."""
    answered = {str(item["call_id"]) for item in items if item.get("type") == "function_call_output"}
    called = [str(item["call_id"]) for item in items if item.get("type") == "function_call"]
    return [function_call_output(call_id, why) for call_id in called if call_id not in answered]
