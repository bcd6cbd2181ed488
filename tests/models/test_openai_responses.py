"""The model `openai` against a server on this machine, through the real client."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from pydantic import ValidationError
from tests.models.loopback import call, message, serve, stream

from assembler import Agent, AgentConfig, Result
from assembler.secret import Secret

KEY = "sk-test-0123456789"


def agent(url: str, **parts: Any) -> Agent:
    model = {"kind": "openai", "name": "m", "base_url": url, "retries": 0, **parts.pop("model", {})}
    skills = {"sources": {"inline": {"skills": {"greet": {"description": "Greets.", "instructions": "Say hello."}}}}}
    config = {"name": "a", "model": model, "skills": skills, "approval": {"default": "allow"}, **parts}
    return Agent(AgentConfig.model_validate(config))


def run(url: str, **parts: Any) -> Result:
    return agent(url, **parts).run_sync("hello")


def test_a_run_with_a_tool_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    for ambient in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_BASE_URL"):
        monkeypatch.setenv(ambient, "ambient")
    with serve([stream(call("load_skill", {"skill_name": "greet"})), stream(message("hello you"))]) as server:
        result = run(server.url, model={"api_key": "secret://env/MY_KEY", "temperature": 0.5}, instructions="Be kind.")
    assert result.status == "completed"
    assert result.output_text == "hello you"
    assert result.usage == {"input_tokens": 6, "output_tokens": 4, "total_tokens": 10}
    first, second = server.requests
    assert server.paths == ["/v1/responses"] * 2
    assert (first["model"], first["store"], first["stream"], first["temperature"]) == ("m", False, True, 0.5)
    assert "max_output_tokens" not in first
    assert first["instructions"].startswith("Be kind.")
    assert "greet" in first["instructions"]
    assert [tool["name"] for tool in first["tools"]] == ["load_skill"]
    assert all(tool["strict"] is True for tool in first["tools"])
    assert [item["type"] for item in second["input"]] == ["message", "function_call", "function_call_output"]
    assert "Say hello." in second["input"][-1]["output"]
    headers = server.headers[0]
    assert headers["authorization"] == f"Bearer {KEY}"
    assert "ambient" not in str(headers)
    assert KEY not in repr(result)


@pytest.mark.parametrize(
    ("answer", "status", "told"),
    [
        ((400, {"x-request-id": "r1"}, {"error": {"message": "bad schema", "code": "x"}}), "failed", "400: bad schema"),
        ((307, {"Location": "http://127.0.0.1:9/elsewhere"}, {}), "failed", "307"),
        (stream(message("half"))[:-1], "failed", "before it was complete"),
        ([{"type": "error", "message": "overloaded"}], "failed", "overloaded"),
        (stream(message("cut"), status="incomplete"), "limit", "before it was done"),
        (stream(status="failed"), "failed", "answered with an error: no reason given"),
    ],
)
def test_what_a_provider_does_wrong_has_an_outcome(answer: Any, status: str, told: str) -> None:
    with serve([answer]) as server:
        result = run(server.url)
    assert result.status == status
    assert told in result.reason
    assert len(server.requests) == 1


def test_a_server_that_is_not_there() -> None:
    result = run("http://127.0.0.1:9/v1")
    assert result.status == "failed"
    assert [found.code for found in result.diagnostics] == ["model/unreachable"]


def test_a_missing_key_is_named_and_its_value_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    result = run("http://127.0.0.1:9/v1", model={"api_key": "secret://env/MY_KEY"})
    assert result.status == "failed"
    assert "`MY_KEY` is not set" in result.reason


def test_a_key_in_the_clear_is_refused() -> None:
    with pytest.raises(ValueError, match="secret:env") as caught:
        run("http://127.0.0.1:9/v1", model={"api_key": KEY})
    assert KEY not in str(caught.value)


def test_a_secret_shows_its_reference_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    secret = Secret("Bearer secret://env/MY_KEY")
    assert secret.reveal() == f"Bearer {KEY}"
    assert KEY not in f"{secret} {secret!r} {secret.references}"
    assert os.environ["MY_KEY"] == KEY


@pytest.mark.parametrize(
    "base_url",
    [
        "",
        "127.0.0.1:80/v1",
        "ftp://127.0.0.1/v1",
        "http:///v1",
        "http://127.0.0.1:0/v1",
        "http://127.0.0.1:99999/v1",
        "http://127.0.0.1:port/v1",
        "http://user:pass-word@127.0.0.1/v1",
        "https://api.openai.com@evil.example/v1",
        "http://[::1/v1",
        "http://127.0.0.1/\n/v1",
        "http://127.0.0.1\\@evil.example/v1",
        "http://h\u00f6st/v1",
        "http://127.0.0.1/v1?key=pass-word",
        "http://127.0.0.1/v1#x",
        "http://127.0.0.1 /v1",
    ],
)
def test_an_address_that_is_none_is_told_at_its_key(base_url: str) -> None:
    with pytest.raises(ValidationError) as caught:
        run(base_url)
    (found,) = caught.value.errors()
    assert (found["type"], found["loc"]) == ("model/bad-url", ("model", "base_url"))
    assert "pass-word" not in str(caught.value)


@pytest.mark.parametrize(
    "base_url", ["http://[::1]:9/v1", "http://localhost:9", "HTTP://127.0.0.1:9/", "http://127.0.0.1:9"]
)
def test_addresses_of_this_machine(base_url: str) -> None:
    assert run(base_url).diagnostics[0].code == "model/unreachable"


@pytest.mark.parametrize("value", ["sk-\u20ac", "sk-caf\xe9", "two\nlines", "\n"])
def test_a_key_that_no_header_can_carry_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("MY_KEY", value)
    result = run("http://127.0.0.1:9/v1", model={"api_key": "secret://env/MY_KEY"})
    assert [found.code for found in result.diagnostics] == ["secret/unusable"]
    assert "secret://env/MY_KEY" in result.reason
    assert value.strip() == "" or value not in str(result)


def test_a_keys_newline_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", f"{KEY}\r\n")
    with serve([stream(message("hello"))]) as server:
        run(server.url, model={"api_key": "secret://env/MY_KEY"})
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_a_part_of_a_key_is_not_shown_either(tmp_path: Path) -> None:
    file = tmp_path / "my key"
    file.write_text(f"{KEY}\n")
    with serve([(401, {}, {"error": {"message": f"unknown: {KEY}"}})]) as server:
        result = run(server.url, model={"api_key": f"team-1:secret://file/{quote(str(file))}"})
    assert server.headers[0]["authorization"] == f"Bearer team-1:{KEY}"
    assert "unknown: [secret]" in result.reason
    assert KEY not in repr(result)


def events(*datas: bytes) -> bytes:
    return b"".join(b"data: " + data + b"\n\n" for data in datas)


@pytest.mark.parametrize(
    "answer",
    [
        (401, {}, {"error": {"message": f"Incorrect API key provided: {KEY}."}}),
        (401, {}, f"bad key {KEY}".encode()),
        [{"type": "error", "message": f"bad key {KEY}"}],
        [{"type": "error", "error": {"message": f"bad key {KEY}"}}],
        [{"type": "response.failed", "response": {"status": "failed", "error": {"message": f"bad key {KEY}"}}}],
    ],
)
def test_a_key_that_the_provider_repeats_is_not_shown(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    with serve([answer]) as server:
        result = run(server.url, model={"api_key": "secret://env/MY_KEY"})
    assert result.status == "failed"
    assert "[secret]" in result.reason
    assert KEY not in repr(result)


@pytest.mark.parametrize(
    "answer",
    [
        (401, {}, {"error": {"message": "x" * 490 + KEY}}),
        [{"type": "error", "message": "x" * 490 + KEY}],
        [{"type": "error", "error": {"message": "x" * 490 + KEY}}],
        [{"type": "response.failed", "response": {"status": "failed", "error": {"message": "x" * 490 + KEY}}}],
    ],
)
def test_no_part_of_a_key_is_left_where_a_message_is_cut(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    with serve([answer]) as server:
        result = run(server.url, model={"api_key": "secret://env/MY_KEY"})
    assert "x" * 490 in result.reason
    assert KEY[:6] not in repr(result)


def test_no_log_holds_a_key(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever the libraries below log, and the event loop where it looks for bugs."""
    monkeypatch.setenv("MY_KEY", KEY)
    caplog.set_level(logging.DEBUG)

    async def both(url: str) -> list[str]:
        asyncio.get_running_loop().slow_callback_duration = 0
        async with agent(url, model={"api_key": "secret://env/MY_KEY", "retries": 1}) as opened:
            return [(await opened.run("hello")).status for _ in range(2)]

    answers = [(503, {"Retry-After-Ms": "1"}, {}), (401, {}, {"error": {"message": KEY}}), stream(message("hello"))]
    with serve(answers) as server:
        assert asyncio.run(both(server.url), debug=True) == ["failed", "completed"]
    assert {headers["authorization"] for headers in server.headers} == {f"Bearer {KEY}"}
    for logger in ("asyncio", "openai._base_client", "httpx2", "httpcore2.http11"):
        assert [record for record in caplog.records if record.name == logger], "it logs nothing that could be looked at"
    assert KEY not in caplog.text


