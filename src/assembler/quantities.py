"""Durations and sizes as people write them: `5m`, `64MiB`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema
from pydantic_core import PydanticCustomError

_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_BYTES = {
    "": 1,
    "B": 1,
    **{f"{letter}B": 1000**power for power, letter in enumerate("kMGT", 1)},
    **{f"{letter}iB": 1024**power for power, letter in enumerate("KMGT", 1)},
    "KB": 1000,
}

MAX_SIZE = 2**63 - 1
"""What the system itself can count."""

_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[smhd])")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")


def parse_duration(value: Any) -> Any:
    """`90`, `1.5s`, `250ms`, `5m`, `1h30m`: a bare number counts seconds."""
    try:
        seconds = _seconds(value)
        duration = timedelta(seconds=seconds)
    except PydanticCustomError:
        raise  # it is a ValueError too
    except (OverflowError, ValueError):
        raise PydanticCustomError("duration", "Input should be a duration of at most 999999999 days") from None
    if duration < timedelta(0):
        raise PydanticCustomError("duration", "Input should be a duration of zero or more")
    return duration


def _seconds(value: Any) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number or (isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?", value.strip())):
        return float(value)
    if isinstance(value, str) and re.fullmatch(rf"(\s*{_PART.pattern})+\s*", value):
        return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(value))
    raise PydanticCustomError("duration", "Input should be a duration such as `30s`, `5m`, `1h30m` or seconds")


def parse_size(value: Any) -> Any:
    """`65536`, `64KiB`, `1.5MB`: a bare number counts bytes; kB, MB, GB, TB are powers of 1000."""
    if isinstance(value, int) and not isinstance(value, bool):
        size = value
    else:
        found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
        if found is None or found[2] not in _BYTES:
            raise PydanticCustomError("size", "Input should be a size such as `64KiB`, `1.5MB` or bytes")
        try:
            size = int(float(found[1]) * _BYTES[found[2]])
        except OverflowError:
            size = MAX_SIZE + 1
    if not 0 <= size <= MAX_SIZE:
        raise PydanticCustomError("size", "Input should be a size from 0 to 9223372036854775807 bytes")
    return size


def _write_duration(value: timedelta) -> str:
    return f"{value.total_seconds():.6f}".rstrip("0").rstrip(".") + "s"


Duration = Annotated[
    timedelta,
    BeforeValidator(parse_duration),
    PlainSerializer(_write_duration, return_type=str),
    WithJsonSchema({"type": ["string", "number"], "examples": ["30s", "5m"]}),
]
"""A length of time; a bare number counts seconds."""

Size = Annotated[
    int,
    Field(ge=0, le=MAX_SIZE),
    BeforeValidator(parse_size),
    WithJsonSchema({"type": ["string", "integer"], "examples": ["64KiB", 65536]}),
]
"""A number of bytes."""
