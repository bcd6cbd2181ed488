"""JSON text as RFC 8259 has it, and nothing that parsers tolerate beyond it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from json import JSONDecodeError
from typing import Any, NoReturn, cast

from assembler.values import JSON, MAX_DEPTH

_EXCERPT = 20
"""Characters that an excerpt shows on each side of the fault."""

_CONTAINERS = (dict, list)
_EXPECTED = {
    "Expecting value": "a JSON value",
    "Expecting property name enclosed in double quotes": "a name in double quotes",
    "Expecting ':' delimiter": "a colon after the name",
    "Expecting ',' delimiter": "a comma, or the end of the list or object",
    "Illegal trailing comma before end of object": "another name after the comma",
    "Illegal trailing comma before end of array": "another value after the comma",
    "Unterminated string starting at": "the closing quote of the text that starts there",
    "Invalid control character at": "line breaks and control characters in text to be escaped, such as \\n",
    "Invalid \\escape": "a valid escape; a backslash itself is written \\\\",
    "Invalid \\uXXXX escape": "four hexadecimal digits after \\u",
    "Extra data": "nothing after the end of the value",
}
"""What the standard library's parser misses, in words for whoever wrote the text."""


class NotJson(ValueError):
    """Text that is not JSON.

    Attributes:
        expected: What should have been there; holds nothing of the text but the names of duplicate keys.
        place: `line 1, column 5`, or empty where it is not known.
        found: The text around the fault, which may hold secrets; empty where the place is not known.
    """

    def __init__(self, expected: str, *, place: str = "", found: str = "") -> None:
        super().__init__(f"expected {expected}" + (f" at {place}" if place else ""))
        self.expected = expected
        self.place = place
        self.found = found


def parse_json(text: str) -> JSON:
    """Reads one JSON value.

    Integers of any size stay exact, `1.0` stays a float. Refused, though Python's parser takes them: NaN and infinities
    (also as `1e999`), duplicate keys, halves of surrogate pairs, and nesting deeper than ``values.MAX_DEPTH``.

    Raises:
        NotJson: The text is anything but one JSON value.
    """
    try:
        value = _DECODER.decode(text)
    except JSONDecodeError as error:
        raise _located(text, error) from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        if isinstance(error, NotJson):
            raise
        raise NotJson("numbers of fewer digits") from None  # Python caps the digits of an integer
    if text.count("[") + text.count("{") > MAX_DEPTH and depth_of(value) > MAX_DEPTH:
        raise _too_deep()
    if ("\\u" in text or not text.isascii()) and not _is_unicode(value):
        raise NotJson("whole characters, found half of a surrogate pair")
    return cast("JSON", value)


def _is_unicode(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def depth_of(value: object) -> int:
    """Levels of lists and objects in a value; 0 for anything else."""
    depth = 0
    level: list[object] = [value] if isinstance(value, _CONTAINERS) else []
    while level:
        depth += 1
        level = [part for outer in level for part in _parts(outer) if isinstance(part, _CONTAINERS)]
    return depth


def size_of(value: object) -> int:
    """Lists, objects and values in a value, itself included."""
    size = 0
    level = [value]
    while level:
        size += len(level)
        level = [part for outer in level if isinstance(outer, _CONTAINERS) for part in _parts(cast("object", outer))]
    return size


def _parts(value: object) -> Iterable[object]:
    return cast("dict[str, object]", value).values() if isinstance(value, dict) else cast("list[object]", value)


def _located(text: str, error: JSONDecodeError) -> NotJson:
    if not text.strip():
        return NotJson("a JSON value, found nothing")
    expected = _EXPECTED.get(error.msg.removesuffix(": "), "valid JSON")
    if text.startswith("\ufeff"):
        expected = "no byte order mark before the value"
    found = text[max(0, error.pos - _EXCERPT) : error.pos + _EXCERPT]
    return NotJson(expected, place=f"line {error.lineno}, column {error.colno}", found=found)


def _too_deep() -> NotJson:
    return NotJson(f"at most {MAX_DEPTH} levels of nesting")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise NotJson(f"each name once in an object, found `{twice[:64]}` twice")
    return result


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotJson("numbers that fit in 64 bits")
    return number


def _constant(name: str) -> NoReturn:
    raise NotJson(f"a JSON value, which {name} is not")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant)
