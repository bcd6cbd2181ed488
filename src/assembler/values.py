"""Any Python value to a JSON value: the one place where that is decided."""

from __future__ import annotations

import base64
import dataclasses
import math
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


def to_json(value: object) -> JSON:
    """Reduces a value to JSON; what is JSON already comes back equal.

    Dates become ISO 8601, decimals and UUIDs their text, bytes base64, enumerations their value, sets sorted lists,
    dataclasses and Pydantic models objects.

    Args:
        value: Anything.

    Raises:
        Irreducible: The value, or something in it, has no JSON form: NaN, a key that is not text, an unknown type.
    """
    return _reduce(value, "$", 0)


def _reduce(value: Any, path: str, depth: int) -> JSON:
    if depth > MAX_DEPTH:
        raise Irreducible(path, f"nested deeper than {MAX_DEPTH} levels, or a cycle")
    if isinstance(value, Enum):
        return _reduce(value.value, path, depth + 1)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Irreducible(path, f"{value} is not a JSON number")
        return value
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {_key(key, path): _reduce(item, f"{path}.{key}", depth + 1) for key, item in items}
    if isinstance(value, list | tuple):
        elements = enumerate(cast("Sequence[Any]", value))
        return [_reduce(item, f"{path}[{index}]", depth + 1) for index, item in elements]
    if isinstance(value, set | frozenset):
        members = sorted(cast("AbstractSet[Any]", value), key=repr)
        return [_reduce(item, f"{path}[]", depth + 1) for item in members]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal | UUID | PurePath):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(cast("bytes", value))).decode("ascii")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return _reduce(fields, path, depth + 1)
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return _reduce(dump(mode="json"), path, depth + 1)
    raise Irreducible(path, f"a {type(value).__name__} has no JSON form")


def _key(key: object, path: str) -> str:
    if isinstance(key, str):
        return key
    raise Irreducible(path, f"a key of type {type(key).__name__} is not text")
