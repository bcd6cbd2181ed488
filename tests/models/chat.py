"""What a server of Chat Completions sends."""

from __future__ import annotations

import json
from typing import Any

DONE = "data: [DONE]\n\n"
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


def chunk(delta: dict[str, Any] | None = None, finish: Any = None, **more: Any) -> dict[str, Any]:
    """A chunk with one choice; without choices if there is no delta."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 7,
        "model": "m",
        "choices": choices,
        **more,
    }


def sent(*chunks: Any, end: str = DONE) -> bytes:
    """Chunks as a stream; a text among them stands for itself."""
    lines = (each if isinstance(each, str) else f"data: {json.dumps(each)}\n\n" for each in chunks)
    return ("".join(lines) + end).encode()


def text(*pieces: str, finish: str = "stop") -> bytes:
    """An answer in pieces, as OpenAI streams it."""
    deltas = [chunk({"content": piece}) for piece in pieces]
    return sent(chunk({"role": "assistant", "content": ""}), *deltas, chunk({}, finish), chunk(usage=USAGE))


def piece(index: int | None = 0, call_id: str | None = None, name: str | None = None, arguments: Any = None) -> Any:
    """A piece of a call, with what is given."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    given = {key: value for key, value in (("index", index), ("id", call_id)) if value is not None}
    return {**given, "type": "function", "function": function}


def calling(*pieces: Any) -> dict[str, Any]:
    """A chunk with pieces of calls."""
    return chunk({"tool_calls": list(pieces)})


def calls(*pieces: Any, finish: str = "tool_calls") -> bytes:
    """An answer that calls, a chunk for each piece."""
    return sent(*(calling(each) for each in pieces), chunk({}, finish), chunk(usage=USAGE))


def load(skill: str = "greet", call_id: str = "call_1") -> bytes:
    """A call that loads a skill."""
    return calls(piece(0, call_id, "load_skill", json.dumps({"skill_name": skill})))


def whole(message: dict[str, Any], finish: Any = "stop", **more: Any) -> dict[str, Any]:
    """An answer of a server that does not stream."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": USAGE, **more}
