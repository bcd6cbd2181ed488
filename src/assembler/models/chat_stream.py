"""What Chat Completions answers, as Responses events: chunks, however they are cut, to items.

Servers that call themselves compatible differ in everything that the API leaves open, and in much that it does not.
Whatever one sends has an outcome here: a text, calls that are whole, or an error. Calls of an answer that stopped
early are never handed on as complete.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from time import time
from typing import Any, cast
from uuid import uuid4

from assembler.events import Event
from assembler.models.growing_items import EXTRA, Call, Growing, Reasoning, Said, made_id
from assembler.models.provider_errors import cut, failed, unreadable
from assembler.values import JSON

_FINISHED = frozenset({"stop", "tool_calls", "function_call"})
"""Reasons to stop with a whole answer: https://platform.openai.com/docs/api-reference/chat/object."""

_STOPPED: Mapping[str, str] = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Reasons to stop early, by the Responses API's names; any other reason stands for itself."""

_LEGACY = "function_call"
"""The key of the one call that old servers make in a field of its own."""


_UNTOLD: Mapping[str, JSON] = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
"""What every response has to have, though it tells what was asked, not what was answered: by the Responses API's
defaults, since a server of Chat Completions does not repeat it."""


class ChatReading:
    """Reads one answer.

    Args:
        tools: Names of the tools on offer.
        used: Ids of the calls that the conversation has already.
    """

    def __init__(self, tools: Collection[str], used: Collection[str]) -> None:
        self._tools = tools
        self._used = used
        self._taken = {*used}
        self._head: dict[str, JSON] = {}
        self._choice: object = None
        self._reason = ""
        self._usage: dict[str, JSON] | None = None
        self._items: list[Growing] = []
        self._calls: dict[tuple[object, str], Call] = {}
        self._last: Call | None = None

    @property
    def is_complete(self) -> bool:
        """Whether the model said why it stopped; only the count of tokens may follow."""
        return bool(self._reason)

    def events(self, value: Mapping[str, Any]) -> Iterator[Event]:
        """The events of a chunk, or of a whole answer from a server that does not stream."""
        if "choices" not in value and isinstance(value.get("message") or value.get("detail"), str):
            raise failed(value)
        if not self._head:
            self._head = _head(value)
            begun: dict[str, JSON] = {**self._head, "status": "in_progress", "output": []}
            yield {"type": "response.created", "response": begun}
            yield {"type": "response.in_progress", "response": begun}
        self._usage = _usage(value.get("usage")) or self._usage
        for choice in _objects(value.get("choices"), "choices"):
            yield from self._chosen(choice)

    def end(self) -> Iterator[Event]:
        """The events that end the answer."""
        if not self._reason:
            raise cut(begun=self._choice is not None)
        if self._reason in {"tool_calls", _LEGACY} and not self._count_calls():
            raise unreadable("it says that it calls tools, and calls none")
        output: list[JSON] = []
        for item in self._items:
            yield from item.end()
            output.append(item.item())
        why = None if self._reason in _FINISHED else _STOPPED.get(self._reason, self._reason)
        status = "completed" if why is None else "incomplete"
        details: JSON = None if why is None else {"reason": why}
        response = {"status": status, "output": output, "usage": self._usage, "incomplete_details": details}
        yield {"type": f"response.{status}", "response": {**self._head, **response}}

    def _chosen(self, choice: Mapping[str, Any]) -> Iterator[Event]:
        index = choice.get("index") or 0
        if self._choice is not None and self._choice != index:
            raise unreadable("there are several answers, though one was asked for")
        self._choice = index
        delta = choice.get("delta")
        is_whole = delta is None and isinstance(choice.get("message"), dict)
        said = choice["message"] if is_whole else delta
        if isinstance(said, dict):
            yield from self._said(cast("dict[str, Any]", said), is_whole=is_whole)
        reason = choice.get("finish_reason") or ("stop" if is_whole else "")
        self._reason = str(reason) or self._reason

    def _said(self, delta: Mapping[str, Any], *, is_whole: bool) -> Iterator[Event]:
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(thought, str):
            yield from self._add(Reasoning, "reasoning_text", thought)
        for kind, text in _texts(delta.get("content")):
            yield from self._add(Reasoning if kind == "reasoning_text" else Said, kind, text)
        if isinstance(refusal := delta.get("refusal"), str):
            yield from self._add(Said, "refusal", refusal)
        for number, piece in enumerate(_objects(delta.get("tool_calls"), "tool calls")):
            if piece.get("type") not in (None, "", "function"):
                raise unreadable("a call of something that is no function")
            yield from self._called(piece, number if is_whole else piece.get("index"), piece.get("function"))
        if isinstance(legacy := delta.get(_LEGACY), dict):
            yield from self._called({}, _LEGACY, cast("object", legacy))
        if (_LEGACY, "") in self._calls and self._count_calls() > 1:
            raise unreadable("it calls a tool in the old way and in the new one, which may be one call or two")

    def _add(self, kind: type[Said | Reasoning], part: str, text: str) -> Iterator[Event]:
        """Adds to the text of an answer, or of its reasoning, wherever in the answer that began."""
        if not text:
            return
        item = next((item for item in self._items if isinstance(item, kind)), None)
        if item is None:
            item = kind(*self._place("msg" if kind is Said else "rs"))
            self._items.append(item)
        yield from item.add(part, text)

    def _called(self, piece: Mapping[str, Any], index: object, function: object) -> Iterator[Event]:
        """Adds a piece of a call."""
        found = cast("dict[str, Any]", function) if isinstance(function, dict) else {}
        call_id, name = _text(piece.get("id")), _text(found.get("name"))
        call = self._call(index, call_id, name)
        call.extra = piece.get(EXTRA) or call.extra
        arguments = found.get("arguments")
        # Some servers send the arguments as the object that their text should stand for.
        text = arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments)
        yield from call.add(call_id, name, text)

    def _call(self, index: object, call_id: str, name: str) -> Call:
        """The call that a piece belongs to: by its index, else by its id, else the last one."""
        place = index if isinstance(index, int | str) and index != "" else None
        if place is None and not call_id:
            return self._last if self._last is not None and self._last.goes_on(name) else self._begin()
        call = self._calls.get((place, call_id)) or (None if place is None else self._calls.get((place, "")))
        # Some servers give every call the index 0, and each an id of its own.
        if call is None or (name and call_id and call.given_id not in {"", call_id}):
            call = self._begin()
        if place is not None:
            self._calls[place, ""] = self._calls[place, call_id] = call
        if call_id:
            self._calls.setdefault((None, call_id), call)
        return call

    def _place(self, prefix: str) -> tuple[str, int]:
        """Id and index of the next item. Chat Completions has no ids for items."""
        index = len(self._items)
        return f"{prefix}_{self._head['id']}_{index}", index

    def _count_calls(self) -> int:
        return sum(isinstance(item, Call) for item in self._items)

    def _begin(self) -> Call:
        made = made_id(self._taken)
        self._taken.add(made)
        self._last = Call(*self._place("fc"), self._tools, self._used, made)
        self._items.append(self._last)
        return self._last


