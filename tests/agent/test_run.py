"""Runs: answers, tool calls side by side, limits, errors that the model can act on, sessions, cancellation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from assembler import Agent, AgentConfig, Answer, ApprovalRequest, AssemblerError, Result
from assembler.scope import Scope
from assembler.skills.skill import RunContext
from assembler.tools.base import Tool, ToolOutput, Toolset
from assembler.values import JSON


class Probe(Tool):
    """A tool of a test: does what its argument says."""

    name = "probe"
    description = "Does what a test wants."
    owner = "probes"
    schema: Mapping[str, Any] = {
        "type": "object",
        "properties": {"do": {"type": "string"}},
        "required": ["do"],
        "additionalProperties": False,
    }
    calls: list[str]
    running = 0
    most = 0
    started: asyncio.Event

    def __init__(self) -> None:
        self.calls = []
        self.started = asyncio.Event()

    async def invoke(self, arguments: Mapping[str, JSON], context: RunContext) -> ToolOutput:
        what = str(arguments["do"])
        self.calls.append(what)
        self.running += 1
        self.started.set()
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(30 if what == "hang" else 0.02)
        finally:
            self.running -= 1
        if what == "crash":
            raise RuntimeError("the key is hunter2")
        if what == "object":
            return ToolOutput(object())
        return ToolOutput({"done": what})


class Probes(Toolset, kind="probes"):
    """Brings the probe."""

    async def tools(self, name: str, scope: Scope) -> Sequence[Tool]:
        return [PROBE]


PROBE = Probe()


@pytest.fixture(autouse=True)
def fresh() -> None:
    PROBE.calls.clear()
    PROBE.running = PROBE.most = 0
    PROBE.started = asyncio.Event()


def call(what: str, **more: Any) -> dict[str, Any]:
    return {"tool": "probe", "arguments": {"do": what, **more}}


def agent(*turns: Mapping[str, Any], **parts: Any) -> Agent:
    model = {"kind": "scripted", "turns": {f"t{index}": turn for index, turn in enumerate(turns)}}
    parts = {"approval": {"default": "allow"}, **parts}
    return Agent(AgentConfig.model_validate({"name": "a", "model": model, "tools": {"probes": Probes()}, **parts}))


def outputs(result: Result) -> list[Any]:
    return [item["output"] for item in result.items if item["type"] == "function_call_output"]


def test_an_answer_and_its_events() -> None:
    async def collect() -> list[dict[str, Any]]:
        async with agent({"text": "You said {{ input }}"}) as opened:
            return [event async for event in opened.stream("hello")]

    events = asyncio.run(collect())
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert "".join(event["delta"] for event in events if event["type"].endswith(".delta")) == "You said hello"
    assert events[-1]["type"] == "result"
    assert events[-1]["status"] == "completed"
    assert events[-1]["output_text"] == "You said hello"
    assert events[-1]["digest"].startswith("sha256:")


def test_calls_of_a_turn_run_side_by_side_and_are_answered_in_order() -> None:
    names = [f"n{index}" for index in range(6)]
    opened = agent({"calls": [call(name) for name in names], "text": "{{ outputs | length }}"})
    result = opened.run_sync("go")
    assert PROBE.most == 6
    assert result.output_text == "6"
    assert outputs(result) == [json.dumps({"done": name}) for name in names]


def test_side_by_side_is_bounded() -> None:
    opened = agent({"calls": [call(str(index)) for index in range(6)], "text": "x"}, limits={"parallel_tool_calls": 2})
    opened.run_sync("go")
    assert PROBE.most == 2


@pytest.mark.parametrize(
    ("turn", "limits", "reason"),
    [
        ({"calls": [call("a")], "text": "x"}, {"turns": 1}, "limits.turns=1"),
        ({"calls": [call("a"), call("b")], "text": "x"}, {"tool_calls": 1}, "limits.tool_calls=1"),
        ({"calls": [call("hang")], "text": "x"}, {"timeout": "200ms"}, "limits.timeout"),
        ({"calls": [call("crash")] * 3, "text": "x"}, {"repeated_failures": 1}, "limits.repeated_failures=1"),
    ],
)
def test_a_limit_ends_the_run_and_leaves_every_call_answered(turn: Any, limits: Any, reason: str) -> None:
    result = agent(turn, limits=limits).run_sync("go")
    assert result.status == "limit"
    assert reason in result.reason
    calls = [item["call_id"] for item in result.items if item["type"] == "function_call"]
    answered = [item["call_id"] for item in result.items if item["type"] == "function_call_output"]
    assert sorted(calls) == sorted(answered)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"tool": "prob", "arguments": {}}, "did you mean `probe`?"),
        ({"tool": "probe", "arguments": {}}, "do"),
        ({"tool": "probe", "arguments": {"do": "x", "extra": 1}}, "extra"),
        ({"tool": "probe", "arguments": {"do": 7}}, "do"),
    ],
)
def test_a_wrong_call_is_told_to_the_model_and_nothing_runs(wrong: Any, told: str) -> None:
    result = agent({"calls": [wrong], "text": "{{ outputs | last }}"}).run_sync("go")
    assert result.status == "completed"
    assert result.output_text.startswith("error:")
    assert told in result.output_text
    assert PROBE.calls == []


def test_unknown_arguments_can_be_ignored() -> None:
    turn = {"calls": [call("x", extra=1)], "text": "{{ outputs | last }}"}
    assert agent(turn, unknown_arguments="ignore").run_sync("go").output_text == '{"done": "x"}'


def test_a_tool_that_crashes_is_an_output_and_keeps_its_details_to_itself() -> None:
    brief = agent({"calls": [call("crash")], "text": "{{ outputs | last }}"}).run_sync("go")
    assert brief.output_text == "error: `probe` failed: RuntimeError"
    detailed = agent({"calls": [call("crash")], "text": "{{ outputs | last }}"}, errors="detailed").run_sync("go")
    assert "hunter2" in detailed.output_text


def test_a_value_without_a_json_form_is_an_error_of_the_tool() -> None:
    result = agent({"calls": [call("object")], "text": "{{ outputs | last }}"}).run_sync("go")
    assert result.status == "completed"
    assert "`probe` returned a value that has no JSON form at $" in result.output_text


def test_a_long_output_is_cut_and_says_so() -> None:
    result = agent({"calls": [call("y" * 500)], "text": "x"}, limits={"tool_output": 100}).run_sync("go")
    (output,) = outputs(result)
    assert "characters left out" in output
    assert output.startswith('{"done": "yyy')
    assert output.endswith('yyy"}')
    assert len(output) < 200


RULES = {"rules": {"no": {"tools": ["probe"], "action": "deny"}}}


def test_a_denied_call_never_runs() -> None:
    result = agent({"calls": [call("a")], "text": "{{ outputs | last }}"}, approval=RULES).run_sync("go")
    assert "policy does not allow" in result.output_text
    assert PROBE.calls == []


def test_with_nobody_to_ask_the_run_ends_with_the_request() -> None:
    result = agent({"calls": [call("a")], "text": "x"}, approval={"default": "ask"}).run_sync("go")
    assert result.status == "requires_action"
    assert PROBE.calls == []
    (request,) = result.pending
    assert request["tool"] == "probe"
    assert request["arguments"] == {"do": "a"}


@pytest.mark.parametrize(
    ("decision", "digest", "ran"),
    [("approve", None, True), ("deny", None, False), ("approve", "sha256:another", False)],
)
def test_an_answer_counts_for_the_call_that_was_shown(decision: Any, digest: str | None, ran: bool) -> None:
    asked: list[ApprovalRequest] = []

    async def approver(request: ApprovalRequest) -> Answer:
        asked.append(request)
        return Answer(decision, digest or request.digest, "not today")

    opened = agent({"calls": [call("a")], "text": "{{ outputs | last }}"}, approval={"default": "ask"})
    result = opened.run_sync("go", approver=approver)
    assert len(asked) == 1
    assert PROBE.calls == (["a"] if ran else [])
    assert ("not today" in result.output_text) is not ran


def test_an_approver_that_fails_leaves_the_call_pending() -> None:
    async def approver(request: ApprovalRequest) -> Answer:
        raise OSError("gone")

    opened = agent({"calls": [call("a")], "text": "x"}, approval={"default": "ask"})
    assert opened.run_sync("go", approver=approver).status == "requires_action"
    assert PROBE.calls == []


def test_a_session_continues_and_another_one_does_not() -> None:
    async def talk() -> list[str]:
        turn = {"text": "{{ input }}"}
        async with agent(turn) as opened:
            first = await opened.run("one", session="s")
            second = await opened.run("two", session="s")
            other = await opened.run("three")
            stored = await opened.conversation("s")
        assert [item["role"] for item in stored.items] == ["user", "assistant"] * 2
        assert stored.digests == (first.digest,)
        return [first.output_text, second.output_text, other.output_text]

    assert asyncio.run(talk()) == ["one", "two", "three"]


def test_a_pending_call_is_withdrawn_when_the_user_says_something_else() -> None:
    async def talk() -> Any:
        ask = {"when": {"input": "do"}, "calls": [call("a")], "text": "done"}
        async with agent(ask, {"text": "fine"}, approval={"default": "ask"}) as opened:
            await opened.run("do", session="s")
            await opened.run("never mind", session="s")
            return (await opened.conversation("s")).items

    items = asyncio.run(talk())
    assert [item["type"] for item in items] == [
        "message",
        "function_call",
        "function_call_output",
        "message",
        "message",
    ]
    assert "said something else" in items[2]["output"]


def test_a_cancelled_run_stops_its_tools_and_keeps_a_consistent_conversation() -> None:
    async def cancel() -> Any:
        async with agent({"calls": [call("hang")], "text": "x"}) as opened:
            run = asyncio.create_task(opened.run("go", session="s"))
            await PROBE.started.wait()
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
            assert PROBE.running == 0
            return (await opened.conversation("s")).items

    items = asyncio.run(cancel())
    assert [item["type"] for item in items] == ["message", "function_call", "function_call_output"]


def test_closing_a_stream_cancels_its_run() -> None:
    async def leave() -> int:
        async with agent({"calls": [call("hang")], "text": "x"}) as opened:
            async for event in opened.stream("go"):
                if event["type"] == "assembler.tool.started":
                    break
            await asyncio.sleep(0.1)
        return PROBE.running

    assert asyncio.run(leave()) == 0


def test_many_runs_at_once_keep_to_themselves() -> None:
    async def many() -> list[str]:
        async with agent({"calls": [call("a")], "text": "{{ input }}"}) as opened:
            results = await asyncio.gather(*(opened.run(f"n{index}") for index in range(32)))
        return [result.output_text for result in results]

    assert asyncio.run(many()) == [f"n{index}" for index in range(32)]


def test_an_agent_can_be_opened_again_and_keeps_its_digest() -> None:
    opened = agent({"text": "x"})
    assert opened.run_sync("a").digest == opened.run_sync("b").digest
    assert agent({"text": "y"}).run_sync("a").digest != opened.run_sync("a").digest


@pytest.mark.parametrize(
    ("use", "code"),
    [
        (lambda: asyncio.run(agent({"text": "x"}).run("a")), "agent/not-open"),
        (lambda: agent({"text": "x"}).run_sync(""), "run/no-input"),
        (lambda: agent({"text": "x"}).run_sync("a", files=["nowhere.csv"]), "run/no-such-file"),
        (lambda: agent({"text": "x"}, instructions="{{ nothing }}").run_sync("a"), "prompt/bad-template"),
        (lambda: agent({"text": "x"}, instructions={"file": "nowhere"}).run_sync("a"), "prompt/unreadable-file"),
        (lambda: agent({"text": "x"}, variables={"tools": 1}).run_sync("a"), "prompt/reserved-variable"),
    ],
)
def test_wrong_use_has_a_diagnostic(use: Any, code: str) -> None:
    with pytest.raises(AssemblerError) as caught:
        use()
    assert [found.code for found in caught.value.diagnostics] == [code]


def test_run_sync_refuses_to_block_a_running_loop() -> None:
    async def wrong() -> None:
        agent({"text": "x"}).run_sync("a")

    with pytest.raises(AssemblerError, match="agent/loop-running"):
        asyncio.run(wrong())


def test_two_tools_of_one_name_are_an_error_that_names_both_owners() -> None:
    tools = {"probes": Probes(), "others": Probes()}
    with pytest.raises(AssemblerError, match="both have a tool `probe`"):
        agent({"text": "x"}, tools=tools).run_sync("a")
