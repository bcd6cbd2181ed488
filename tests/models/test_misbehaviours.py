"""What providers do wrong, through the real client: each has its outcome, runs no tool twice, and shows no secret."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest
from tests.models import chat
from tests.models.chat import USAGE, calling, chunk, piece, sent, whole
from tests.models.loopback import REQUEST_ID, Broken, call, message, serve, stream

from assembler import Agent, AgentConfig

KEY = "sk-test-0123456789"
GREET = {"skill_name": "greet"}
WRITTEN = json.dumps(GREET)
LOADS = piece(0, "call_1", "load_skill", WRITTEN)
MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Row:
    """What a server does, and what comes of it.

    Attributes:
        name: What it does.
        chat: How that looks in Chat Completions; None where it cannot happen there.
        responses: How it looks in the Responses API; None where it cannot happen there.
        status: How the run ends.
        code: What is told, by its code; empty if nothing is.
        told: What the user reads.
        advice: What the user is told to do.
        ran: How many calls ran.
        model: Settings.
        requests: How many requests were made.
    """

    name: str
    chat: Any = None
    responses: Any = None
    status: str = "failed"
    code: str = ""
    told: str = ""
    advice: str = ""
    ran: int = 0
    model: Any = None
    requests: int = 1


def http(status: int, body: Any = b"", **headers: str) -> dict[str, Any]:
    """The same for both APIs."""
    answer = (status, {name.replace("_", "-"): value for name, value in headers.items()}, body)
    return {"chat": answer, "responses": answer}


def events(*values: Any) -> bytes:
    return "".join(f"data: {json.dumps(value)}\n\n" for value in values).encode()


def error(text: str, code: str = "") -> dict[str, Any]:
    return {"error": {"message": f"{text} {KEY}", "code": code, "type": "invalid_request_error"}}


LOADS_RESPONSE = stream(call("load_skill", GREET))
BOTH = (
    Row("loads a skill and answers", chat.load(), LOADS_RESPONSE, "completed", ran=1, requests=2),
    # Refusals.
    Row(
        "wrong key", **http(401, error("Wrong key")), code="model/refused", told="401: Wrong key [secret]", advice="key"
    ),
    Row("no credit", **http(429, error("Pay", "insufficient_quota")), code="model/refused", advice="does not help"),
    Row("too many requests", **http(429, error("Slow"), Retry_After="7"), code="model/refused", advice="in 7 seconds"),
    Row("unknown path", **http(404, b"<html>Not found"), code="model/refused", told="HTML page", advice="often `/v1`"),
    Row("list as the body", **http(400, [error("Bad")]), code="model/refused", told="400: Bad [secret]"),
    Row("empty body", **http(500), code="model/refused", told="500: no reason given", advice="model.retries"),
    Row("too long", **http(400, error("Long", "context_length_exceeded")), code="model/refused", advice="a new one"),
    Row("filtered prompt", **http(400, error("No", "content_filter")), code="model/refused", advice="filter"),
    Row(
        "unknown setting",
        **http(422, {"detail": "strict"}),
        code="model/refused",
        told="strict",
        advice="dialect: none",
    ),
    Row(
        "redirect",
        **http(307, Location=f"http://127.0.0.1:9/?{KEY}"),
        code="model/refused",
        advice="to http://127.0.0.1:9/?[secret], and redirects are not followed",
    ),
    # Streams that are none.
    Row("page with status 200", b"<html>portal", b"<html>portal", code="model/malformed", told="HTML page"),
    Row("empty stream", b"", b"", code="model/cut", told="before it was complete", advice="base_url"),
    Row("other API", stream(message("hi")), chat.text("hi"), code="model/cut", advice="base_url"),
    Row("no JSON in an event", b"data: {oops\n\n", b"data: {oops\n\n", code="model/malformed", told="not JSON"),
    Row("no object in an event", b"data: [1]\n\n", b"data: [1]\n\n", code="model/malformed", told="list"),
    Row("no UTF-8", b"data: caf\xe9\n\n", b"data: caf\xe9\n\n", code="model/malformed", told="UTF-8"),
    Row(
        "error in the stream",
        sent(chunk({"content": "x"}), error("Overloaded", "server_error")),
        events({"type": "response.created", "response": {}}, {"type": "error", **error("Overloaded", "server_error")}),
        code="model/failed",
        told="Overloaded [secret] (server_error)",
        advice="run again",
    ),
    Row("error as the body", **http(200, error("Loading")), code="model/failed", told="Loading [secret]"),
    Row(
        "broken connection",
        Broken(sent(chunk({"content": "x"}), calling(LOADS), end="")),
        Broken(events({"type": "response.created", "response": {}})),
        code="model/cut",
        told="connection broke",
        advice="run again",
    ),
    Row(
        "no word in time",
        {b": wait\n\n": 5},
        {events({"type": "response.created", "response": {}}): 5},
        code="model/timeout",
        told="model.first_token_timeout=0.3s",
        model={"first_token_timeout": "300ms"},
    ),
    Row(
        "no end in time",
        {sent(chunk({"content": "x"}), end=""): 5},
        {events({"type": "response.output_text.delta", "delta": "x"}): 5},
        code="model/timeout",
        told="model.timeout=0.5s",
        model={"timeout": "500ms", "first_token_timeout": "300ms"},
    ),
    Row(
        "comments that keep the connection alive",
        b": wait\n\n: wait\n\n" + chat.text("hi"),
        b": wait\n\n" + events(*stream(message("hi"))),
        "completed",
    ),
    Row("byte order mark", MARK + chat.text("hi"), MARK + events(*stream(message("hi"))), "completed"),
    Row(
        "an answer that does not stream",
        (200, {}, whole({"content": "hi"})),
        (200, {}, stream(message("hi"))[-1]["response"]),
        "completed",
    ),
    Row("neither a text nor a call", chat.text(), stream(), code="model/malformed", told="neither a text nor a call"),
    Row(
        "thoughts alone",
        sent(chunk({"reasoning_content": "hm"}), chunk({}, "stop")),
        stream({"type": "reasoning", "summary": []}),
        code="model/malformed",
        told="neither a text nor a call",
    ),
    Row(
        "out of tokens within a call",
        sent(calling(piece(0, "call_1", "load_skill", '{"skill')), chunk({}, "length")),
        stream(call("load_skill", GREET), status="incomplete"),
        "limit",
        told="stopped before it was done",
    ),
    Row(
        "content filter",
        sent(chunk({"content": "x"}), calling(LOADS), chunk({}, "content_filter")),
        stream(message("x"), call("load_skill", GREET), status="incomplete"),
        "limit",
        told="stopped before it was done",
    ),
    Row(
        "refusal",
        sent(chunk({"refusal": "I will "}), chunk({"refusal": "not."}), chunk({}, "stop")),
        stream({**message("x"), "content": [{"type": "refusal", "refusal": "I will not."}]}),
        "completed",
        told="",
    ),
    Row(
        "two calls with one id",
        chat.calls(LOADS, {**LOADS, "index": 1}),
        stream(call("load_skill", GREET), call("load_skill", GREET)),
        code="model/malformed",
        told="two calls with one id",
    ),
    Row(
        "call without a name",
        chat.calls(piece(0, "call_1", None, WRITTEN)),
        stream(call("", GREET)),
        code="model/malformed",
        told="a call without `name`",
    ),
    Row(
        "call of a tool that is not there",
        chat.calls(piece(0, "call_1", "load_skills", WRITTEN)),
        stream(call("load_skills", GREET)),
        "completed",
        requests=2,
    ),
)

CHAT = (
    Row("call without an id", chat.calls(piece(0, None, "load_skill", WRITTEN)), status="completed", ran=1, requests=2),
    Row(
        "arguments in pieces",
        chat.calls(piece(0, "call_1", "load_skill", WRITTEN[:5]), piece(0, arguments=WRITTEN[5:])),
        status="completed",
        ran=1,
        requests=2,
    ),
    Row(
        "several calls interleaved",
        sent(
            calling(piece(0, "a", "load_skill", WRITTEN[:5]), piece(1, "b", "load_skill", WRITTEN[:3])),
            calling(piece(1, arguments=WRITTEN[3:]), piece(0, arguments=WRITTEN[5:])),
            chunk({}, "tool_calls"),
        ),
        status="completed",
        ran=2,
        requests=2,
    ),
    Row("no index", chat.calls(piece(None, "a", "load_skill", WRITTEN)), status="completed", ran=1, requests=2),
    Row(
        "name in pieces",
        chat.calls(piece(0, "a", "load_"), piece(0, None, "skill", WRITTEN)),
        status="completed",
        ran=1,
        requests=2,
    ),
    Row("stop with calls", chat.calls(LOADS, finish="stop"), status="completed", ran=1, requests=2),
    Row(
        "the call once more at the end",
        chat.calls(LOADS, LOADS),
        status="completed",
        ran=0,
        requests=2,
    ),
    Row(
        "the old function_call",
        sent(chunk({"function_call": {"name": "load_skill", "arguments": WRITTEN}}), chunk({}, "function_call")),
        status="completed",
        ran=1,
        requests=2,
    ),
    Row("tool_calls without calls", chat.text("x", finish="tool_calls"), code="model/malformed", told="calls none"),
    Row(
        "several choices",
        sent({"choices": [{"index": each, "delta": {"content": "x"}} for each in (0, 1)]}),
        code="model/malformed",
        told="several answers",
    ),
    Row("empty choices", sent(chunk(), chunk({"content": "hi"}, "stop")), status="completed"),
    Row("no [DONE]", sent(chunk({"content": "hi"}, "stop"), end=""), status="completed"),
    Row("no [DONE], no reason", sent(chunk({"content": "x"}), calling(LOADS), end=""), code="model/cut"),
    Row("[DONE], no reason", sent(chunk({"content": "x"}), calling(LOADS)), code="model/cut"),
    Row("broken after the reason", Broken(sent(chunk({"content": "hi"}, "stop"), end="")), status="completed"),
    Row(
        "no end after the reason",
        {sent(chunk({"content": "hi"}, "stop"), end=""): 5},
        status="completed",
        model={"timeout": "500ms"},
    ),
    Row("usage first", sent(chunk(usage=USAGE), chunk({"content": "hi"}, "stop")), status="completed"),
    Row("null content", sent(chunk({"content": None}), chunk({"content": "hi"}, "stop")), status="completed"),
    Row("parts as content", sent(chunk({"content": [{"type": "text", "text": "hi"}]}, "stop")), status="completed"),
    Row("error without its key", events({"object": "error", "message": f"Bad {KEY}"}), code="model/failed"),
)

ROWS = [
    *(pytest.param("openai_chat", row.chat, row, id=f"chat: {row.name}") for row in (*BOTH, *CHAT)),
    *(pytest.param("openai", row.responses, row, id=f"responses: {row.name}") for row in BOTH),
]
AFTER = {"openai_chat": chat.text("done"), "openai": stream(message("done"))}


async def played(url: str, kind: str, settings: Any) -> list[Any]:
    model = {"kind": kind, "name": "m", "base_url": url, "retries": 0, "api_key": "secret://env/MY_KEY", **settings}
    skills = {"sources": {"inline": {"skills": {"greet": {"description": "Greets.", "instructions": "Say hello."}}}}}
    config = {"name": "a", "model": model, "skills": skills, "approval": {"default": "allow"}}
    async with Agent(AgentConfig.model_validate(config)) as agent:
        return [event async for event in agent.stream("hello")]


@pytest.mark.parametrize(("kind", "answer", "row"), ROWS)
def test_an_outcome(kind: str, answer: Any, row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    with serve([answer, AFTER[kind]]) as server:
        events = asyncio.run(played(server.url, kind, row.model or {}))
    result = events[-1]
    assert result["status"] == row.status, result["reason"]
    assert [found["code"] for found in result["diagnostics"]] == ([row.code] if row.code else [])
    assert row.told in result["reason"]
    assert KEY not in repr(events)
    assert len(server.requests) == row.requests
    finished = [event for event in events if event["type"] == "assembler.tool.finished" and not event["failed"]]
    assert len(finished) == row.ran
    if row.status == "completed":
        assert result["output_text"] == (
            "done" if row.requests == 2 else "I will not." if row.name == "refusal" else "hi"
        )
    for found in result["diagnostics"]:
        assert REQUEST_ID in found["message"]
        assert row.advice in found["hint"]
        assert found["hint"]


def test_there_are_enough_of_them() -> None:
    assert len(BOTH) >= 25
    assert len({row.name for row in (*BOTH, *CHAT)}) == len((*BOTH, *CHAT))


@pytest.mark.parametrize("kind", ["openai", "openai_chat"])
def test_a_conversation_goes_on_after_a_failure(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    loads = {"openai": LOADS_RESPONSE, "openai_chat": chat.load()}[kind]
    model = {"kind": kind, "name": "m", "retries": 0}
    skills = {"sources": {"inline": {"skills": {"greet": {"description": "Greets.", "instructions": "Say hello."}}}}}

    async def both(url: str) -> list[Any]:
        config = {"name": "a", "model": {**model, "base_url": url}, "skills": skills, "approval": {"default": "allow"}}
        async with Agent(AgentConfig.model_validate(config)) as agent:
            return [await agent.run(text, session="s") for text in ("one", "two")]

    with serve([loads, b"", AFTER[kind]]) as server:
        failed, went_on = asyncio.run(both(server.url))
    assert (failed.status, went_on.status) == ("failed", "completed")
    said = server.requests[-1]["messages" if kind == "openai_chat" else "input"]
    calls = [each for each in said if each.get("tool_calls") or each.get("type") == "function_call"]
    answers = [each for each in said if each.get("role") == "tool" or each.get("type") == "function_call_output"]
    assert len(calls) == len(answers) == 1
