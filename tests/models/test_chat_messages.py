"""A conversation as Chat Completions takes it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assembler import AssemblerError
from assembler.items import assistant_message, function_call, function_call_output, user_message
from assembler.models.chat_messages import functions, messages

USER = user_message("hello")
SAID_USER = {"role": "user", "content": "hello"}
REASONING = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}


def called(*ids: str, content: Any = None, arguments: str = "{}") -> dict[str, Any]:
    function = {"name": "probe", "arguments": arguments}
    return {
        "role": "assistant",
        "content": content,
        "tool_calls": [{"id": call_id, "type": "function", "function": function} for call_id in ids],
    }


def answered(call_id: str, content: str = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def message(role: str, *content: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": list(content)}


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([USER], [SAID_USER]),
        ([USER, assistant_message("hi")], [SAID_USER, {"role": "assistant", "content": "hi"}]),
        # A turn is one message of the model, then the answers to its calls.
        (
            [USER, function_call("a", "probe", "{}"), function_call_output("a", "done")],
            [SAID_USER, called("a"), answered("a")],
        ),
        (
            [
                REASONING,
                assistant_message("let me see"),
                function_call("a", "probe", "{}"),
                function_call("b", "probe", "{}"),
                function_call_output("a", "done"),
                function_call_output("b", {"x": 1}),
                function_call("c", "probe", "{}"),
                function_call_output("c", "done"),
                assistant_message("there"),
            ],
            [
                called("a", "b", content="let me see"),
                answered("a"),
                answered("b", '{"x": 1}'),
                called("c"),
                answered("c"),
                {"role": "assistant", "content": "there"},
            ],
        ),
        # A text after a call stays before the call's answer.
        (
            [function_call("a", "probe", "{}"), assistant_message("wait"), function_call_output("a", "done")],
            [called("a", content="wait"), answered("a")],
        ),
        ([assistant_message("one"), assistant_message("two")], [{"role": "assistant", "content": "one\ntwo"}]),
        # What says nothing is left out: some servers refuse an empty message.
        ([USER, REASONING, assistant_message(""), USER], [SAID_USER, SAID_USER]),
        (
            [message("assistant", {"type": "refusal", "refusal": "no"})],
            [{"role": "assistant", "content": "no"}],
        ),
        ([{"type": "message", "role": "user", "content": "plain"}], [{"role": "user", "content": "plain"}]),
        ([message("developer", {"type": "input_text", "text": "x"})], [{"role": "system", "content": "x"}]),
        (
            [message("user", {"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"})],
            [{"role": "user", "content": "ab"}],
        ),
        (
            [
                message(
                    "user",
                    {"type": "input_text", "text": "see"},
                    {"type": "input_image", "image_url": "data:x", "detail": "low"},
                )
            ],
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "see"},
                        {"type": "image_url", "image_url": {"url": "data:x", "detail": "low"}},
                    ],
                }
            ],
        ),
        # Servers read arguments again, and refuse a conversation in which they are no JSON object.
        ([function_call("a", "probe", '{"x": ')], [called("a", arguments='{"malformed": "{\\"x\\": "}')]),
        ([function_call("a", "probe", "[1]")], [called("a", arguments='{"malformed": "[1]"}')]),
        ([function_call("a", "probe", "")], [called("a", arguments='{"malformed": ""}')]),
        ([function_call("a", "probe", ' {"x":1} ')], [called("a", arguments=' {"x":1} ')]),
    ],
)
def test_items_as_messages(items: list[Any], expected: list[Any]) -> None:
    assert messages("", items) == expected
    assert messages("Be kind.", items) == [{"role": "system", "content": "Be kind."}, *expected]


def test_what_a_server_wants_to_see_again_goes_back_to_it() -> None:
    extra = {"google": {"thought_signature": "abc"}}
    (said,) = messages("", [{**function_call("a", "probe", "{}"), "extra_content": extra}])
    assert said["tool_calls"][0]["extra_content"] == extra


@pytest.mark.parametrize(
    ("item", "named"),
    [
        ({"type": "item_reference", "id": "x"}, "`item_reference`"),
        (message("user", {"type": "input_file", "file_id": "x"}), "`input_file`"),
        (message("user", {"type": "input_image", "file_id": "x"}), "`input_image`"),
    ],
)
def test_what_has_no_message_is_told(item: Any, named: str) -> None:
    with pytest.raises(AssemblerError) as caught:
        messages("", [item])
    (found,) = caught.value.diagnostics
    assert found.code == "model/unsupported"
    assert named in found.message


CALL = st.builds(lambda arguments: ("call", arguments), st.text(max_size=8))
TURN = st.lists(st.one_of(CALL, st.builds(lambda text: ("text", text), st.text(max_size=8))), max_size=5)


@given(st.lists(TURN, max_size=4))
def test_every_call_is_followed_by_its_answer(turns: list[list[tuple[str, str]]]) -> None:
    items: list[Any] = [USER]
    for number, turn in enumerate(turns):
        ids = [f"{number}-{place}" for place in range(len(turn))]
        for call_id, (kind, said) in zip(ids, turn, strict=True):
            items.append(function_call(call_id, "probe", said) if kind == "call" else assistant_message(said))
        items += [function_call_output(each, "ok") for each, (kind, _) in zip(ids, turn, strict=True) if kind == "call"]
    waiting: list[str] = []
    for said in messages("", items):
        if said["role"] == "tool":
            assert said["tool_call_id"] == waiting.pop(0)
        else:
            assert not waiting
            waiting = [call["id"] for call in said.get("tool_calls", [])]
            assert all(
                isinstance(json.loads(call["function"]["arguments"]), dict) for call in said.get("tool_calls", [])
            )
            assert said["content"] or waiting
    assert not waiting


TOOL = {"type": "function", "name": "probe", "description": "x", "parameters": {"type": "object"}}


@pytest.mark.parametrize(
    ("flag", "knows", "sent"),
    [
        ({"strict": True}, True, {"strict": True}),
        ({"strict": False}, True, {"strict": False}),
        ({}, True, {}),
        ({"strict": True}, False, {}),
        ({"strict": False}, False, {}),
    ],
)
def test_tools_say_whether_they_are_strict_where_the_server_knows_it(flag: Any, knows: bool, sent: Any) -> None:
    function = {"name": "probe", "description": "x", "parameters": {"type": "object"}, **sent}
    assert functions([{**TOOL, **flag}], strict=knows) == [{"type": "function", "function": function}]
