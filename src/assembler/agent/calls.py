"""The tool calls of one turn: decoded, judged by the policy, asked about, run side by side, answered in order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from assembler.agent.snapshot import Snapshot
from assembler.agent.steps import Steps
from assembler.approval.requests import Answer, ApprovalRequest, Approver
from assembler.errors import AssemblerError, Diagnostic, did_you_mean
from assembler.events import Emit, diagnostic_event
from assembler.items import Item, function_call_output
from assembler.skills.skill import RunContext
from assembler.tools.base import CallFacts, Tool, ToolOutput
from assembler.values import JSON, Irreducible, to_json


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """What came of a turn's calls.

    Attributes:
        outputs: Answers to calls, in the order of the calls; a pending call has none.
        pending: Questions that nobody was there to answer.
        failures: For each answered call in order, its tool's name and whether it failed.
    """

    outputs: Sequence[Item] = ()
    pending: Sequence[ApprovalRequest] = ()
    failures: Sequence[tuple[str, bool]] = ()


@dataclass(frozen=True, slots=True)
class _Refused:
    """A call that does not run: its output says why."""

    call_id: str
    name: str
    output: ToolOutput


@dataclass(frozen=True, slots=True)
class _Ready:
    """A call that may run, at once or when a question is answered."""

    call_id: str
    tool: Tool
    facts: CallFacts
    request: ApprovalRequest | None

    @property
    def name(self) -> str:
        return self.tool.name


@dataclass(frozen=True)
class Caller:
    """Makes the calls of a run.

    Attributes:
        snapshot: What the model can call, and the policy.
        steps: The door to the tools.
        context: What the run provides to tools.
        approver: Who can be asked, or None.
        emit: Where events go.
    """

    snapshot: Snapshot
    steps: Steps
    context: RunContext
    approver: Approver | None
    emit: Emit
    _slots: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_slots", asyncio.Semaphore(self.snapshot.config.limits.parallel_tool_calls))

    async def turn(self, items: Sequence[Mapping[str, Any]], conversation: Sequence[Item]) -> TurnOutcome:
        """Answers a turn's calls.

        What may go ahead starts at once; questions are asked one after the other, in the order of the calls.

        Args:
            items: The model's ``function_call`` items.
            conversation: Everything up to them.
        """
        context = replace(self.context, items=conversation)
        calls = [await self._judge(item) for item in items]
        outputs = {call.call_id: call.output for call in calls if isinstance(call, _Refused)}
        pending: list[ApprovalRequest] = []
        tasks: dict[str, asyncio.Task[ToolOutput]] = {}
        async with asyncio.TaskGroup() as group:
            ready = [call for call in calls if isinstance(call, _Ready)]
            for call in ready:
                if call.request is None:
                    tasks[call.call_id] = group.create_task(self._run(call, context))
            for call, request in [(call, call.request) for call in ready if call.request is not None]:
                answer = await self._ask(request)
                if answer is None:
                    pending.append(request)
                elif answer.decision == "approve" and answer.digest == request.digest:
                    tasks[call.call_id] = group.create_task(self._run(call, context))
                else:
                    outputs[call.call_id] = _not_allowed(answer.reason)
        outputs |= {call_id: task.result() for call_id, task in tasks.items()}
        answered = [call for call in calls if call.call_id in outputs]
        return TurnOutcome(
            [function_call_output(call.call_id, self._sent(outputs[call.call_id].value)) for call in answered],
            pending,
            [(call.name, outputs[call.call_id].failed) for call in answered],
        )

    async def _judge(self, item: Mapping[str, Any]) -> _Refused | _Ready:
        """Decodes a call and asks the policy; whatever is wrong with it becomes its output."""
        call_id, name = str(item.get("call_id", "")), str(item.get("name", ""))
        offered = self.snapshot.tools.get(name)
        if offered is None:
            hint = did_you_mean(name, self.snapshot.tools)
            return _Refused(call_id, name, ToolOutput(f"error: there is no tool `{name}`; {hint}", failed=True))
        try:
            arguments = offered.schema.decode(str(item.get("arguments") or ""))
            facts = await offered.tool.facts(arguments)
        except AssemblerError as error:
            return _Refused(call_id, name, _failed(error))
        verdict = self.snapshot.config.approval.decide(facts.match)
        if verdict.action == "deny":
            why = f"rule `{verdict.rule}`" if verdict.rule else "the default"
            output = ToolOutput(f"error: the policy does not allow this call ({why})", failed=True)
            return _Refused(call_id, name, output)
        request = None
        if verdict.action == "ask":
            runner = self.snapshot.runner(facts.match).model_dump(mode="json") if facts.runs else None
            request = ApprovalRequest(call_id, facts, runner, verdict.rule)
        return _Ready(call_id, offered.tool, facts, request)

    async def _ask(self, request: ApprovalRequest) -> Answer | None:
        """The answer to a request; None if nobody is there to give one."""
        self.emit({"type": "assembler.approval.requested", **request.to_json()})
        if self.approver is None:
            return None
        try:
            return await self.approver(request)
        except Exception as error:  # noqa: BLE001  an approver is foreign code: if it fails, nobody was asked
            message = f"the approver failed: {type(error).__name__}: {error}"
            self.emit(diagnostic_event(Diagnostic("approval/approver-failed", message)))
            return None

    async def _run(self, call: _Ready, context: RunContext) -> ToolOutput:
        """Runs a call in its turn among those that may run at once; a failure is an output."""
        match = call.facts.match
        told: dict[str, JSON] = {"call_id": call.call_id, "tool": call.name}
        told |= {key: value for key, value in (("skill", match.skill), ("script", match.script)) if value}
        async with self._slots:
            self.emit({"type": "assembler.tool.started", **told})
            started = perf_counter()
            output = await self._invoke(call.tool, call.facts, replace(context, runner=self.snapshot.runner(match)))
            seconds = round(perf_counter() - started, 6)
        for event in output.events:
            self.emit({**event, "call_id": call.call_id})
        details = dict(output.details)
        self.emit({"type": "assembler.tool.finished", **told, "failed": output.failed, "seconds": seconds, **details})
        return output

    async def _invoke(self, tool: Tool, facts: CallFacts, context: RunContext) -> ToolOutput:
        try:
            output = await self.steps.tool(tool, facts.arguments, context)
            return replace(output, value=to_json(output.value))
        except AssemblerError as error:
            return _failed(error)
        except Irreducible as error:
            message = f"`{tool.name}` returned a value that has no JSON form at {error.path}: {error.reason}"
            self.emit(diagnostic_event(Diagnostic("tools/bad-value", message)))
            return ToolOutput(f"error: {message}", failed=True)
        except Exception as error:  # noqa: BLE001  a tool is foreign code: its failure is told, and ends nothing
            detailed = self.snapshot.config.errors == "detailed"
            message = f"`{tool.name}` failed: {type(error).__name__}" + (f": {error}" if detailed else "")
            hint = "" if detailed else "errors=detailed shows what it said"
            self.emit(diagnostic_event(Diagnostic("tools/failed", message, hint=hint)))
            return ToolOutput(f"error: {message}", failed=True)

    def _sent(self, value: object) -> JSON:
        """A tool's value as it goes to the model, cut where it is longer than it may be."""
        limit = self.snapshot.config.limits.tool_output
        text = str(function_call_output("", to_json(value))["output"])
        if len(text) <= limit:
            return text
        # The end says how a script ended, so it stays.
        tail = limit // 4
        left_out = f"\n[... {len(text) - limit} characters left out ...]\n"
        return text[: limit - tail] + left_out + text[len(text) - tail :]


def _not_allowed(reason: str) -> ToolOutput:
    return ToolOutput("error: the user did not allow this call" + (f": {reason}" if reason else ""), failed=True)


def _failed(error: AssemblerError) -> ToolOutput:
    """An error as the model reads it: what is wrong and what to change."""
    lines = [f"error: {found.message}" + (f"; {found.hint}" if found.hint else "") for found in error.diagnostics]
    return ToolOutput("\n".join(lines), failed=True)