@pytest.mark.parametrize(
    ("answer", "code", "told"),
    [
        (events(b"{nonsense"), "model/malformed", "not JSON"),
        (events(b'{"type": "caf\xe9"}'), "model/malformed", "not JSON in UTF-8"),
        (events(b"[" * 100_000), "model/malformed", "not JSON"),
        (events(b'{"type": "x", "n": NaN}'), "model/malformed", "not JSON"),
        (events(b'{"type": "x", "n": ' + b"9" * 5000 + b"}"), "model/malformed", "not JSON"),
        (events(b"[1]"), "model/malformed", "list"),
        (events(b"null"), "model/malformed", "NoneType"),
        (events(b'{"type":"error","error":{"message":"overloaded"}}'), "model/failed", "overloaded"),
        (b"", "model/cut", "before it was complete"),
        (b"<html>a portal</html>", "model/malformed", "an HTML page"),
        ((502, {"Content-Type": "text/html"}, b"<!doctype html><p>Bad gateway"), "model/refused", "an HTML page"),
        ((500, {}, b""), "model/refused", "500: no reason given"),
        ((400, {}, {"error": "model not found"}), "model/refused", "400: model not found"),
        ((400, {}, {"detail": "no such model"}), "model/refused", "400: no such model"),
        ((400, {}, [{"error": {"message": "wrong key"}}]), "model/refused", "400: wrong key"),
        ((400, {}, {"error": {"message": {"odd": 1}}}), "model/refused", "400: no reason given"),
        ((429, {"Retry-After": "7"}, {"error": {"message": "Rate limit"}}), "model/refused", "429: Rate limit"),
    ],
)
def test_an_answer_that_is_none(answer: Any, code: str, told: str) -> None:
    with serve([answer]) as server:
        result = run(server.url)
    assert result.status == "failed"
    assert [found.code for found in result.diagnostics] == [code]
    assert told in result.reason


