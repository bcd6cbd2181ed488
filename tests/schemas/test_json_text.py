"""JSON text and nothing beyond it."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assembler.errors import AssemblerError
from assembler.schemas.arguments import parse_arguments
from assembler.schemas.json_text import NotJson, depth_of, parse_json, size_of
from assembler.values import MAX_DEPTH

JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(), part, max_size=4),
)


@given(JSONS, st.booleans(), st.sampled_from([None, 2]))
def test_every_json_text_is_read_exactly(value: Any, ascii_only: bool, indent: int | None) -> None:
    assert repr(parse_json(json.dumps(value, ensure_ascii=ascii_only, indent=indent))) == repr(value)


@given(st.text(st.sampled_from('{}[]",:0123456789.eE+-truefalsn \n\\u\ufeff'), max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(NotJson):
        value = parse_json(text)
        assert json.loads(text) == value


@pytest.mark.parametrize(
    ("text", "expected", "place"),
    [
        ("", "a JSON value, found nothing", ""),
        (" \n", "a JSON value, found nothing", ""),
        ("\ufeff{}", "no byte order mark before the value", "line 1, column 1"),
        ("x", "a JSON value", "line 1, column 1"),
        ('{"a": 1,\n "b" 2}', "a colon after the name", "line 2, column 6"),
        ('{"a": 1 "b": 2}', "a comma, or the end of the list or object", "line 1, column 9"),
        ('{"a": 1} x', "nothing after the end of the value", "line 1, column 10"),
        ('{"a": "1}', "the closing quote of the text that starts there", "line 1, column 7"),
        ('"\\x"', "a valid escape; a backslash itself is written \\\\", "line 1, column 2"),
        ('"a\nb"', "line breaks and control characters in text to be escaped, such as \\n", "line 1, column 3"),
        ("NaN", "a JSON value, which NaN is not", ""),
        ("[-Infinity]", "a JSON value, which -Infinity is not", ""),
        ("1e999", "numbers that fit in 64 bits", ""),
        ("9" * 5_000, "numbers of fewer digits", ""),
        ('"\\ud83d"', "whole characters, found half of a surrogate pair", ""),
        ('["\ud800"]', "whole characters, found half of a surrogate pair", ""),
        ('{"a": 1, "b": {"k": 1, "k": 1}}', "each name once in an object, found `k` twice", ""),
        ("[" * 101 + "]" * 101, "at most 100 levels of nesting", ""),
        ("[" * 100_000, "at most 100 levels of nesting", ""),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else None,
)
def test_what_is_missing_is_named(text: str, expected: str, place: str) -> None:
    with pytest.raises(NotJson) as caught:
        parse_json(text)
    assert (caught.value.expected, caught.value.place) == (expected, place)


@pytest.mark.parametrize(("text", "kind"), [("1.0", float), ("1", int), ("1e2", float), ("-0", int)])
def test_numbers_keep_their_kind(text: str, kind: type) -> None:
    assert type(parse_json(text)) is kind


def test_nesting_up_to_the_limit_is_read() -> None:
    value = parse_json("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert depth_of(value) == MAX_DEPTH


@pytest.mark.parametrize(
    ("value", "depth", "size"),
    [(1, 0, 1), ("[[", 0, 1), ([], 1, 1), ({"a": 1, "b": [2, {}]}, 3, 5), ([[], [[]]], 3, 4)],
)
def test_measures(value: Any, depth: int, size: int) -> None:
    assert (depth_of(value), size_of(value)) == (depth, size)


class TestArguments:
    def test_an_object(self) -> None:
        assert parse_arguments('{"a": [1, null]}') == {"a": [1, None]}

    @pytest.mark.parametrize("text", ["", "  ", "\n"])
    def test_nothing_is_what_models_send_for_no_arguments(self, text: str) -> None:
        assert parse_arguments(text) == {}

    @pytest.mark.parametrize(
        ("text", "found"), [("null", "null"), ("[]", "array"), ('"{}"', "string"), ("1", "integer"), ("1.5", "number")]
    )
    def test_anything_else_is_refused(self, text: str, found: str) -> None:
        with pytest.raises(AssemblerError) as caught:
            parse_arguments(text)
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.code == "arguments/not-object"
        assert diagnostic.message.endswith(f"found {found}")

    def test_malformed_text_is_told_by_position_only(self) -> None:
        with pytest.raises(AssemblerError) as caught:
            parse_arguments('{"token": "secret" "b": 1}')
        (diagnostic,) = caught.value.diagnostics
        assert diagnostic.code == "arguments/not-json"
        assert diagnostic.message == (
            "the arguments are not valid JSON: expected a comma, or the end of the list or object at line 1, column 20"
        )
        assert "secret" not in str(caught.value)

    def test_the_text_around_a_fault_is_shown_when_asked_for(self) -> None:
        with pytest.raises(AssemblerError, match="secret"):
            parse_arguments('{"token": "secret" "b": 1}', detailed=True)
