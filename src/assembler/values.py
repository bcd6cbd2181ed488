"""Any Python value to a JSON value: the one place where that is decided."""

from __future__ import annotations

import base64
import dataclasses
import json
import math
import re
from collections.abc import Iterable, Mapping, MappingView, Sequence
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
_SCALARS = (
    str,
    int,
    float,
    bytes,
    bytearray,
    memoryview,
    date,
    time,
    timedelta,
    Decimal,
    UUID,
    PurePath,
    BaseException,
)
_MCP = frozenset({"mcp", "mcp_types"})
"""Packages that define what MCP sends: known by name, so that nothing imports them for this."""

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

    Dates become ISO 8601, durations seconds, decimals, UUIDs and paths their text, bytes base64, enumerations their
    value, sets sorted lists, other sequences and arrays (what has ``tolist``) lists, mappings, dataclasses and Pydantic
    models objects, and an exception the last line of its traceback. What MCP's own package defines becomes what MCP
    sends: names as there, and what is None left out. Texts and keys are cleaned as ``clean_text`` does.

    Code of the value's own may run, such as its properties; whatever that raises, but for KeyboardInterrupt, is a
    reason why the value has no JSON form.

    Args:
        value: Anything.

    Raises:
        Irreducible: The value, or something in it, has no JSON form: NaN, a key that is not text, an integer of more
            than ``MAX_DIGITS`` digits, an iterator, an unknown type; or it is deeper than ``MAX_DEPTH`` or has more
            than ``MAX_NODES`` values.
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
        kind = cast("type[object]", type(value))
        if kind in _PLAIN:  # most values; what inherits from these may be an enumeration
            return _scalar(value, path)
        if kind is dict:
            return self._mapping(value, path, depth)
        if kind is list:
            return self._list(value, path, depth)
        try:
            return self._other(value, path, depth)
        except (Irreducible, KeyboardInterrupt):
            raise
        # Nothing here waits for anything, so whatever else is raised, CancelledError and SystemExit too, the value did.
        except BaseException as error:
            raise _irreducible(path, f"reading the `{kind.__name__}` raised {type(error).__name__}") from error

    def _mapping(self, value: Mapping[Any, Any], path: _Path, depth: int) -> dict[str, JSON]:
        reduced: dict[str, JSON] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise _irreducible(path, f"a key of type {type(key).__name__} is not text")
            name = clean_text(str.__str__(key))
            if name in reduced:
                raise _irreducible(path, "two keys differ in nothing but lone surrogates")
            reduced[name] = self.reduce(item, (path, f".{name}"), depth + 1)
        return reduced

    def _list(self, value: Iterable[Any], path: _Path, depth: int) -> list[JSON]:
        return [self.reduce(item, (path, f"[{index}]"), depth + 1) for index, item in enumerate(value)]

    def _other(self, value: Any, path: _Path, depth: int) -> JSON:
        """A value that is not of JSON's own types, so that reading it may run code of others."""
        if isinstance(value, Enum):
            return self.reduce(value.value, path, depth + 1)
        if isinstance(value, Mapping):
            return self._mapping(cast("Mapping[Any, Any]", value), path, depth)
        if isinstance(value, _SCALARS):
            return _scalar(value, path)
        if isinstance(value, Sequence | MappingView):
            return self._list(cast("Iterable[Any]", value), path, depth)
        if isinstance(value, AbstractSet):
            members = cast("AbstractSet[Any]", value)
            return sorted((self.reduce(item, (path, "[]"), depth + 1) for item in members), key=_order)
        if isinstance(value, type):
            raise _irreducible(path, "a class has no JSON form")
        if dataclasses.is_dataclass(value):
            fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
            return self._mapping(fields, path, depth)
        if callable(getattr(value, "model_dump", None)):
            return self.reduce(_dumped(value), path, depth + 1)
        if callable(getattr(value, "tolist", None)):
            return self.reduce(value.tolist(), path, depth + 1)
        raise _irreducible(path, f"the type `{type(value).__name__}` has no JSON form")


def _scalar(value: Any, path: _Path) -> JSON:
    """A value that is no container, of JSON's types themselves where it inherits from one of them."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return clean_text(str.__str__(value))
    if isinstance(value, int):
        whole = int.__int__(value)
        if abs(whole) >= _TOO_LONG:
            raise _irreducible(path, f"an integer of more than {MAX_DIGITS} digits")
        return whole
    if isinstance(value, float):
        number = float.__float__(value)
        if not math.isfinite(number):
            raise _irreducible(path, f"{number} is not a JSON number")
        return number
    if isinstance(value, datetime | date | time):
        return clean_text(value.isoformat())
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(cast("bytes", value))).decode("ascii")
    text = str(value)
    if isinstance(value, BaseException):
        text = f"{type(value).__name__}: {text}" if text else type(value).__name__
    return clean_text(text)


def _order(member: JSON) -> tuple[float, str]:
    """Where a set's member stands: numbers first, and always the same order, whatever its members are."""
    return member if isinstance(member, int | float) else math.inf, json.dumps(member, sort_keys=True)


def _dumped(model: Any) -> object:
    """What a Pydantic model says of itself; one of MCP's, as that protocol says it, which knows no null."""
    if any(base.__module__.partition(".")[0] in _MCP for base in type(model).__mro__):
        return model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return model.model_dump(mode="json")


def _irreducible(path: _Path, reason: str) -> Irreducible:
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(step)
    return Irreducible("$" + "".join(reversed(steps)), reason)