def _head(value: Mapping[str, Any]) -> dict[str, JSON]:
    """What is known of a response from the first that comes of it; servers leave out what they like."""
    given, created = value.get("id"), _number(value, "created")
    return {
        **_UNTOLD,
        "object": "response",
        "id": given if isinstance(given, str) and given else f"resp_{uuid4().hex}",
        "model": _text(value.get("model")),
        "created_at": int(time()) if created is None else created,
    }


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _objects(value: object, what: str) -> list[dict[str, Any]]:
    """A list of objects; null and nothing are an empty one."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in cast("list[object]", value)):
        raise unreadable(f"its {what} are no list of objects")
    return cast("list[dict[str, Any]]", value)


def _texts(content: object) -> Iterator[tuple[str, str]]:
    """The texts in a content, each with the kind of part that it belongs to."""
    if content is None or isinstance(content, str):
        yield "output_text", content or ""
        return
    for part in _objects(content, "parts of a text"):
        kind = part.get("type")
        if kind in {"text", "output_text"}:
            yield from _texts(part.get("text"))
        elif kind == "refusal":
            yield "refusal", str(part.get("refusal", ""))
        elif kind in {"thinking", "reasoning"}:
            yield from (("reasoning_text", text) for _, text in _texts(part.get("thinking", part.get("text"))))
        else:
            raise unreadable("a part of its text is of a type that was not asked for")


def _usage(usage: object) -> dict[str, JSON] | None:
    """The count of tokens by the Responses API's names; None if there is none."""
    if not isinstance(usage, dict):
        return None
    counted = cast("dict[str, Any]", usage)
    given, made = _number(counted, "prompt_tokens"), _number(counted, "completion_tokens")
    if given is None and made is None:
        return None
    total = _number(counted, "total_tokens")
    cached = _number(counted.get("prompt_tokens_details"), "cached_tokens")
    written = _number(counted.get("prompt_tokens_details"), "cache_write_tokens")
    thought = _number(counted.get("completion_tokens_details"), "reasoning_tokens")
    return {
        "input_tokens": given or 0,
        "input_tokens_details": {"cached_tokens": cached or 0, "cache_write_tokens": written or 0},
        "output_tokens": made or 0,
        "output_tokens_details": {"reasoning_tokens": thought or 0},
        "total_tokens": (given or 0) + (made or 0) if total is None else total,
    }


def _number(counted: object, name: str) -> int | None:
    value = cast("dict[str, Any]", counted).get(name) if isinstance(counted, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
