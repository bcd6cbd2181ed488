"""What goes wrong below the protocol of a model: connections, HTTP and its bodies."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from tests.models import chat
from tests.models.loopback import REQUEST_ID, Raw, message, serve, stream

from assembler import Agent, AgentConfig, Diagnostic, Result

KINDS = ("openai", "openai_chat")
HELLO = {"openai": stream(message("hello")), "openai_chat": chat.text("hello")}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def run(kind: str, url: str, **settings: Any) -> Result:
    model = {"kind": kind, "name": "m", "base_url": url, "retries": 0, **settings}
    return Agent(AgentConfig.model_validate({"name": "a", "model": model})).run_sync("hello")


def problem(result: Result) -> Diagnostic:
    assert result.status == "failed"
    (found,) = result.diagnostics
    return found


def head(status: str, **headers: str) -> bytes:
    told = {"X-Request-Id": REQUEST_ID, **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in told.items())]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode()


WORDS = json.dumps({"error": {"message": "Bad"}}).encode()
UNREADABLE = {
    "cut": Raw(head("400 Bad", Content_Length="500") + WORDS),
    "broken": Raw(head("400 Bad", Transfer_Encoding="chunked") + b"zz\r\n"),
    "wrongly encoded": Raw(head("400 Bad", Content_Encoding="gzip") + WORDS),
    "without end": Raw(head("400 Bad", Content_Length="500") + WORDS, hold=60),
}


@pytest.mark.parametrize("answer", list(UNREADABLE.values()), ids=list(UNREADABLE))
def test_a_refusal_whose_reason_cannot_be_read_is_one(answer: Raw, kind: str) -> None:
    with serve([answer]) as server:
        found = problem(run(kind, server.url, timeout="50s"))
    assert found.code == "model/refused"
    assert found.message == f"the provider answered 400: no reason given (request {REQUEST_ID})"
    assert found.hint


def test_a_failure_whose_reason_cannot_be_read_is_tried_again(kind: str) -> None:
    broken = Raw(head("503 Busy", Retry_After_Ms="1", Content_Length="500") + WORDS)
    with serve([broken, HELLO[kind]]) as server:
        assert run(kind, server.url, retries=1).output_text == "hello"


def test_a_wait_that_takes_too_long_says_what_is_waited_for(kind: str) -> None:
    with serve([(429, {"Retry-After": "50"}, {"error": {"message": "Slow"}})]) as server:
        found = problem(run(kind, server.url, retries=1, timeout="300ms"))
    assert found.code == "model/timeout"
    assert "model.timeout=0.3s" in found.message
    assert "it answered 429, and was to be asked again" in found.message


def test_a_body_of_success_that_cannot_be_read(kind: str) -> None:
    answer = Raw(head("200 OK", Content_Encoding="gzip", Content_Type="text/event-stream") + b"data: {}\n\n")
    with serve([answer]) as server:
        assert problem(run(kind, server.url)).code == "model/cut"


@pytest.mark.parametrize("more", [b"", b": still here\n\n"], ids=["blank lines", "comments"])
def test_an_answer_that_is_whole_is_not_waited_for(more: bytes) -> None:
    """Nothing but the count of tokens can follow the reason to stop, and some servers keep the connection open."""
    said = chat.sent(chat.chunk({"content": "hello"}), chat.chunk({}, "stop"), end="")
    with serve([{said: 0.1, **{more + b"\n" * number: 0.1 for number in range(600)}}]) as server:
        started = time.monotonic()
        result = run("openai_chat", server.url, timeout="60s")
    assert result.output_text == "hello"
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("data", [{"message": "Overloaded", "code": "busy"}, {"detail": "Overloaded"}])
def test_an_error_that_only_the_events_name_tells(kind: str, data: Any) -> None:
    with serve([f"event: error\ndata: {json.dumps(data)}\n\n".encode()]) as server:
        found = problem(run(kind, server.url))
    assert (found.code, "Overloaded" in found.message) == ("model/failed", True)


def test_what_is_no_json_is_shown(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-test-0123456789")
    with serve([b"event: error\ndata: Too many requests of sk-test-0123456789\n\n"]) as server:
        found = problem(run(kind, server.url, api_key="secret://env/MY_KEY"))
    assert found.code == "model/malformed"
    assert "`Too many requests of [secret]" in found.message


def test_a_server_that_speaks_no_tls(kind: str) -> None:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: object) -> None:
            """Says nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            found = problem(run(kind, f"https://127.0.0.1:{server.server_address[1]}/v1"))
        finally:
            server.shutdown()
            thread.join()
    assert found.code == "model/unreachable"
    assert "begin with `http://`" in found.hint


def test_a_server_that_speaks_no_http(kind: str) -> None:
    with serve([Raw(b"SSH-2.0-OpenSSH\r\n")]) as server:
        found = problem(run(kind, server.url))
    assert (found.code, "speaks HTTP" in found.hint) == ("model/unreachable", True)


def test_a_host_that_is_not_there(kind: str) -> None:
    found = problem(run(kind, "http://a..b/v1"))
    assert (found.code, found.hint) == ("model/unreachable", "is the name of the host right in `model.base_url`?")


@pytest.mark.parametrize("status", [408, 409, 429, 500, 529])
def test_what_may_pass_is_tried_again_as_often_as_said(status: int, kind: str) -> None:
    with serve([(status, {"Retry-After-Ms": "1"}, {})] * 3) as server:
        found = problem(run(kind, server.url, retries=2))
    assert (found.code, len(server.requests)) == ("model/refused", 3)
    assert "model.retries" in found.hint


def test_not_modified_is_no_redirect(kind: str) -> None:
    with serve([(304, {}, b"")]) as server:
        assert "sends you on" not in problem(run(kind, server.url)).hint
