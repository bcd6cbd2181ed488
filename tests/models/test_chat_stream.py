"""What Chat Completions answers, as Responses events."""

from __future__ import annotations

import json
from collections.abc import Collection
from importlib.metadata import version
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.responses import ResponseStreamEvent
from packaging.version import Version
from pydantic import TypeAdapter
from tests.models.chat import USAGE, calling, chunk, piece, whole

from assembler import AssemblerError
from assembler.items import assistant_message, function_call
from assembler.models.chat_stream import ChatReading

TOOLS = ("load_skill", "read", "tomtom")


EVENT = TypeAdapter[Any](ResponseStreamEvent)
KNOWS_ALL = Version(version("openai")) >= Version("3.57")
"""Whether the SDK is not older than what we pin: of older ones, some types are stricter than the API is."""


def events(*values: Any, used: Collection[str] = ()) -> list[dict[str, Any]]:
    """The events, each of which a reader made for the Responses API can read."""
    found = all_events(*values, used=used)
    for number, event in enumerate(found if KNOWS_ALL else ()):
        EVENT.validate_python({**event, "sequence_number": number}, strict=True)
    return found


def all_events(*values: Any, used: Collection[str] = ()) -> list[dict[str, Any]]:
    reading = ChatReading(TOOLS, used)
    found: list[Any] = [event for value in values for event in reading.events(value)]
    return [*found, *reading.end()]


def output(*values: Any, used: Collection[str] = ()) -> Any:
    items = events(*values, used=used)[-1]["response"]["output"]
    assert len({item["id"] for item in items}) == len(items)
    return [without_id(item) for item in items]


def without_id(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key != "id"}


STOP = chunk({}, "stop")
CALLS = chunk({}, "tool_calls")


