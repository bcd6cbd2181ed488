"""The model `openai` against a server on this machine, through the real client."""

from __future__ import annotations

import os
from typing import Any

import pytest
from tests.models.loopback import call, message, serve, stream

from assembler import Agent, AgentConfig, AssemblerError, Result
from assembler.secret import Secret

KEY = "sk-test-0123456789"


def run(url: str, **parts: Any) -> Result:
    model = {"kind": "openai", "name": "m", "base_url": url, "retries": 0, **parts.pop("model", {})}
    skills = {"sources": {"inline": {"skills": {"greet": {"description": "Greets.", "instructions": "Say hello."}}}}}
    config = {"name": "a", "model": model, "skills": skills, "approval": {"default": "allow"}, **parts}
    return Agent(AgentConfig.model_validate(config)).run_sync("hello")


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
        (stream(status="failed"), "failed", "the model failed"),
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


@pytest.mark.parametrize(
    ("base_url", "key"),
    [
        ("https://evil.example/v1", None),
        ("https://evil.example/v1", "secret://env/OPENAI_API_KEY"),
        ("https://api.openai.com/v1", "secret://env/AWS_SECRET_ACCESS_KEY"),
        ("https://api.openai.com.evil.example/v1", "secret://env/OPENAI_API_KEY"),
        ("https://api.openai.com@evil.example/v1", "secret://env/OPENAI_API_KEY"),
        ("http://api.openai.com/v1", "secret://env/OPENAI_API_KEY"),
        ("http://127.0.0.1.evil.example/v1", None),
        ("http://10.0.0.1/v1", None),
    ],
)
def test_nothing_goes_where_nobody_consented_to(base_url: str, key: str | None) -> None:
    with pytest.raises(AssemblerError, match="model/foreign-origin"):
        run(base_url, model={"api_key": key})


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
