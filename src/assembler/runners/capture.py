"""What is kept of a stream that may be endless: its beginning, its end, and how much lay between."""

from __future__ import annotations

import codecs

_LONGEST_TAIL_OF_A_CHARACTER = 3
"""Continuation bytes that UTF-8 has at most after the first byte of a character."""


class Capture:
    """Keeps the head and the tail of a stream in bounded memory.

    Args:
        keep: How many bytes to keep; the first half of them from the beginning, the rest from the end.
    """

    def __init__(self, keep: int) -> None:
        self._head_size = keep // 2
        self._tail_size = keep - self._head_size
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0
        """How many bytes came."""

    def add(self, data: bytes) -> None:
        """Takes the next bytes of the stream."""
        self.total += len(data)
        room = self._head_size - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > self._tail_size:
            del self._tail[: len(self._tail) - self._tail_size]

    def text(self) -> str:
        """What was kept, as UTF-8 with replacement characters; what was left out is counted in its place."""
        if self.total == len(self._head) + len(self._tail):
            return bytes(self._head + self._tail).decode("utf-8", "replace")
        # A cut inside a character must not look like bad bytes of the script's own.
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        head = decoder.decode(bytes(self._head))
        tail = _from_first_character(bytes(self._tail))
        left_out = self.total - len(self._head) + len(decoder.getstate()[0]) - len(tail)
        return f"{head}\n[... {left_out} bytes left out ...]\n{tail.decode('utf-8', 'replace')}"


def _from_first_character(data: bytes) -> bytes:
    start = 0
    while start < min(_LONGEST_TAIL_OF_A_CHARACTER, len(data)) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]