def test_the_events_of_a_text() -> None:
    found = events(
        chunk({"role": "assistant", "content": ""}), chunk({"content": "Hel"}), chunk({"content": "lo"}), STOP
    )
    head = {
        "object": "response",
        "id": "chatcmpl-1",
        "model": "m",
        "created_at": 7,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    begun = {**head, "status": "in_progress", "output": []}
    place = {"item_id": "msg_chatcmpl-1_0", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "annotations": []}
    item = {"id": "msg_chatcmpl-1_0", **assistant_message("Hello")}
    ended = {**head, "status": "completed", "output": [item], "usage": None, "incomplete_details": None}
    assert found == [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**item, "status": "in_progress", "content": []},
        },
        {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
        {"type": "response.output_text.delta", **place, "delta": "Hel", "logprobs": []},
        {"type": "response.output_text.delta", **place, "delta": "lo", "logprobs": []},
        {"type": "response.output_text.done", **place, "text": "Hello", "logprobs": []},
        {"type": "response.content_part.done", **place, "part": {**part, "text": "Hello"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": ended},
    ]


def test_the_events_of_two_calls_that_come_interleaved() -> None:
    found = events(
        calling(piece(0, "a", "read", ""), piece(1, "b", "load_skill")),
        calling(piece(1, arguments='{"y"')),
        calling(piece(0, arguments='{"x"')),
        calling(piece(1, arguments=": 2}"), piece(0, arguments=": 1}")),
        CALLS,
    )
    first, second = function_call("a", "read", '{"x": 1}'), function_call("b", "load_skill", '{"y": 2}')
    told = [{**event, "item": event["item"]["call_id"]} if "item" in event else event for event in found[2:-1]]
    delta, done = "response.function_call_arguments.delta", "response.function_call_arguments.done"
    one = {"item_id": "fc_chatcmpl-1_0", "output_index": 0}
    other = {"item_id": "fc_chatcmpl-1_1", "output_index": 1}
    assert told == [
        {"type": "response.output_item.added", "output_index": 1, "item": "b"},
        {"type": delta, **other, "delta": '{"y"'},
        {"type": "response.output_item.added", "output_index": 0, "item": "a"},
        {"type": delta, **one, "delta": '{"x"'},
        {"type": delta, **other, "delta": ": 2}"},
        {"type": delta, **one, "delta": ": 1}"},
        {"type": done, **one, "arguments": '{"x": 1}'},
        {"type": "response.output_item.done", "output_index": 0, "item": "a"},
        {"type": done, **other, "arguments": '{"y": 2}'},
        {"type": "response.output_item.done", "output_index": 1, "item": "b"},
    ]
    assert found[-1]["response"]["output"] == [
        {"id": "fc_chatcmpl-1_0", **first},
        {"id": "fc_chatcmpl-1_1", **second},
    ]


def test_what_a_server_leaves_out_is_made_up() -> None:
    choice = {"delta": {"content": "x"}, "finish_reason": "stop"}
    one, other = (events({"choices": [choice]})[-1]["response"] for _ in range(2))
    assert one["id"] != other["id"]
    assert one["output"][0]["id"] != other["output"][0]["id"]
    assert one["created_at"] > 1_700_000_000


READ = '{"x": 1}'


def read(call_id: str = "a", arguments: str = READ) -> dict[str, Any]:
    return function_call(call_id, "read", arguments)


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        # Ids.
        ([calling(piece(0, None, "read", READ)), CALLS], [read("made00001")]),
        ([calling(piece(0, "", "read", READ)), CALLS], [read("made00001")]),
        ([calling(piece(0, None, "read")), calling(piece(0, "a", None, READ)), CALLS], [read()]),
        (
            [calling(piece(0, None, "read", READ), piece(1, None, "read", READ)), CALLS],
            [read("made00001"), read("made00002")],
        ),
        ([calling(piece(0, "a", "read")), calling(piece(0, "a", None, READ)), CALLS], [read()]),
        # One that an earlier answer had: some servers count anew in each.
        ([calling(piece(0, "before", "read", READ)), CALLS], [read("made00001")]),
        # The same one twice is told of later, in `agent.answers`: it may be one call.
        (
            [calling(piece(0, "a", "read", READ), piece(1, "a", "read", READ)), CALLS],
            [read(), read()],
        ),
        # Indices.
        ([calling(piece(None, "a", "read")), calling(piece(None, "a", None, READ)), CALLS], [read()]),
        ([calling(piece(None, "a", "read")), calling(piece(None, None, None, READ)), CALLS], [read()]),
        ([calling(piece(None, None, "read")), calling(piece(None, None, None, READ)), CALLS], [read("made00001")]),
        (
            [
                calling(piece(None, "a", "read"), piece(None, "b", "read")),
                calling(piece(None, "a", None, READ)),
                calling(piece(None, "b", None, READ)),
                CALLS,
            ],
            [read(), read("b")],
        ),
        (
            [calling(piece(None, None, "read", READ)), calling(piece(None, None, "read", READ)), CALLS],
            [read("made00001"), read("made00002")],
        ),
        (
            [calling(piece(None, None, "read", '{"x":')), calling(piece(None, None, "read", " 1}")), CALLS],
            [read("made00001")],
        ),
        (
            [calling(piece(None, None, "read")), calling(piece(None, None, "load_skill", READ)), CALLS],
            [read("made00001", "{}"), function_call("made00002", "load_skill", READ)],
        ),
        # Index 0 for all of them.
        (
            [calling(piece(0, "a", "read", READ)), calling(piece(0, "b", "read", READ)), CALLS],
            [read(), read("b")],
        ),
        (
            [
                calling(piece(0, "a", "read"), piece(0, "b", "read")),
                calling(piece(0, "a", None, READ), piece(0, "b", None, READ)),
                CALLS,
            ],
            [read(), read("b")],
        ),
        ([calling(piece(3, "a", "read")), calling(piece(3, None, None, READ)), CALLS], [read()]),
        ([calling(piece(0, "a", "read")), calling(piece(None, "a", None, READ)), CALLS], [read()]),
        # Names.
        (
            [calling(piece(0, "a", "load_")), calling(piece(0, None, "skill", "{}")), CALLS],
            [function_call("a", "load_skill", "{}")],
        ),
        ([calling(piece(0, "a", "read", '{"x":')), calling(piece(0, None, "read", " 1}")), CALLS], [read()]),
        (
            [calling(piece(0, "a", "tom")), calling(piece(0, None, "tom", "{}")), CALLS],
            [function_call("a", "tomtom", "{}")],
        ),
        ([calling(piece(0, "a", None, "{}")), CALLS], [function_call("a", "", "{}")]),
        # Arguments.
        ([calling(piece(0, "a", "read", {"x": 1})), CALLS], [read()]),
        ([calling(piece(0, "a", "read", "")), CALLS], [read("a", "{}")]),
        ([calling(piece(0, "a", "read")), CALLS], [read("a", "{}")]),
        ([calling(piece(0, "a", "read", '{"x":')), CALLS], [read("a", '{"x":')]),
        # The same call at the end once more, as some proxies send it: what it makes is no JSON, and runs nothing.
        (
            [calling(piece(0, "a", "read", READ)), calling(piece(0, "a", "read", READ)), CALLS],
            [read("a", READ + READ)],
        ),
        # A call in the field that came before `tool_calls`.
        (
            [
                chunk({"function_call": {"name": "read", "arguments": '{"x":'}}),
                chunk({"function_call": {"arguments": " 1}"}}, "function_call"),
            ],
            [read("made00001")],
        ),
        ([chunk({"content": "x", "function_call": None, "tool_calls": None}), STOP], [assistant_message("x")]),
        # A reason to stop that does not fit: what came counts.
        ([calling(piece(0, "a", "read", READ)), STOP], [read()]),
        # Texts.
        ([chunk({"content": None}), chunk({"content": "x"}), STOP], [assistant_message("x")]),
        (
            [chunk({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}), STOP],
            [assistant_message("ab")],
        ),
        (
            [chunk({"content": "x"}), calling(piece(0, "a", "read", READ)), chunk({"content": "y"}), CALLS],
            [assistant_message("xy"), read()],
        ),
        ([chunk({"content": ""}), STOP], []),
        ([chunk(), chunk({"content": "x"}), STOP, chunk()], [assistant_message("x")]),
        ([{"object": "ping"}, chunk({"content": "x"}), STOP], [assistant_message("x")]),
        # Answers that do not stream.
        ([whole({"content": "x"})], [assistant_message("x")]),
        ([whole({"content": "x"}, None)], [assistant_message("x")]),
        (
            [whole({"content": None, "tool_calls": [piece(None, "a", "read", READ), piece(None, "b", "read", READ)]})],
            [read(), read("b")],
        ),
        (
            [whole({"content": "", "tool_calls": [piece(None, None, "read", READ), piece(None, None, "read", READ)]})],
            [read("made00001"), read("made00002")],
        ),
    ],
)
def test_what_a_server_may_send(chunks: list[Any], expected: list[Any]) -> None:
    assert output(*chunks, used={"before"}) == expected


