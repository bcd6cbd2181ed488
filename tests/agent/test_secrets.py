"""What was revealed stands nowhere: not in events, results, sessions, requests, errors or logs, whoever repeats it."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.agent.support import CLIENT, TOOLS, FailingStore, FunctionTool, agent, call, done, say

from assembler import Agent, Answer, ApprovalRequest, AssemblerError, Result
from assembler.agent.steps import Steps
from assembler.errors import problem
from assembler.events import diagnostic_event
from assembler.models.base import ModelRequest
from assembler.scope import Scope
from assembler.scrubbing import MARK
from assembler.secret import Secret
from assembler.sessions.base import SessionBackend, SessionStore
from assembler.sessions.sqlite import Sqlite
from assembler.tools.base import CallFacts, ToolOutput
from assembler.values import JSON

CORE = "hunter2core"
"""The part of the key that every form but base64 leaves as it is."""

KEY = f'"{CORE}/\xe4+\\'


@pytest.fixture(autouse=True)
def revealed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAKED", f"{KEY}\n")
    assert KEY in Secret("Bearer secret://env/LEAKED").reveal()


@pytest.fixture(autouse=True)
def logged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG)
    return caplog


def everything_of(*parts: object) -> str:
    """Parts as programs and people see them."""
    return "\n".join(f"{part}\n{part!r}\n{json.dumps(part, default=repr, ensure_ascii=False)}" for part in parts)


def left(opened: Agent, **options: Any) -> str:
    """All that a run in a session lets out."""

    async def run() -> str:
        async with opened:
            events = [event async for event in opened.stream("go", session="s", **options)]
            conversation = await opened.conversation("s")
            return everything_of(events, conversation, CLIENT.requests, opened.diagnostics)

    return asyncio.run(run())


FORMS: dict[str, Callable[[str], str]] = {
    "as it stands": str,
    "JSON": json.dumps,
    "percent-encoded": quote,
    "base64": lambda text: b64encode(text.encode()).decode(),
    "within base64": lambda text: b64encode(f"user:{text}@host".encode()).decode(),
}


async def _returns(said: str) -> object:
    return said


async def _returns_within(said: str) -> object:
    return {"a": [{"b": said}], said: 1}


async def _returns_what_has_no_json_form(said: str) -> object:
    return {said: object()}


async def _returns_a_failure(said: str) -> object:
    return ToolOutput(said, failed=True)


async def _tells_details(said: str) -> object:
    return ToolOutput(MARK, details={"log": [said], said: True})


async def _tells_an_event(said: str) -> object:
    return ToolOutput(MARK, events=[{"type": "probe.progress", "said": {"x": said}}])


async def _raises(said: str) -> object:
    raise RuntimeError(said)


async def _raises_behind(said: str) -> object:
    raise problem("probe/failed", f"no: {said}", hint=f"not {said}") from ValueError(said)


async def _is_cancelled(said: str) -> object:
    raise asyncio.CancelledError(said)


LEAKS = [
    _returns,
    _returns_within,
    _returns_what_has_no_json_form,
    _returns_a_failure,
    _tells_details,
    _tells_an_event,
    _raises,
    _raises_behind,
    _is_cancelled,
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("leak", LEAKS)
def test_what_a_tool_leaks_goes_nowhere(
    leak: Callable[[str], Awaitable[object]], form: str, logged: pytest.LogCaptureFixture
) -> None:
    said = FORMS[form](KEY)

    async def body(arguments: Mapping[str, JSON]) -> object:
        return await leak(said)

    told = left(agent(done(call("c")), done(say("x")), body=body, errors="detailed"))
    assert MARK in told
    for text in (told, logged.text):
        assert said not in text
        assert CORE not in text


def test_bytes_that_a_tool_returns_go_nowhere() -> None:
    async def body(arguments: Mapping[str, JSON]) -> object:
        return f"the key is {KEY}.".encode()

    told = left(agent(done(call("c")), done(say("x")), body=body))
    assert MARK in told
    assert b64encode(f"the key is {KEY}.".encode()).decode() not in told


@pytest.mark.parametrize("leak", LEAKS)
def test_no_result_holds_what_a_tool_leaks(leak: Callable[[str], Awaitable[object]]) -> None:
    async def body(arguments: Mapping[str, JSON]) -> object:
        return await leak(KEY)

    limits = {"repeated_failures": 1}
    result = agent(done(call("c")), done(say("x")), body=body, errors="detailed", limits=limits).run_sync("go")
    assert CORE not in everything_of(result, result.to_event())


class Describing(FunctionTool):
    """Says a key where it describes what it would do."""

    async def facts(self, arguments: Mapping[str, JSON]) -> CallFacts:
        facts = await super().facts(arguments)
        if arguments.get("do") == "fail":
            raise RuntimeError(KEY)
        return CallFacts(facts.match, {"do": KEY}, runs=f"curl -H {KEY}")


@pytest.mark.parametrize("do", ["describe", "fail"])
def test_what_a_call_would_do_is_asked_without_it(do: str) -> None:
    asked: list[ApprovalRequest] = []
    given: list[object] = []

    async def body(arguments: Mapping[str, JSON]) -> object:
        given.append(arguments["do"])
        return 1

    async def approver(request: ApprovalRequest) -> Answer:
        asked.append(request)
        return Answer("approve", request.digest)

    opened = agent(done(call("c", do=do)), done(say("x")), approval={"default": "ask"}, errors="detailed")
    TOOLS[:] = [Describing(body)]
    told = left(opened, approver=approver)
    assert MARK in told
    assert CORE not in told
    assert CORE not in "".join(request.facts.runs for request in asked)
    assert given == ([KEY] if do == "describe" else []), "what runs is what the tool said, key and all"


def test_a_question_that_waits_does_not_hold_it() -> None:
    opened = agent(done(call("c")), approval={"default": "ask"})
    TOOLS[:] = [Describing(_returns)]  # type: ignore[arg-type]
    result = opened.run_sync("go")
    assert result.status == "requires_action"
    assert result.pending[0]["runs"] == f"curl -H {MARK}"
    assert CORE not in everything_of(result, result.to_event())


async def _denies(request: ApprovalRequest) -> Answer:
    return Answer("deny", request.digest, reason=f"not with {KEY}")


async def _fails(request: ApprovalRequest) -> Answer:
    raise OSError(KEY)


@pytest.mark.parametrize("approver", [_denies, _fails])
def test_what_an_approver_says_is_told_without_it(approver: Any) -> None:
    opened = agent(done(call("c")), done(say("x")), approval={"default": "ask"}, errors="detailed")
    told = left(opened, approver=approver)
    assert MARK in told
    assert CORE not in told


def failure(message: str) -> Sequence[Any]:
    return [{"type": "error", "error": {"message": message}}]


@pytest.mark.parametrize(
    "stream",
    [
        done(say(f"the key is {KEY}")),
        [{"type": "response.output_text.delta", "delta": f"the key is {KEY}"}, *done(say("x"))],
        [{"type": "response.output_item.done", "item": say(KEY)}, *done()],
        done(call("c", do=KEY)),
        done(call("c", do=json.dumps({"key": KEY}))),
        done(call("c", name=KEY)),
        done(say("x"), kind="incomplete", incomplete_details={"reason": KEY}),
        done(say("x"), kind="failed", error={"message": KEY}),
        done({"type": "reasoning", KEY: [KEY]}, say("x")),
        failure(f"bad key {KEY}"),
        failure("x" * 480 + KEY),
        failure("x" * (500 - len(CORE)) + KEY),
        [problem("model/refused", f"bad key {KEY}")],
        [problem("model/refused", "bad key", hint=f"not {KEY}")],
        [ValueError(KEY)],
        [{KEY: float("nan")}],
    ],
)
def test_what_a_model_says_goes_nowhere(stream: Any, logged: pytest.LogCaptureFixture) -> None:
    told = left(agent(stream, done(say("x")), errors="detailed"))
    assert CORE[:5] not in told + logged.text
    CLIENT.streams[:] = []
    result = agent(stream, done(say("x")), errors="detailed").run_sync("go")
    assert CORE[:5] not in everything_of(result, result.to_event())


def test_a_tool_gets_the_mark_where_the_model_wrote_the_key() -> None:
    given: list[object] = []

    async def body(arguments: Mapping[str, JSON]) -> object:
        given.append(arguments["do"])
        return 1

    agent(done(call("c", do=f"a {KEY}")), done(say("x")), body=body).run_sync("go")
    assert given == [f"a {MARK}"]


def test_what_a_person_typed_is_neither_sent_nor_in_the_result() -> None:
    result = agent(done(say("x"))).run_sync(f"my key is {KEY}")
    (request,) = CLIENT.requests
    assert result.items[0]["content"] == [{"type": "input_text", "text": f"my key is {MARK}"}]
    assert CORE not in everything_of(result, request)


def test_what_a_prompt_or_a_tools_description_says_is_not_sent() -> None:
    class Telling(FunctionTool):
        description = f"Call it with {KEY}."

    opened = agent(done(say("x")), variables={"key": KEY}, instructions="Use {{ key }}.")
    TOOLS[:] = [Telling(_returns)]  # type: ignore[arg-type]
    opened.run_sync("go")
    (request,) = CLIENT.requests
    assert f"Use {MARK}." in request.instructions
    assert f"Call it with {MARK}." in str(request.tools)
    assert CORE not in everything_of(request)


def test_a_file_of_sessions_does_not_hold_it(tmp_path: Path) -> None:
    """Neither in what was said nor in the declaration of who spoke."""
    opened = agent(done(say(KEY)), variables={"key": KEY}, session=Sqlite(path=tmp_path / "sessions.db"))
    opened.run_sync(f"What is {KEY}?", session="s")
    (content,) = [file.read_bytes() for file in tmp_path.iterdir()]
    assert content.count(MARK.encode()) == 3
    assert CORE.encode() not in content


class Leaking(SessionBackend, kind="leaking"):
    """Names its password where it fails."""

    def open(self, scope: Scope, base: Path) -> SessionStore:
        return FailingStore(problem("session/unreachable", f"no answer from postgres://me:{quote(KEY, safe='')}@host"))


def test_a_store_that_fails_tells_no_password() -> None:
    told = left(agent(done(say("x")), session=Leaking()))
    assert f"postgres://me:{MARK}@host" in told
    assert CORE not in told


def test_a_cancelled_run_that_cannot_be_kept_says_so_and_tells_no_password(logged: pytest.LogCaptureFixture) -> None:
    async def body(arguments: Mapping[str, Any]) -> object:
        await asyncio.sleep(30)
        return 1

    async def cancel() -> list[Any]:
        events: list[Any] = []
        async with agent(done(call("c")), body=body, session=Leaking()) as opened:

            async def read() -> None:
                async for event in opened.stream("go", session="s"):
                    events.append(event)
                    if event["type"] == "assembler.tool.started":
                        opened.cancel()

            await asyncio.gather(read(), return_exceptions=True)
        return events

    *_, why, result = asyncio.run(cancel())
    assert (why["diagnostic"]["code"], result["status"]) == ("session/unreachable", "cancelled")
    for told in (everything_of(why), logged.text):
        assert f"postgres://me:{MARK}@host" in told
        assert CORE not in told


@pytest.mark.parametrize("error", [problem("model/refused", KEY), ValueError(KEY)])
def test_nothing_stands_behind_the_error_of_a_model(error: Exception) -> None:
    """`--debug`, or an engine that keeps the errors of steps, shows the whole chain."""
    error.__cause__ = KeyError(KEY)
    agent([error])
    with pytest.raises(AssemblerError) as caught:
        asyncio.run(Steps().model(CLIENT, ModelRequest("", [], []), (), lambda event: None))
    assert CORE not in "".join(traceback.format_exception(caught.value))


def test_a_result_hides_it_whoever_makes_one() -> None:
    (found,) = problem("a/b", KEY).diagnostics
    result = Result("failed", KEY, "d", items=(say(KEY),), pending=({"runs": KEY},), reason=KEY, diagnostics=(found,))
    told = everything_of(result, result.to_event(), replace(result, reason=f"no {KEY}"))
    assert MARK in told
    assert CORE not in told


def test_a_diagnostic_of_a_run_does_not_hold_it() -> None:
    (found,) = problem("a/b", KEY, hint=KEY).diagnostics
    assert CORE not in everything_of(diagnostic_event(found))
