"""A reply on the wire: server-sent events, or one JSON text from a server that does not stream.

The SDK's own reader ignores the first event of a stream that begins with a byte order mark, holds an event of any size,
and takes a body that is no stream for an empty one.
"""

from __future__ import annotations

import re
from typing import Literal

MAX_SIZE = 64 * 1024 * 1024
"""Bytes of one event, or of a reply that is no stream: more than any answer has."""

DONE = "[DONE]"
"""The data of the event that ends a stream of Chat Completions; the Responses API has none."""

_MARK = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")


class Unreadable(ValueError):
    """Bytes that are no reply of a model; says why."""


class ReplyReader:
    """Takes a reply apart as it comes, however its bytes are cut.

    Events are read as in https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation,
    but for their names, which the APIs repeat in the data. What the content type says does not count: servers get it
    wrong, and the first character cannot be mistaken.

    Attributes:
        is_done: Whether the stream said that it is at its end; nothing is read after that.
    """

    def __init__(self) -> None:
        self.is_done = False
        self._form: Literal["events", "json"] | None = None
        self._head = b""
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._held = 0
        self._after_return = False

    def feed(self, data: bytes) -> list[str]:
        """The data of each event that ends in these bytes.

        Raises:
            Unreadable: It is an HTML page, or larger than ``MAX_SIZE``.
            UnicodeDecodeError: It is not UTF-8.
        """
        if self._form is None:
            self._head += data
            data = self._head.removeprefix(_MARK).lstrip()
            if not data or _MARK.startswith(self._head):
                return []
            self._form = _form(data)
        self._held += len(data)
        if self._held > MAX_SIZE:
            raise Unreadable(f"more than {MAX_SIZE} bytes without an end")
        if self._form == "events":
            return self._events(data)
        self._line.append(data)
        return []

    def end(self) -> list[str]:
        """What a reply that is no stream held, once all of it came; an event that was cut is none."""
        return [b"".join(self._line).decode()] if self._form == "json" else []

    def _events(self, data: bytes) -> list[str]:
        if self._after_return and data.startswith(b"\n"):
            data = data[1:]
        self._after_return = data.endswith(b"\r")
        first, *rest = _LINE_END.split(data)
        self._line.append(first)
        events: list[str] = []
        for following in rest:
            self._take(b"".join(self._line), events)
            self._line = [following]
        return events

    def _take(self, line: bytes, events: list[str]) -> None:
        """Takes a line: a blank one ends an event, a comment keeps the connection alive."""
        if not line:
            text = b"\n".join(self._data).decode()
            self._data, self._held = [], 0
            if text.startswith(DONE):
                self.is_done = True
            if text and not self.is_done:
                events.append(text)
            return
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))


def _form(data: bytes) -> Literal["events", "json"]:
    if data.startswith(b"<"):
        raise Unreadable("an HTML page instead of JSON; is `model.base_url` right, or a proxy in between?")
    return "json" if data.startswith((b"{", b"[")) else "events"