def test_reasoning_is_no_part_of_the_text() -> None:
    found = events(
        chunk({"reasoning_content": "hm"}),
        chunk({"reasoning_content": "m", "content": "x"}),
        chunk({"content": "y"}),
        STOP,
    )
    reasoning, message = (without_id(item) for item in found[-1]["response"]["output"])
    assert message == assistant_message("xy")
    assert reasoning == {
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "hmm"}],
    }
    deltas = [event["delta"] for event in found if event["type"] == "response.reasoning_text.delta"]
    assert deltas == ["hm", "m"]


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning": "hm"},
        {"reasoning": "hm", "reasoning_content": "hm"},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
        {"content": [{"type": "reasoning", "text": "hm"}]},
    ],
)
def test_other_names_of_reasoning(delta: dict[str, Any]) -> None:
    reasoning, message = output(chunk(delta), chunk({"content": "x"}), STOP)
    assert reasoning["content"][0]["text"] == "hm"
    assert message == assistant_message("x")


def test_a_refusal_is_one_whatever_else_is_said() -> None:
    found = events(chunk({"content": "I "}), chunk({"refusal": "can"}), chunk({"refusal": "not"}), STOP)
    (item,) = found[-1]["response"]["output"]
    assert item["content"] == [
        {"type": "output_text", "text": "I ", "annotations": []},
        {"type": "refusal", "refusal": "cannot"},
    ]
    deltas = [event for event in found if event["type"] == "response.refusal.delta"]
    assert [(event["content_index"], event["delta"]) for event in deltas] == [(1, "can"), (1, "not")]


@pytest.mark.parametrize(
    ("finish", "why"),
    [
        ("length", "max_output_tokens"),
        ("content_filter", "content_filter"),
        ("abort", "abort"),
        ({"odd": 1}, "{'odd': 1}"),
    ],
)
def test_an_answer_that_stopped_early_is_incomplete(finish: Any, why: str) -> None:
    # The Responses API knows no other reasons than two, but what a server says is not to be hidden.
    read_all = events if why in {"max_output_tokens", "content_filter"} else all_events
    last = read_all(chunk({"content": "x"}), calling(piece(0, "a", "read", READ)), chunk({}, finish))[-1]
    assert last["type"] == "response.incomplete"
    assert last["response"]["status"] == "incomplete"
    assert last["response"]["incomplete_details"] == {"reason": why}
    assert len(last["response"]["output"]) == 2


DETAILS = {"prompt_tokens_details": {"cached_tokens": 2}, "completion_tokens_details": {"reasoning_tokens": 1}}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({**USAGE, **DETAILS}, (3, 2, 2, 1, 5)),
        ({**USAGE, "prompt_tokens_details": {"cache_write_tokens": 4}}, (3, 0, 2, 0, 5, 4)),
        (USAGE, (3, 0, 2, 0, 5)),
        ({"prompt_tokens": 3, "completion_tokens": 2}, (3, 0, 2, 0, 5)),
        ({**USAGE, "prompt_tokens_details": None}, (3, 0, 2, 0, 5)),
        ({**USAGE, "total_tokens": True, "completion_tokens": "2"}, (3, 0, 0, 0, 3)),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_usage_may_come_anywhere(usage: Any, expected: tuple[int, ...], place: int) -> None:
    chunks = [chunk({"content": "x"}), STOP, chunk(usage=None)]
    chunks.insert(place, chunk(usage=usage))
    given, cached, made, thought, total, *written = expected
    assert events(*chunks)[-1]["response"]["usage"] == {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": sum(written)},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": thought},
        "total_tokens": total,
    }


