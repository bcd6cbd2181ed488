"""A model server on this machine, in a process of its own, so that what it costs is not measured with its clients.

It is as cheap as an HTTP server in Python can be: every answer is prepared, and a request is searched for four texts
instead of being parsed. What it answers hangs on the conversation alone: it calls ``load_skill`` as often as the user
says (``call three times``), and then says a text.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CALLS = 3
"""Calls that a conversation asks for with ``ASK``, each in an answer of its own."""
ASK = "call three times"
TEXT = "A marathon of 26.2 miles is 42.16 kilometres long, as the script of the skill has printed. " * 3

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_OUTPUT = re.compile(rb'"type": ?"function_call_output"|"role": ?"tool"')
_STREAMS = re.compile(rb'"stream": ?true')
_USAGE = {"input_tokens": 900, "output_tokens": 40, "total_tokens": 940}
_PIECE = 5
"""Characters of one event of a streamed answer: about a token."""


@contextmanager
def serving() -> Generator[str]:
    """Starts a server, and ends it; the address of its API."""
    command = [sys.executable, "-I", str(Path(__file__).resolve())]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.terminate()
        process.communicate()


class _Connection(asyncio.Protocol):
    """Answers the requests of one connection, one after the other."""

    def __init__(self) -> None:
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self._data, 0, end)
            size = end + 4 + (int(length[1]) if length else 0)
            if len(self._data) < size:
                return
            request, self._data = self._data[:size], self._data[size:]
            self._transport.write(_ANSWERS[_key(request)])


def _key(request: bytes) -> tuple[str, bool, int | None]:
    """The API, whether the answer is streamed, and the number of the call to make; None for a text."""
    api = "chat" if b"/chat/completions" in request[: request.index(b"\r\n")] else "responses"
    made = len(_OUTPUT.findall(request))
    return api, _STREAMS.search(request) is not None, made if made < CALLS and ASK.encode() in request else None


def _answers() -> dict[tuple[str, bool, int | None], bytes]:
    answers: dict[tuple[str, bool, int | None], bytes] = {}
    for number in (*range(CALLS), None):
        item = _message(TEXT) if number is None else _call(number)
        answers["responses", False, number] = _whole(_response([item]))
        answers["responses", True, number] = _streamed(map(_named, _events(item)))
        answers["chat", False, number] = _whole(_completion(item))
        answers["chat", True, number] = _streamed([*map(_data, _chunks(item)), "data: [DONE]\n\n"])
    return answers


def _message(text: str) -> dict[str, Any]:
    content = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [content]}


def _call(number: int) -> dict[str, Any]:
    arguments = json.dumps({"skill_name": f"skill-{number}"})
    return {
        "id": f"fc_{number}",
        "type": "function_call",
        "status": "completed",
        "call_id": f"call_{number}",
        "name": "load_skill",
        "arguments": arguments,
    }


def _response(output: Sequence[dict[str, Any]], status: str = "completed") -> dict[str, Any]:
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1764547200,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "metadata": {},
        "model": "loopback",
        "output": list(output),
        "parallel_tool_calls": True,
        "store": False,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": {**_USAGE, **details} if output else None,
    }


def _events(item: dict[str, Any]) -> list[dict[str, Any]]:
    """What the Responses API streams for an answer of one item."""
    place = {"item_id": item["id"], "output_index": 0}
    is_text = item["type"] == "message"
    text: str = item["content"][0]["text"] if is_text else item["arguments"]
    kind = "response.output_text" if is_text else "response.function_call_arguments"
    more: dict[str, Any] = {"content_index": 0, "logprobs": []} if is_text else {}
    empty = {"content": []} if is_text else {"arguments": ""}
    begun, ended = _response([], "in_progress"), _response([item])
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, **empty, "status": "in_progress"}},
        *({"type": f"{kind}.delta", **place, **more, "delta": piece} for piece in _pieces(text)),
        {"type": f"{kind}.done", **place, **more, "text" if is_text else "arguments": text},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": ended},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _completion(item: dict[str, Any]) -> dict[str, Any]:
    is_text = item["type"] == "message"
    said = {"content": item["content"][0]["text"]} if is_text else {"content": None, "tool_calls": [_tool_call(item)]}
    message = {"role": "assistant", "refusal": None, **said}
    choice = {"index": 0, "message": message, "finish_reason": "stop" if is_text else "tool_calls", "logprobs": None}
    return {**_head("chat.completion"), "choices": [choice], "usage": _chat_usage()}


def _chunks(item: dict[str, Any]) -> list[dict[str, Any]]:
    """What Chat Completions streams for an answer of one item."""
    is_text = item["type"] == "message"
    if is_text:
        deltas = [{"role": "assistant", "content": ""}, *({"content": x} for x in _pieces(item["content"][0]["text"]))]
    else:
        first = {"index": 0, **_tool_call({**item, "arguments": ""})}
        pieces = [{"index": 0, "function": {"arguments": piece}} for piece in _pieces(item["arguments"])]
        deltas = [{"role": "assistant", "content": None, "tool_calls": [first]}]
        deltas += [{"tool_calls": [piece]} for piece in pieces]
    reasons = [*([None] * len(deltas)), "stop" if is_text else "tool_calls"]
    head = _head("chat.completion.chunk")
    chunks: list[dict[str, Any]] = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}], "usage": None}
        for delta, reason in zip([*deltas, {}], reasons, strict=True)
    ]
    return [*chunks, {**head, "choices": [], "usage": _chat_usage()}]


def _tool_call(item: dict[str, Any]) -> dict[str, Any]:
    function = {"name": item["name"], "arguments": item["arguments"]}
    return {"id": item["call_id"], "type": "function", "function": function}


def _head(kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1764547200, "model": "loopback"}


def _chat_usage() -> dict[str, int]:
    return dict(zip(("prompt_tokens", "completion_tokens", "total_tokens"), _USAGE.values(), strict=True))


def _pieces(text: str) -> list[str]:
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]


def _named(event: dict[str, Any]) -> str:
    return f"event: {event['type']}\n{_data(event)}"


def _data(value: dict[str, Any]) -> str:
    return f"data: {json.dumps(value, separators=(',', ':'))}\n\n"


def _whole(value: dict[str, Any]) -> bytes:
    body = json.dumps(value).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def _streamed(events: Iterable[str]) -> bytes:
    """Each event is a chunk of HTTP's own, as from a server that sends it when it has it."""
    chunks = [b"%x\r\n%s\r\n" % (len(event), event.encode()) for event in events]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return b"".join([head, *chunks, b"0\r\n\r\n"])


_ANSWERS = _answers()


async def _serve() -> None:
    """Serves until the process that started this one is gone."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    left = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), left.set)
    await left.wait()


if __name__ == "__main__":
    asyncio.run(_serve())
