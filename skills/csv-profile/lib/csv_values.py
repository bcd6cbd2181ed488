"""What one cell of a CSV file is: a number, a date, a digit code, a boolean or text."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any

BOOLEAN, INTEGER, DECIMAL, DATE, DATETIME, TEXT = "boolean", "integer", "decimal", "date", "datetime", "text"
# Values that need a person's word: which number, which month; and digits that a number would spoil.
SEPARATED, SLASH_DATE, CODE = "number with separators", "day/month date", "digit code"

NUMBER_STYLES = {
    "plain": None,
    "decimal-comma": re.compile(r"([+-]?)(\d{1,3}(?:[.' \u00a0\u202f]\d{3})+|\d+)(?:,(\d+))?", re.ASCII),
    "grouped": re.compile(r"([+-]?)(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?", re.ASCII),
}
"""How numbers are written, with sign, whole part and fraction as groups: 1234.5, then 1.234,5, then 1,234.5."""

_BOOLEANS = frozenset({"true", "false", "yes", "no"})
# A leading zero or more than 18 digits makes an identifier.
_INTEGER = re.compile(r"[+-]?(?:0|[1-9]\d{0,17})", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?:(?:0|[1-9]\d{0,17})(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_CODE = re.compile(r"\d+", re.ASCII)
_SEPARATED = re.compile(r"[+-]?\d[\d.' \u00a0\u202f]*,\d[\d,]*(?:\.\d+)?", re.ASCII)
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_ISO_DATETIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII)
_OTHER_DATE = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})", re.ASCII)
_LONGEST = 60

Classify = Callable[[str], tuple[str, Any]]
"""From a value without surrounding spaces, not missing, to its kind and what it is worth.

The worth is an int or Decimal for numbers, an aware datetime for ISO dates and datetimes (naive ones count as UTC), for
day/month dates a mapping from `day first` or `month first` to the date that would be meant, else None.
"""


def classifier(style: str) -> Classify:
    """The classification for one style of numbers, with a bounded memory for values that come again and again."""
    remembered = lru_cache(maxsize=1 << 15)(partial(_classify, style=style))
    return lambda text: remembered(text) if len(text) <= _LONGEST else (TEXT, None)


def _classify(text: str, style: str) -> tuple[str, Any]:
    if text.casefold() in _BOOLEANS:
        return BOOLEAN, None
    number = _without_separators(text, style)
    if _INTEGER.fullmatch(number):
        return INTEGER, int(number)
    if _DECIMAL.fullmatch(number):
        return DECIMAL, Decimal(number)
    if _CODE.fullmatch(number):
        return CODE, None
    if _SEPARATED.fullmatch(text):
        return SEPARATED, None
    return _classify_date(text)


def _without_separators(text: str, style: str) -> str:
    pattern = NUMBER_STYLES[style]
    match = pattern.fullmatch(text) if pattern else None
    if not match:
        return text
    sign, whole, fraction = match.groups()
    return sign + re.sub(r"\D", "", whole) + (f".{fraction}" if fraction else "")


def _classify_date(text: str) -> tuple[str, Any]:
    try:
        if _ISO_DATE.fullmatch(text):
            return DATE, datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC)
        if _ISO_DATETIME.fullmatch(text):
            moment = datetime.fromisoformat(text)
            return DATETIME, moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    except ValueError:  # the thirteenth month, the 31st of June
        return TEXT, None
    if match := _OTHER_DATE.fullmatch(text):
        meant = _dates_meant(int(match[1]), int(match[3]), int(match[4]))
        if match[2] == ".":  # with dots, the day always comes first
            meant.pop("month first", None)
        return (SLASH_DATE, meant) if meant else (TEXT, None)
    return TEXT, None


def _dates_meant(first: int, second: int, year: int) -> dict[str, date]:
    found: dict[str, date] = {}
    for order, month, day in (("day first", second, first), ("month first", first, second)):
        try:
            found[order] = date(year, month, day)
        except ValueError:
            continue
    return found