def test_usage_that_grows_is_the_last_one() -> None:
    growing = [chunk({"content": "x"}, usage={**USAGE, "completion_tokens": 1}), chunk({}, "stop", usage=USAGE)]
    assert events(*growing)[-1]["response"]["usage"]["output_tokens"] == 2


def test_what_a_server_wants_to_see_again_is_kept_with_the_call() -> None:
    extra = {"google": {"thought_signature": "abc"}}
    chunks = [calling({**piece(0, "a", "read"), "extra_content": extra}), calling(piece(0, None, None, READ)), CALLS]
    assert output(*chunks) == [{**read(), "extra_content": extra}]


@pytest.mark.parametrize(
    ("chunks", "code", "told"),
    [
        ([], "model/cut", "before it was complete"),
        ([chunk({"content": "x"})], "model/cut", "before it was complete"),
        ([chunk({"content": "x"}, "")], "model/cut", "before it was complete"),
        ([calling(piece(0, "a", "read", READ))], "model/cut", "before it was complete"),
        ([chunk({"content": "x"}), CALLS], "model/malformed", "calls none"),
        ([chunk({"content": "x"}, "function_call")], "model/malformed", "calls none"),
        ([{"object": "error", "message": "too long", "code": 400}], "model/failed", "too long"),
        ([{"detail": "no such model"}], "model/failed", "no such model"),
        (
            [{"choices": [{"index": 0, "delta": {"content": "x"}}, {"index": 1, "delta": {"content": "y"}}]}],
            "model/malformed",
            "several answers",
        ),
        ([{"choices": {"0": {}}}], "model/malformed", "choices"),
        ([{"choices": ["x"]}], "model/malformed", "choices"),
        ([chunk({"tool_calls": {"name": "read"}})], "model/malformed", "tool calls"),
        ([chunk({"tool_calls": [None]})], "model/malformed", "tool calls"),
        ([calling({"index": 0, "type": "custom", "custom": {}})], "model/malformed", "no function"),
        ([chunk({"content": 7})], "model/malformed", "parts of a text"),
        ([chunk({"content": [{"type": "image"}]})], "model/malformed", "not asked for"),
        (
            [
                chunk({"function_call": {"name": "read", "arguments": READ}}),
                calling(piece(0, "a", "read", READ)),
                CALLS,
            ],
            "model/malformed",
            "one call or two",
        ),
    ],
)
def test_what_makes_no_sense_is_told(chunks: list[Any], code: str, told: str) -> None:
    with pytest.raises(AssemblerError) as caught:
        events(*chunks)
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert told in found.message


def pieces(text: str, places: list[int]) -> list[str]:
    ends = [*sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


ARGUMENTS = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=10), max_size=3).map(json.dumps)
PLACES = st.lists(st.integers(min_value=0), max_size=8)


@given(
    text=st.text(max_size=40),
    arguments=st.lists(ARGUMENTS, min_size=1, max_size=3),
    text_places=PLACES,
    places=st.lists(PLACES, min_size=3, max_size=3),
    data=st.data(),
)
def test_where_it_is_cut_makes_no_difference(
    text: str, arguments: list[str], text_places: list[int], places: list[list[int]], data: st.DataObject
) -> None:
    queues: list[list[Any]] = [[chunk({"content": each}) for each in pieces(text, text_places)]]
    for index, written in enumerate(arguments):
        first, *others = pieces(written, places[index])
        begun = calling(piece(index, f"call-{index}", "read", first))
        queues.append([begun, *(calling(piece(index, None, None, each)) for each in others)])
    # Pieces of different items come in any order; those of one item in theirs, and calls begin one after the other.
    sent: list[Any] = [queue.pop(0) for queue in queues]
    while left := [queue for queue in queues if queue]:
        sent.append(data.draw(st.sampled_from(left)).pop(0))
    found = events(*sent, CALLS)
    items = [without_id(item) for item in found[-1]["response"]["output"]]
    made = {item["call_id"]: item for item in items if item["type"] == "function_call"}
    expected = {f"call-{index}": read(f"call-{index}", written) for index, written in enumerate(arguments)}
    assert made == expected
    said = [item for item in items if item["type"] == "message"]
    assert said == ([assistant_message(text)] if text else [])
    # The deltas amount to the items.
    for index, item in enumerate(items):
        deltas = "".join(event["delta"] for event in found if event.get("output_index") == index and "delta" in event)
        assert deltas == (item["arguments"] if item["type"] == "function_call" else text)
