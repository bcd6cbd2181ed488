"""The tool calls of one turn: decoded, judged by the policy, asked about, run side by side, answered in order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Literal, cast

from assembler.agent.outputs import fit, shortened
from assembler.agent.snapshot import Snapshot
from assembler.agent.steps import Steps
from assembler.approval.requests import Answer, ApprovalRequest, Approver
from assembler.calling import call as call_function
from assembler.errors import AssemblerError, Diagnostic, did_you_mean
from assembler.events import Emit, diagnostic_event
from assembler.items import Item, function_call_output
from assembler.scrubbing import scrubbed, scrubbed_json
from assembler.skills.skill import RunContext
from assembler.tools.base import CallFacts, Tool, ToolOutput
from assembler.values import JSON, Irreducible

State = Literal["waiting", "running", "answered"]


@dataclass(slots=True)
class Call:
    """One call of a turn, and how far it has come; whoever ends the run early reads it here.

    Attributes:
        call_id: The model's id.
        name: Name of the tool.
        arguments: The JSON text that the model wrote.
        state: Whether it waits to run, runs, or has its output.
        output: What it came to.
        tool: The tool, once the call is known to be one.
        facts: What it would do.
        request: The question that has to be answered first.
    """

    call_id: str
    name: str
    arguments: str
    state: State = "waiting"
    output: ToolOutput | None = None
    tool: Tool | None = None
    facts: CallFacts | None = None
    request: ApprovalRequest | None = None

    def answer(self, output: ToolOutput) -> None:
        """Gives it its output; the first one counts."""
        if self.state != "answered":
            self.output, self.state = output, "answered"

    def refuse(self, why: str) -> None:
        """Answers it without having run it."""
        self.answer(_failure(f"error: {why}"))

    def stop(self, why: str) -> None:
        """Answers it when the run ends before it does: what started may have had effects, and must not look undone."""
        if self.state == "running":
            self.answer(ToolOutput(f"stopped before it was done, and may have had effects: {why}", failed=True))
        else:
            self.answer(ToolOutput(f"not run: {why}", failed=True))

    def item(self, limit: int) -> Item:
        """Its answer as it goes to the model, cut in the middle where it is longer than it may be."""
        text = str(self.output.value) if self.output is not None else ""
        return function_call_output(self.call_id, shortened(text, limit))


def calls_of(items: Sequence[Item]) -> list[Call]:
    """The calls in an answer, each with nothing done yet."""
    return [Call(str(item["call_id"]), str(item["name"]), str(item["arguments"])) for item in items]


class Caller:
    """Makes the calls of a run.

    Args:
        snapshot: What the model can call, and the policy.
        steps: The door to the tools.
        context: What the run provides to tools.
        approver: Who can be asked, or None.
        emit: Where events go.
    """

    def __init__(
        self, snapshot: Snapshot, steps: Steps, context: RunContext, approver: Approver | None, emit: Emit
    ) -> None:
        self._snapshot = snapshot
        self._steps = steps
        self._context = context
        self._approver = approver
        self._emit = emit
        self._slots = asyncio.Semaphore(snapshot.config.limits.parallel_tool_calls)

    async def make(self, calls: Sequence[Call], conversation: Sequence[Item]) -> None:
        """Brings a turn's calls to their outputs; one that nobody was there to allow stays as it is.

        What may go ahead starts at once; questions are asked one after the other, in the order of the calls.

        Args:
            calls: The calls; what becomes of each is written into it as it happens.
            conversation: Everything up to them.
        """
        context = replace(self._context, items=conversation)
        for call in calls:
            await self._judge(call)
        async with asyncio.TaskGroup() as group:
            for call in calls:
                if call.state == "waiting" and call.request is None:
                    group.create_task(self._run(call, context))
            for call in calls:
                if call.request is None:
                    continue
                answer = await self._ask(call.request)
                if answer is None:
                    continue
                if answer.decision == "approve" and answer.digest == call.request.digest:
                    group.create_task(self._run(call, context))
                else:
                    call.refuse("the user did not allow this call" + (f": {answer.reason}" if answer.reason else ""))

    async def _judge(self, call: Call) -> None:
        """Decodes a call and asks the policy; whatever is wrong with it becomes its output."""
        offered = self._snapshot.tools.get(call.name)
        if offered is None:
            call.refuse(f"there is no tool `{call.name}`; {did_you_mean(call.name, self._snapshot.tools)}")
            return
        call.tool = offered.tool
        try:
            facts = await offered.tool.facts(offered.schema.decode(call.arguments))
        except (Exception, SystemExit) as error:  # noqa: BLE001  facts are the tool's own code
            call.answer(self._failed(call.name, error))
            return
        call.facts = replace(facts, runs=scrubbed(facts.runs))
        verdict = self._snapshot.config.approval.decide(call.facts.match)
        if verdict.action == "deny":
            why = f"rule `{verdict.rule}`" if verdict.rule else "the default"
            call.refuse(f"the policy does not allow this call ({why})")
        elif verdict.action == "ask":
            runner = self._snapshot.runner(call.facts.match).model_dump(mode="json") if call.facts.by_runner else None
            call.request = ApprovalRequest.of(call.call_id, call.facts, runner, verdict.rule)

    async def _ask(self, request: ApprovalRequest) -> Answer | None:
        """The answer to a request; None if nobody is there to give one."""
        self._emit({"type": "assembler.approval.requested", **scrubbed_json(request.to_json())})
        if self._approver is None:
            return None
        try:
            answer = await call_function(self._approver, request)
        except Exception as error:  # noqa: BLE001  an approver is foreign code: if it fails, nobody was asked
            return self._not_asked(error)
        if not isinstance(answer, Answer):
            return self._not_asked(TypeError(f"expected an Answer, got {type(answer).__name__}"))
        return answer

    def _not_asked(self, error: BaseException) -> None:
        message = f"the approver failed: {self._reason(error)}"
        self._emit(diagnostic_event(Diagnostic("approval/approver-failed", message)))

    async def _run(self, call: Call, context: RunContext) -> None:
        """Runs a call in its turn among those that may run at once; a failure is an output."""
        tool, facts = cast("Tool", call.tool), cast("CallFacts", call.facts)
        told: dict[str, JSON] = {"call_id": call.call_id, "tool": call.name}
        told |= {key: value for key, value in (("skill", facts.match.skill), ("script", facts.match.script)) if value}
        async with self._slots:
            call.state = "running"
            self._emit({"type": "assembler.tool.started", **told})
            started = perf_counter()
            output = await self._invoke(tool, facts, replace(context, runner=self._snapshot.runner(facts.match)))
            seconds = round(perf_counter() - started, 6)
        call.answer(output)
        for event in output.events:
            self._emit({**event, "call_id": call.call_id})
        ending: dict[str, JSON] = {"failed": output.failed, "seconds": seconds}
        # The tool's own facts come first, so that they cannot take the place of ours.
        self._emit({**output.details, "type": "assembler.tool.finished", **told, **ending})

    async def _invoke(self, tool: Tool, facts: CallFacts, context: RunContext) -> ToolOutput:
        """What a tool hands back, fit for the conversation."""
        try:
            output = await self._steps.tool(tool, facts.arguments, context)
            return await fit(output, self._snapshot.config.limits.tool_output)
        except asyncio.CancelledError as error:
            if _is_cancelled():
                raise
            return self._failed(tool.name, error)
        except (Exception, SystemExit) as error:  # noqa: BLE001  a tool is foreign code: its failure is told, and ends nothing
            return self._failed(tool.name, error)

    def _failed(self, name: str, error: BaseException) -> ToolOutput:
        """A failure as the model reads it: what is wrong and what to change."""
        if isinstance(error, AssemblerError):
            found = error.diagnostics
            lines = [f"error: {each.message}" + (f"; {each.hint}" if each.hint else "") for each in found]
            return _failure("\n".join(lines))
        if isinstance(error, Irreducible):
            message = f"`{name}` returned a value that has no JSON form at {error.path}: {error.reason}"
            self._emit(diagnostic_event(Diagnostic("tools/bad-value", message)))
            return _failure(f"error: {message}")
        message = f"`{name}` failed: {self._reason(error)}"
        hint = "" if self._snapshot.config.errors == "detailed" else "errors=detailed shows what it said"
        self._emit(diagnostic_event(Diagnostic("tools/failed", message, hint=hint)))
        return _failure(f"error: {message}")

    def _reason(self, error: BaseException) -> str:
        """What an exception says, which may hold secrets, where that may be shown; else its type."""
        detailed = self._snapshot.config.errors == "detailed"
        return type(error).__name__ + (f": {error}" if detailed else "")


def _failure(told: str) -> ToolOutput:
    """An output that is an error, in which nothing stands that this process revealed."""
    return ToolOutput(scrubbed(told), failed=True)


def _is_cancelled() -> bool:
    """Whether somebody cancelled this task, and not merely something that it waits for."""
    return cast("asyncio.Task[Any]", asyncio.current_task()).cancelling() > 0
