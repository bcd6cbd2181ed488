"""Any Python value to a JSON value: the one place where that is decided."""

from __future__ import annotations

import base64
import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, cast
from uuid import UUID

JSON = None | bool | int | float | str | list["JSON"] | dict[str, "JSON"]

MAX_DEPTH = 100
"""Deepest nesting that is reduced; a deeper value is refused rather than recursed into."""

MAX_NODES = 1_000_000
"""Most values in a value, itself included: about a second's work."""

MAX_DIGITS = 4300
"""Most digits of an integer: more are neither written nor read by Python itself (CVE-2020-10735)."""

_TOO_LONG = 10**MAX_DIGITS
_PLAIN = frozenset({type(None), bool, int, float, str})
_SURROGATE = re.compile("[\ud800-\udfff]")
_Path = tuple["_Path", str] | None
"""A place in a value: what is above it and the step from there, put into words only where something is wrong."""


class Irreducible(ValueError):
    """A value that has no JSON form.

    Attributes:
        path: Where in the value, as ``$.a[0]``.
        reason: Why, without the value itself.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


def clean_text(text: str) -> str:
    """A text that UTF-8 can write: each lone surrogate becomes U+FFFD, the mark of what could not be read.

    Such text comes out of file names that are not UTF-8, terminals, and JSON with half an escaped pair (RFC 8259,
    section 8.2). It would fail wherever it is stored, sent or shown, so it is mended where it comes in.
    """
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def to_json(value: object) -> JSON:
    """Reduces a value to JSON; what is JSON already comes back equal.

    Dates become ISO 8601, decimals and UUIDs their text, bytes base64, enumerations their value, sets sorted lists,
    dataclasses and Pydantic models objects. Texts and keys are cleaned as ``clean_text`` does.

    Args:
        value: Anything.

    Raises:
        Irreducible: The value, or something in it, has no JSON form: NaN, a key that is not text, an integer of more
            than ``MAX_DIGITS`` digits, an unknown type; or it is deeper than ``MAX_DEPTH`` or has more than
            ``MAX_NODES`` values.
    """
    return _Reduction().reduce(value, None, 0)


class _Reduction:
    """One value on its way to JSON."""

    def __init__(self) -> None:
        self._nodes = 0

    def reduce(self, value: Any, path: _Path, depth: int) -> JSON:
        if depth > MAX_DEPTH:
            raise _irreducible(path, f"nested deeper than {MAX_DEPTH} levels, or a cycle")
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise _irreducible(path, f"more than {MAX_NODES} values")
        if type(value) in _PLAIN:  # most values; what inherits from these may be an enumeration
            return _scalar(value, path)
        if isinstance(value, Enum):
            return self.reduce(value.value, path, depth + 1)
        if isinstance(value, Mapping):
            return self._mapping(cast("Mapping[Any, Any]", value), path, depth)
        if isinstance(value, list | tuple):
            elements = enumerate(cast("Sequence[Any]", value))
            return [self.reduce(item, (path, f"[{index}]"), depth + 1) for index, item in elements]
        if isinstance(value, set | frozenset):
            members = sorted(cast("AbstractSet[Any]", value), key=repr)
            return [self.reduce(item, (path, "[]"), depth + 1) for item in members]
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
            return self.reduce(fields, path, depth + 1)
        dump = getattr(value, "model_dump", None)
        if callable(dump) and not isinstance(value, type):
            return self.reduce(dump(mode="json"), path, depth + 1)
        return _scalar(value, path)

    def _mapping(self, value: Mapping[Any, Any], path: _Path, depth: int) -> dict[str, JSON]:
        reduced: dict[str, JSON] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise _irreducible(path, f"a key of type {type(key).__name__} is not text")
            name = clean_text(key)
            if name in reduced:
                raise _irreducible(path, "two keys differ in nothing but lone surrogates")
            reduced[name] = self.reduce(item, (path, f".{name}"), depth + 1)
        return reduced


def _scalar(value: Any, path: _Path) -> JSON:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, int):
        if abs(value) >= _TOO_LONG:
            raise _irreducible(path, f"an integer of more than {MAX_DIGITS} digits")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _irreducible(path, f"{value} is not a JSON number")
        return value
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal | UUID | PurePath):
        return clean_text(str(value))
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(cast("bytes", value))).decode("ascii")
    raise _irreducible(path, f"a {type(value).__name__} has no JSON form")


def _irreducible(path: _Path, reason: str) -> Irreducible:
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(step)
    return Irreducible("$" + "".join(reversed(steps)), reason)
