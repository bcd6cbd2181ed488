"""Lengths of time as people and ISO 8601 write them: `1 year 2 months`, `10 business days`, `P1M3DT2H`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

# Unit: the field of a duration it adds to, how much of it, and the names it goes by.
_UNITS = (
    ("months", 12, "y|yr|yrs|year|years"),
    ("months", 1, "mo|mos|month|months"),
    ("days", 7, "w|wk|wks|week|weeks"),
    ("days", 1, "d|day|days"),
    ("business_days", 1, "bd|business day|business days|working day|working days|weekday|weekdays"),
    ("seconds", 3600, "h|hr|hrs|hour|hours"),
    ("seconds", 60, "min|mins|minute|minutes"),
    ("seconds", 1, "s|sec|secs|second|seconds"),
)
_UNIT_OF_NAME = {name: (part, size) for part, size, names in _UNITS for name in names.split("|")}
_ISO_UNITS = ("year", "month", "week", "day", "hour", "minute", "second")
_ISO = re.compile(
    r"([+-]?)P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?",
    re.ASCII | re.IGNORECASE,
)
_WORDS = re.compile(r"([+-]?\s*\d+(?:\.\d+)?)\s*([a-z]+(?:\s+days?)?)", re.ASCII | re.IGNORECASE)
_BETWEEN = re.compile(r"(?:\s|,|\band\b)*", re.ASCII | re.IGNORECASE)
_MAX_DIGITS = 12


class BadRequest(ValueError):
    """The request makes no sense; the message tells the caller what to change."""


@dataclass(frozen=True)
class Duration:
    """A length of time: months and days are those of a calendar, seconds those of a stopwatch."""

    months: int = 0
    days: int = 0
    business_days: int = 0
    seconds: Decimal = Decimal(0)

    def __neg__(self) -> Duration:
        return Duration(-self.months, -self.days, -self.business_days, -self.seconds)

    def __str__(self) -> str:
        years, months = _split(self.months, 12)
        hours, rest = _split(self.seconds, 3600)
        minutes, seconds = _split(rest, 60)
        parts = (
            (years, "year"),
            (months, "month"),
            (self.days, "day"),
            (self.business_days, "business day"),
            (hours, "hour"),
            (minutes, "minute"),
            (seconds, "second"),
        )
        return " ".join(_counted(count, unit) for count, unit in parts if count) or "0 days"

    @property
    def elapsed(self) -> timedelta:
        """The part that a stopwatch measures."""
        return timedelta(microseconds=int(self.seconds * 1_000_000))


def parse_duration(text: str) -> Duration:
    """The length of time that the text says.

    Raises:
        BadRequest: It says none, or one that nobody could carry out.
    """
    if match := _ISO.fullmatch(text.strip()):
        sign, *counts = match.groups()
        parts = [(sign + count, unit) for count, unit in zip(counts, _ISO_UNITS, strict=True) if count]
    else:
        parts = _word_parts(text)
    if not parts:
        raise BadRequest(f"{text!r} is no duration; write '1 month 3 days', '10 business days', '90 min' or P1M3D")
    total: dict[str, Decimal] = {}
    for count, unit in parts:
        part, size = _part_of(unit)
        if len(count) > _MAX_DIGITS:
            raise BadRequest(f"{count[:_MAX_DIGITS]}… is too large a number")
        amount = Decimal(count) * size
        if part != "seconds" and amount != int(amount):
            raise BadRequest(
                f"'{count} {unit}' is no whole number of days or months; only hours and less may have a fraction"
            )
        total[part] = total.get(part, Decimal(0)) + amount
    return Duration(
        months=int(total.get("months", 0)),
        days=int(total.get("days", 0)),
        business_days=int(total.get("business_days", 0)),
        seconds=total.get("seconds", Decimal(0)),
    )


def _word_parts(text: str) -> list[tuple[str, str]]:
    parts: list[tuple[str, str]] = []
    place = _skip(text, 0)
    while place < len(text):
        match = _WORDS.match(text, place)
        if not match:
            return []
        parts.append(("".join(match[1].split()), " ".join(match[2].lower().split())))
        place = _skip(text, match.end())
    return parts


def _skip(text: str, place: int) -> int:
    match = _BETWEEN.match(text, place)
    return match.end() if match else place


def _part_of(unit: str) -> tuple[str, int]:
    if unit == "m":
        raise BadRequest("'m' may mean months or minutes; write 'months' or 'min'")
    if unit not in _UNIT_OF_NAME:
        raise BadRequest(
            f"unknown unit {unit!r}; known are years, months, weeks, days, business days, hours, min, seconds"
        )
    return _UNIT_OF_NAME[unit]


def _counted(count: int | Decimal, unit: str) -> str:
    shown = f"{Decimal(count).normalize():f}"
    return f"{shown} {unit}" if abs(count) == 1 else f"{shown} {unit}s"


def _split(count: int | Decimal, size: int) -> tuple[int | Decimal, int | Decimal]:
    """A count in a larger unit and the rest, both with the sign of the count."""
    sign = -1 if count < 0 else 1
    large, rest = divmod(abs(count), size)
    return sign * int(large), sign * rest
