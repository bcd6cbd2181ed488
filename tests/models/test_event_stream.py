"""A reply on the wire: whatever its bytes look like, and however they are cut."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assembler.models.event_stream import MAX_SIZE, ReplyReader, Unreadable

MARK = b"\xef\xbb\xbf"


def read(*pieces: bytes) -> list[str]:
    reader = ReplyReader()
    found = [text for piece in pieces for text in reader.feed(piece)]
    return [*found, *reader.end()]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"data: {}\n\ndata: []\n\n", ["{}", "[]"]),
        (b"data:{}\n\n", ["{}"]),
        (b"data:  {}\n\n", [" {}"]),
        (b"data: {}\r\n\r\ndata: 1\r\rdata: 2\n\n", ["{}", "1", "2"]),
        (b"event: x\nid: 7\nretry: 3\ndata: {}\nodd\n\n", ["{}"]),
        (b"data: {\ndata: }\n\n", ["{\n}"]),
        (b": keep-alive\n\n: again\ndata: {}\n\n", ["{}"]),
        (b"\n\n  data: 1\n\ndata: 2\n\n", ["1", "2"]),
        (b"data\n\ndata:\n\ndata: 1\n\n", ["1"]),
        (b"dataset: 1\n\ndata: 2\n\n", ["2"]),
        ("data: \u2028\x85\x0c\n\n".encode(), ["\u2028\x85\x0c"]),
        # An event that was cut is none.
        (b"data: 1\n\ndata: 2\n", ["1"]),
        (b"data: 1\n\ndata: [DONE]\n\ndata: 2\n\n", ["1"]),
        # A byte order mark.
        (MARK + b"data: 1\n\ndata: 2\n\n", ["1", "2"]),
        (MARK + b'{"a": 1}', ['{"a": 1}']),
        # No stream at all.
        (b' \n{"a":\n\n 1}', ['{"a":\n\n 1}']),
        (b"[1]", ["[1]"]),
        (b"", []),
        (MARK, []),
        (b"not found", []),
    ],
)
def test_what_a_reply_holds(data: bytes, expected: list[str]) -> None:
    assert read(data) == expected
    assert read(*(data[index : index + 1] for index in range(len(data)))) == expected


def cuts(data: bytes, places: list[int]) -> Iterator[bytes]:
    begin = 0
    for end in [*sorted(place % (len(data) + 1) for place in places), len(data)]:
        yield data[begin:end]
        begin = end


TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\n"), min_size=1, max_size=20)


@given(
    st.lists(TEXTS.map(lambda text: "x" + text), max_size=5),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([b"", MARK]),
    st.lists(st.integers(min_value=0), max_size=20),
)
def test_where_it_is_cut_makes_no_difference(texts: list[str], end: str, mark: bytes, places: list[int]) -> None:
    data = mark + "".join(f": c{end}data: {text}{end}{end}" for text in texts).encode()
    assert read(*cuts(data, places)) == texts


def test_nothing_is_read_after_the_end() -> None:
    reader = ReplyReader()
    assert reader.feed(b"data: 1\n\n") == ["1"]
    assert not reader.is_done
    assert reader.feed(b"data: [DONE]\n\ndata: 2\n\n") == []
    assert reader.is_done


@pytest.mark.parametrize("data", [b"<html>", b"\n <!doctype html>", MARK + b"<p>"])
def test_a_page_for_people_is_told_as_such(data: bytes) -> None:
    with pytest.raises(Unreadable, match="HTML page"):
        read(data)


@pytest.mark.parametrize("beginning", [b"data: x", b"{"])
def test_what_never_ends_is_not_kept(beginning: bytes) -> None:
    with pytest.raises(Unreadable, match="without an end"):
        read(beginning, *[b"x" * 2**20] * (MAX_SIZE // 2**20 + 1))


def test_many_events_are_more_than_one_may_be() -> None:
    reader = ReplyReader()
    event = b"data: " + b"x" * 2**20 + b"\n\n"
    for _ in range(MAX_SIZE // 2**20 + 1):
        assert len(reader.feed(event)) == 1


def test_bytes_that_are_no_utf8_are_told() -> None:
    with pytest.raises(UnicodeDecodeError):
        read(b"data: caf\xe9\n\n")
