"""What is declared of a model behind the SDK, and what of it reaches the server."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.models import chat
from tests.models.chat import piece
from tests.models.loopback import call, message, serve, stream

from assembler import Agent, AgentConfig
from assembler.models.base import Model

KEY = "sk-test-0123456789"
KINDS = ("openai", "openai_chat")
HELLO = {"openai": stream(message("hello")), "openai_chat": chat.text("hello")}
SKILLS = {"sources": {"inline": {"skills": {"greet": {"description": "Greets.", "instructions": "Say hello."}}}}}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def agent(kind: str, url: str = "http://127.0.0.1:9/v1", skills: Any = SKILLS, **settings: Any) -> Agent:
    model = {"kind": kind, "name": "m", "base_url": url, "retries": 0, **settings}
    config = {"name": "a", "model": model, "skills": skills or {}, "approval": {"default": "allow"}}
    return Agent(AgentConfig.model_validate(config))


def asked(kind: str, skills: Any = SKILLS, **settings: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """The request and the headers of one run."""
    with serve([HELLO[kind]]) as server:
        result = agent(kind, server.url, skills, **settings).run_sync("hello")
    assert result.output_text == "hello", result.reason
    return server.requests[0], server.headers[0]


BARE = {
    "openai": {"model", "instructions", "input", "stream", "store", "include", "tools"},
    "openai_chat": {"model", "messages", "stream", "stream_options", "tools"},
}


def test_what_is_not_set_is_not_sent(kind: str) -> None:
    request, _ = asked(kind)
    assert request.keys() == BARE[kind]
    request, _ = asked(kind, None, parallel_tool_calls=False)
    assert request.keys() == BARE[kind] - {"tools"}


@pytest.mark.parametrize(
    ("kind", "settings", "sent"),
    [
        ("openai", {"temperature": 0.5, "top_p": 0.9}, {"temperature": 0.5, "top_p": 0.9}),
        ("openai_chat", {"temperature": 0.5, "top_p": 0.9}, {"temperature": 0.5, "top_p": 0.9}),
        ("openai", {"max_output_tokens": 7}, {"max_output_tokens": 7}),
        ("openai_chat", {"max_output_tokens": 7}, {"max_completion_tokens": 7}),
        ("openai_chat", {"max_output_tokens": 7, "limit_as": "max_tokens"}, {"max_tokens": 7}),
        (
            "openai",
            {"reasoning": {"effort": "low", "summary": "auto"}},
            {"reasoning": {"effort": "low", "summary": "auto"}},
        ),
        ("openai", {"reasoning": {"effort": "low"}}, {"reasoning": {"effort": "low"}}),
        ("openai_chat", {"reasoning": {"effort": "low"}}, {"reasoning_effort": "low"}),
        ("openai", {"parallel_tool_calls": False}, {"parallel_tool_calls": False}),
        ("openai_chat", {"parallel_tool_calls": True}, {"parallel_tool_calls": True}),
        ("openai", {"extra_body": {"seed": 7, "x": {"y": None}}}, {"seed": 7, "x": {"y": None}}),
        (
            "openai",
            {"reasoning": {"effort": "low"}, "extra_body": {"reasoning": {"more": 1}}},
            {"reasoning": {"effort": "low", "more": 1}},
        ),
        (
            "openai_chat",
            {"extra_body": {"stream_options": {"x": 1}}},
            {"stream_options": {"include_usage": True, "x": 1}},
        ),
        ("openai_chat", {"temperature": 0.5, "extra_body": {"temperature": 1}}, {"temperature": 1}),
    ],
)
def test_settings_reach_the_server(kind: str, settings: Any, sent: dict[str, Any]) -> None:
    request, _ = asked(kind, **settings)
    assert {key: request[key] for key in sent} == sent
    assert request.keys() <= BARE[kind] | sent.keys()


def test_a_request_of_chat_completions() -> None:
    request, _ = asked("openai_chat")
    system, user = request["messages"]
    assert system["role"] == "system"
    assert "greet" in system["content"]
    assert user == {"role": "user", "content": "hello"}
    (tool,) = request["tools"]
    assert tool["type"] == "function"
    assert tool["function"].keys() == {"name", "description", "parameters", "strict"}
    assert tool["function"]["strict"] is True


@pytest.mark.parametrize(("dialect", "strict"), [("openai", True), ("vllm", True), ("none", None)])
def test_strict_is_said_where_the_server_knows_it(dialect: str, strict: bool | None) -> None:
    request, _ = asked("openai_chat", dialect=dialect)
    assert request["tools"][0]["function"].get("strict") is strict


def test_a_chat_with_a_tool_call() -> None:
    with serve([chat.load(call_id="call-7"), chat.text("hello ", "you")]) as server:
        result = agent("openai_chat", server.url).run_sync("hello")
    assert result.output_text == "hello you"
    assert result.usage == {"input_tokens": 6, "output_tokens": 4, "total_tokens": 10}
    assert server.paths == ["/v1/chat/completions"] * 2
    _, _, said, answer = server.requests[1]["messages"]
    assert said["tool_calls"][0]["id"] == answer["tool_call_id"] == "call-7"
    assert "Say hello." in answer["content"]


def test_a_call_without_an_id_has_one_when_it_is_sent_again() -> None:
    first = chat.calls(piece(0, None, "load_skill", '{"skill_name": "greet"}'))
    with serve([first, first, chat.text("done")]) as server:
        result = agent("openai_chat", server.url).run_sync("hello")
    assert result.output_text == "done"
    ids = [said["tool_call_id"] for said in server.requests[2]["messages"] if said["role"] == "tool"]
    assert len(set(ids)) == 2
    assert all(len(each) == 9 and each.isalnum() for each in ids)


EXTRA = {"google": {"thought_signature": "abc"}}


def test_what_a_server_wants_to_see_again_goes_back_to_it() -> None:
    signed = {**piece(0, "a", "load_skill", '{"skill_name": "greet"}'), "extra_content": EXTRA}
    with serve([chat.calls(signed), chat.text("done")]) as server:
        result = agent("openai_chat", server.url).run_sync("hello")
    assert result.output_text == "done"
    assert server.requests[1]["messages"][2]["tool_calls"][0]["extra_content"] == EXTRA


def test_the_responses_api_is_not_sent_what_another_wants_to_see() -> None:
    signed = {**call("load_skill", {"skill_name": "greet"}), "extra_content": EXTRA}
    with serve([stream(signed), HELLO["openai"]]) as server:
        assert agent("openai", server.url).run_sync("hello").output_text == "hello"
    assert "extra_content" not in server.requests[1]["input"][1]


@pytest.mark.parametrize("stream_it", [True, False])
def test_an_answer_that_comes_at_once(kind: str, stream_it: bool) -> None:
    request, _ = asked(kind, stream=stream_it)
    assert request["stream"] is stream_it
    assert ("stream_options" in request) is (stream_it and kind == "openai_chat")


def test_a_first_token_is_not_waited_for_where_nothing_streams() -> None:
    answer = {b" ": 0.4, b'{"choices": [{"message": {"content": "hello"}}]}': 0}
    with serve([answer]) as server:
        made = agent("openai_chat", server.url, stream=False, first_token_timeout="100ms")
        assert made.run_sync("hello").output_text == "hello"


def test_a_server_that_cannot_count_is_not_asked_again() -> None:
    refusal = (400, {}, {"error": {"message": "Unknown parameter: 'stream_options'.", "param": "stream_options"}})
    with serve([refusal, chat.load(), chat.text("done")]) as server:
        assert agent("openai_chat", server.url).run_sync("hello").output_text == "done"
    assert ["stream_options" in request for request in server.requests] == [True, False, False]


AMBIENT = ["ADMIN_KEY", "API_KEY", "API_TYPE", "API_VERSION", "BASE_URL", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"]
PROXIES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]


def test_nothing_ambient_is_used_or_sent(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in AMBIENT:
        monkeypatch.setenv(f"OPENAI_{name}", "ambient")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Ambient: ambient\nAuthorization: Bearer ambient")
    for name in PROXIES:
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    request, sent = asked(kind)
    assert "ambient" not in f"{request} {sent}"
    assert "authorization" not in sent


def test_headers_go_along(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", f"{KEY}\n")
    monkeypatch.setenv("OPENAI_ORG_ID", "ambient")
    headers = {
        "X-Team": "a b",
        "api-key": "secret://env/MY_KEY",
        "X-Two": "Key secret://env/MY_KEY",
        "user-agent": "me",
    }
    _, sent = asked(kind, extra_headers=headers, organization="org-1", project="proj-1")
    assert sent["x-team"] == "a b"
    assert sent["api-key"] == KEY
    assert sent["x-two"] == f"Key {KEY}"
    assert sent["user-agent"] == "me"
    assert (sent["openai-organization"], sent["openai-project"]) == ("org-1", "proj-1")
    assert "authorization" not in sent


def test_a_secret_header_is_not_shown(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    with serve([(403, {}, {"error": {"message": f"bad {KEY}"}})]) as server:
        made = agent(kind, server.url, extra_headers={"api-key": "secret://env/MY_KEY"})
        result = made.run_sync("hello")
    assert "bad [secret]" in result.reason
    assert KEY not in repr(made.config)
    assert made.config.model_dump(mode="json")["model"]["extra_headers"] == {"api-key": "secret://env/MY_KEY"}


@pytest.mark.parametrize("value", ["two\nlines", "caf\xe9", "\n"])
def test_a_secret_that_no_header_can_carry_is_refused(kind: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", value)
    result = agent(kind, extra_headers={"api-key": "secret://env/MY_KEY"}).run_sync("hello")
    assert [found.code for found in result.diagnostics] == ["secret/unusable"]


OWNED = {
    "openai": ["model", "input", "instructions", "tools", "stream", "store", "include", "previous_response_id"],
    "openai_chat": ["model", "messages", "tools", "functions", "stream", "store", "n"],
}


@pytest.mark.parametrize(
    ("settings", "key", "code"),
    [
        ({"extra_headers": {"Authorization": "Bearer x"}}, "extra_headers", "model/bad-header"),
        ({"extra_headers": {"authorization": "secret://env/K"}}, "extra_headers", "model/bad-header"),
        *(
            ({"extra_headers": {name: "x"}}, "extra_headers", "model/bad-header")
            for name in ("Host", "Content-Length", "Connection", "TE", "Transfer-Encoding", "Upgrade", "Keep-Alive")
        ),
        ({"extra_headers": {"two words": "x"}}, "extra_headers", "model/bad-header"),
        ({"extra_headers": {"": "x"}}, "extra_headers", "model/bad-header"),
        ({"extra_headers": {"X": "two\nlines"}}, "extra_headers", "model/bad-header"),
        ({"extra_headers": {"X": ""}}, "extra_headers", "model/bad-header"),
        ({"extra_headers": {"X": "caf\xe9"}}, "extra_headers", "model/bad-header"),
        ({"extra_headers": {"X-A": "x", "x-a": "y"}}, "extra_headers", "model/bad-header"),
        ({"extra_headers": {"x-api-key": KEY}}, "extra_headers", "model/bad-header"),
        ({"extra_headers": {"Cookie": KEY}}, "extra_headers", "model/bad-header"),
        ({"organization": "two\nlines"}, "organization", "model/bad-header"),
        ({"project": ""}, "project", "model/bad-header"),
        ({"dialect": "opnai"}, "dialect", "schemas/unknown-dialect"),
        ({"top_p": 0}, "top_p", "greater_than"),
        ({"temperature": 2.1}, "temperature", "less_than_equal"),
        ({"retries": -1}, "retries", "greater_than_equal"),
        ({"reasoning": {"efort": "low"}}, "reasoning", "config/unknown-key"),
    ],
)
def test_what_cannot_be_set_is_told_at_its_key(kind: str, settings: Any, key: str, code: str) -> None:
    with pytest.raises(ValidationError) as caught:
        agent(kind, **settings)
    found = caught.value.errors()
    assert {each["type"] for each in found} == {code}
    assert {each["loc"][:2] for each in found} == {("model", key)}
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(("kind", "key"), [(kind, key) for kind, keys in OWNED.items() for key in keys])
def test_what_a_request_says_itself_is_not_laid_over(kind: str, key: str) -> None:
    with pytest.raises(ValidationError) as caught:
        agent(kind, extra_body={key: 1, "mine": 2})
    assert [(found["type"], found["loc"]) for found in caught.value.errors()] == [
        ("model/owned-key", ("model", "extra_body", key))
    ]


def test_every_secret_that_is_sent_is_a_power(kind: str) -> None:
    model = agent(
        kind,
        "https://far.example/v1",
        api_key="secret://env/ONE",
        extra_headers={"X-A": "secret://env/TWO secret://file//no/three", "X-B": "secret://env/ONE", "X-C": "plain"},
    ).config.model
    told = {str(power): power.keys for power in model.powers(Path("/"))}
    assert told == {
        "sends the conversation to https://far.example": (("base_url",),),
        "sends the secret env/ONE to https://far.example": (
            ("base_url",),
            ("api_key",),
            ("extra_headers", "X-B"),
        ),
        "sends the secret env/TWO to https://far.example": (("base_url",), ("extra_headers", "X-A")),
        "sends the secret file '/no/three' to https://far.example": (("base_url",), ("extra_headers", "X-A")),
    }


def test_connections_are_used_again(kind: str) -> None:
    """A three-call run opens one connection."""
    calls = {
        "openai": [stream(call("load_skill", {"skill_name": "greet"}, f"c{number}")) for number in range(3)],
        "openai_chat": [chat.load(call_id=f"c{number}") for number in range(3)],
    }[kind]
    with serve([*calls, HELLO[kind]]) as server:
        assert agent(kind, server.url).run_sync("hello").output_text == "hello"
    assert len(server.requests) == 4
    assert server.connections == 1


@pytest.mark.parametrize("dialect", ["openai", "azure", "vllm", "none"])
def test_every_kind_names_its_dialect(dialect: str) -> None:
    scripted = Model.of_kind("scripted").model_validate({"dialect": dialect, "turns": {"x": {"text": "y"}}})
    assert scripted.dialect == dialect


def test_cancelling_while_an_answer_comes_closes_it(kind: str) -> None:
    begun = {"openai": b'data: {"type": "response.output_text.delta", "delta": "x"}\n\n'}
    answer = {begun.get(kind, chat.sent(chat.chunk({"content": "x"}), end="")): 30}

    async def run(url: str) -> list[str]:
        async with agent(kind, url) as opened:
            types: list[str] = []
            async for event in opened.stream("hello"):
                types.append(event["type"])
                if event["type"] == "response.output_text.delta":
                    opened.cancel()
            return types

    with serve([answer]) as server, pytest.raises(asyncio.CancelledError):
        asyncio.run(asyncio.wait_for(run(server.url), 5))