def test_a_limit_of_requests_says_when_to_come_back() -> None:
    with serve([(429, {"Retry-After": "7"}, {"error": {"message": "Rate limit"}})]) as server:
        result = run(server.url)
    assert "in 7 seconds" in result.diagnostics[0].hint


def test_a_failure_that_may_pass_is_tried_again() -> None:
    with serve([(503, {"Retry-After-Ms": "1"}, {}), stream(message("hello"))]) as server:
        result = run(server.url, model={"retries": 1})
    assert result.output_text == "hello"


def test_text_that_utf8_cannot_write_is_mended() -> None:
    with serve([stream(message("caf\ud800"))]) as server:
        result = run(server.url)
    assert result.output_text == "caf\ufffd"


def test_the_timeout_is_for_the_whole_answer() -> None:
    created = {"type": "response.created", "response": {}}
    pieces = {b"data: " + json.dumps({**created, "n": number}).encode() + b"\n\n": 0.1 for number in range(100)}
    with serve([pieces]) as server:
        started = time.monotonic()
        result = run(server.url, model={"timeout": "500ms"})
    assert [found.code for found in result.diagnostics] == ["model/timeout"]
    assert time.monotonic() - started < 5


REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}


def test_a_provider_that_stores_nothing_gets_all_that_it_needs() -> None:
    kept = {**REASONING, "id": "rs_2", "encrypted_content": "gAAA"}
    odd = {**REASONING, "id": "rs_3", "encrypted_content": ["gAAA"]}
    answers = [stream(REASONING, odd, kept, call("load_skill", {"skill_name": "greet"})), stream(message("done"))]
    with serve(answers) as server:
        assert run(server.url).status == "completed"
    first, second = server.requests
    assert first["include"] == second["include"] == ["reasoning.encrypted_content"]
    assert [item["type"] for item in second["input"]] == [
        "message",
        "reasoning",
        "function_call",
        "function_call_output",
    ]
    assert second["input"][1]["encrypted_content"] == "gAAA"
    assert [item for item in second["input"] if "id" in item] == []
    assert second["input"][2]["call_id"] == "call_1"


