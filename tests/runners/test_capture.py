"""What is kept of a stream."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assembler.runners.capture import Capture

MARKER = re.compile(r"\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n")


def capture(keep: int, *chunks: bytes) -> Capture:
    captured = Capture(keep)
    for chunk in chunks:
        captured.add(chunk)
    return captured


@pytest.mark.parametrize(
    ("keep", "data", "text"),
    [
        (10, b"", ""),
        (10, b"0123456789", "0123456789"),
        (10, b"0123456789a", "01234\n[... 1 bytes left out ...]\n6789a"),
        (4, "äöüß".encode(), "ä\n[... 4 bytes left out ...]\nß"),
        (3, "äöüß".encode(), "\n[... 6 bytes left out ...]\nß"),
        (1, b"abc", "\n[... 2 bytes left out ...]\nc"),
        (0, b"abc", "\n[... 3 bytes left out ...]\n"),
        (10, b"\xff", "\ufffd"),
    ],
)
def test_head_and_tail_are_kept(keep: int, data: bytes, text: str) -> None:
    assert capture(keep, data).text() == text


@given(st.lists(st.binary(max_size=40)), st.integers(0, 100))
def test_chunks_make_no_difference(chunks: list[bytes], keep: int) -> None:
    whole = b"".join(chunks)
    captured = capture(keep, *chunks)
    assert captured.text() == capture(keep, whole).text()
    assert captured.total == len(whole)
    if len(whole) <= keep:
        assert captured.text() == whole.decode("utf-8", "replace")


@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="[\ufffd"), max_size=200), st.integers(0, 60)
)
def test_cuts_make_no_replacement_characters_and_the_count_is_exact(text: str, keep: int) -> None:
    kept = capture(keep, text.encode()).text()
    parts = MARKER.split(kept)
    assert "\ufffd" not in kept
    if len(parts) == 1:
        assert kept == text
        return
    head, left_out, tail = parts
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head.encode()) + int(left_out) + len(tail.encode()) == len(text.encode())