def test_a_model_without_reasoning_is_not_asked_for_it_again() -> None:
    refusal = {"error": {"message": "Encrypted content is not supported with this model.", "param": "include"}}
    answers = [(400, {}, refusal), stream(call("load_skill", {"skill_name": "greet"})), stream(message("done"))]
    with serve(answers) as server:
        assert run(server.url).status == "completed"
    assert ["include" in request for request in server.requests] == [True, False, False]


UNVERIFIED = "The encrypted content for item rs_1 could not be verified."


@pytest.mark.parametrize("code", ["invalid_encrypted_content", None])
def test_reasoning_of_another_provider_is_left_out(code: str | None) -> None:
    """A session may go on with another model, whose provider cannot read what the first one encrypted."""
    refusal = (400, {}, {"error": {"message": UNVERIFIED, "code": code}})
    kept = {**REASONING, "encrypted_content": "gAAA"}
    own = {**REASONING, "encrypted_content": "hBBB"}
    first = [stream(kept, call("load_skill", {"skill_name": "greet"})), refusal]
    then = [stream(own, call("load_skill", {"skill_name": "greet"}, "call_2")), stream(message("done"))]
    with serve([*first, *then]) as server:
        assert run(server.url).status == "completed"
    said = [[item.get("encrypted_content") for item in asked["input"]] for asked in server.requests]
    assert [[each for each in contents if each] for contents in said] == [[], ["gAAA"], [], ["hBBB"]]
    assert all("include" in asked for asked in server.requests)


def test_a_refusal_about_reasoning_that_is_not_there_is_told() -> None:
    with serve([(400, {}, {"error": {"message": UNVERIFIED, "code": "invalid_encrypted_content"}})]) as server:
        assert "could not be verified" in run(server.url).reason
    assert len(server.requests) == 1


def test_another_refusal_is_not_tried_again() -> None:
    with serve([(400, {}, {"error": {"message": "bad schema", "param": "tools"}})]) as server:
        assert "bad schema" in run(server.url).reason
    assert len(server.requests) == 1


def test_the_sdk_is_imported_beside_the_loop(run_python: Callable[[str], str]) -> None:
    program = """
import sys, threading

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "openai":
            print(threading.current_thread() is threading.main_thread())

sys.meta_path.insert(0, Watch())
from assembler import Agent, AgentConfig
model = {"kind": "openai", "name": "m", "base_url": "http://127.0.0.1:9/v1", "retries": 0}
print(Agent(AgentConfig.model_validate({"name": "a", "model": model})).run_sync("hello").status)
"""
    assert run_python(program).split() == ["False", "failed"]
