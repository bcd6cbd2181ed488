"""A profile as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any

from csv_columns import MIXED, Column
from csv_records import DELIMITERS, Layout
from csv_values import BOOLEAN, CODE, DATE, SEPARATED, SLASH_DATE, TEXT

LONGEST_SHOWN, LONGEST_NAME, LONGEST_PATH = 40, 80, 200
PLAIN_DIGITS = 18
COUNTED_TYPES = (TEXT, BOOLEAN, MIXED)
"""The types whose frequent values are shown, since statistics say little."""
QUARTILES = (Decimal("0.25"), Decimal("0.5"), Decimal("0.75"))


@dataclass
class Profile:
    """What is known of one file."""

    name: str
    size: int
    """In bytes."""
    layout: Layout
    header: list[str]
    """The header as it stands in the file; empty where there is none."""
    names: list[str]
    """Of all columns, each once."""
    columns: list[Column] = field(default_factory=list)
    """Those that were profiled."""
    rows: int = 0
    blank_lines: int = 0
    short_rows: int = 0
    first_short: int = 0
    long_rows: int = 0
    first_long: int = 0
    multiline: int = 0
    unclosed: int | None = None


def render(profile: Profile, top: int) -> str:
    """The profile as Markdown, with so many frequent values a column."""
    return "\n".join([*summary(profile), *table(profile), *frequent(profile.columns, top), *notes(profile)])


def shown(text: str, limit: int = LONGEST_SHOWN) -> str:
    """A text from the file in one line of Markdown: shortened, escaped, control characters made visible."""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    visible = "".join(c if c.isprintable() else _picture(c) for c in text)
    return re.sub(r"([\\`*<|\[\]])", r"\\\1", visible)


def _picture(unprintable: str) -> str:
    if unprintable < " ":
        return chr(0x2400 + ord(unprintable))  # ␊ for a line feed
    return " " if unprintable.isspace() else "\ufffd"


def number(value: Decimal) -> str:
    """A number computed from the data: six significant digits, or two after the point, without idle zeros."""
    digits = max(6, value.adjusted() + 3) if value.adjusted() < PLAIN_DIGITS else 6
    return plain(value.normalize(Context(prec=digits)))


def plain(value: int | Decimal) -> str:
    """A number with all its digits, in scientific notation only where zeros would fill the line."""
    exact = Decimal(value)
    return f"{exact:f}" if -7 < exact.adjusted() < PLAIN_DIGITS else f"{exact:e}"


def share(part: int, whole: int) -> str:
    """A count with its percentage."""
    return f"{part} ({100 * part / whole:.1f} %)" if part else "0"


def summary(profile: Profile) -> Iterator[str]:
    """What the file is, and how it was read."""
    layout = profile.layout
    delimiter = next((name for name, sign in DELIMITERS.items() if sign == layout.delimiter), repr(layout.delimiter))
    yield f"# Profile of {shown(profile.name, LONGEST_PATH)}"
    yield ""
    if not layout.width:
        yield f"The file has no records ({profile.size} bytes, {layout.encoding_told})."
        return
    yield f"- Rows: {profile.rows}"
    yield f"- Columns: {layout.width}"
    yield f"- Size: {profile.size} bytes"
    yield f"- Encoding: {layout.encoding_told}"
    yield f"- Delimiter: {delimiter} ({layout.delimiter_told})"
    yield f"- Header: {layout.header_told}"


def table(profile: Profile) -> Iterator[str]:
    """One line a column."""
    if not profile.columns:
        return
    yield ""
    yield "| Column | Type | Missing | Distinct | Min | 25 % | 50 % | 75 % | Max | Mean |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for column in profile.columns:
        low, high = (end(limit) for limit in (column.extremes.low, column.extremes.high))
        quartiles = [number(value) for value in column.quantiles(*QUARTILES)] or [""] * len(QUARTILES)
        mean = "" if column.mean is None else number(column.mean)
        distinct = f"more than {len(column.counts)}" if column.distinct_capped else str(len(column.counts))
        cells = [
            shown(column.name, LONGEST_NAME),
            column.type,
            share(column.missing, profile.rows),
            distinct,
            low,
            *quartiles,
            high,
            mean,
        ]
        yield f"| {' | '.join(cells)} |"


def end(limit: tuple[Any, str] | None) -> str:
    """One end of a range: a number as a number, whatever its separators were; a date as it stands in the file."""
    if limit is None:
        return ""
    worth, text = limit
    return plain(worth) if isinstance(worth, int | Decimal) else shown(text)


def frequent(columns: list[Column], top: int) -> Iterator[str]:
    """The most frequent values, where they tell something."""
    telling = [column for column in columns if column.type in COUNTED_TYPES]
    if not telling or not top:
        return
    yield ""
    yield "## Most frequent values"
    yield ""
    for column in telling:
        # By count, then by value, so that equal counts do not depend on the order of the rows.
        ranked = sorted(column.counts.items(), key=lambda item: (-item[1], item[0]))[:top]
        values = ", ".join(f'"{shown(text)}" {share(times, column.present)}' for text, times in ranked)
        alone = " (no value repeats)" if ranked[0][1] == 1 and not column.distinct_capped else ""
        yield f"- {shown(column.name, LONGEST_NAME)}: {values}{alone}"


def notes(profile: Profile) -> Iterator[str]:
    """All that a reader would otherwise take for granted wrongly."""
    found = [*row_notes(profile), *name_notes(profile)]
    found += [
        f"{shown(column.name, LONGEST_NAME)}: {note}" for column in profile.columns for note in column_notes(column)
    ]
    if found:
        yield from ("", "## Notes", "")
        yield from (f"- {note}" for note in found)


def row_notes(profile: Profile) -> Iterator[str]:
    """What is odd about the rows."""
    if profile.unclosed:
        yield f"A quote opened in line {profile.unclosed} is never closed: the rest of the file became one row."
    if profile.short_rows:
        yield f"Rows too short: {profile.short_rows}, the first in line {profile.first_short}; what lacks is missing."
    if profile.long_rows:
        yield f"Rows too long: {profile.long_rows}, the first in line {profile.first_long}; what is over is left out."
    if profile.multiline:
        yield f"Records with line breaks inside quotes: {profile.multiline}."
    if profile.blank_lines:
        yield f"Blank lines, not counted as rows: {profile.blank_lines}."


def name_notes(profile: Profile) -> Iterator[str]:
    """What is odd about the header, and which columns are left out."""
    header = [name.strip() for name in profile.header]
    if header and len(header) < len(profile.names):
        yield f"The header names {len(header)} columns, most rows have {len(profile.names)}."
    if twice := sorted({name for name in header if name and header.count(name) > 1}):
        yield f"Names that occur more than once are told apart by a number: {', '.join(map(shown, twice))}."
    if "" in header:
        yield f"Columns without a name are called column_N: {header.count('')}."
    if len(profile.columns) < len(profile.names):
        yield f"{len(profile.columns)} of {len(profile.names)} columns are profiled; ask for others with --column=NAME."


def column_notes(column: Column) -> Iterator[str]:
    """What a reader has to know of a column."""
    kinds, present = column.kinds, column.present
    if column.markers:
        told = ", ".join(f'"{marker}" {times}' for marker, times in column.markers.most_common())
        yield f"counted as missing: {told}."
    if column.type == MIXED:
        parts = ", ".join(f"{times} {kind}" for kind, times in kinds.most_common())
        rarest = min(kinds, key=lambda kind: kinds[kind])
        text, line = column.first_of_kind[rarest]
        yield f'mixed: {parts} (the first {rarest}: "{shown(text)}" in line {line}).'
        if column.has_statistics and column.number_count < present:
            yield f"statistics are those of its numbers ({column.number_count})."
    if column.type == TEXT and kinds[CODE]:
        yield "digits with leading zeros, or more than 18 of them, are kept as text: identifiers, not numbers."
    if kinds[SEPARATED]:
        text = shown(column.first_of_kind[SEPARATED][0])
        yield (
            f'values like "{text}" ({kinds[SEPARATED]}) count as text: a decimal comma or thousands separators? Not '
            "guessed: repeat with --numbers=decimal-comma or --numbers=grouped."
        )
    if column.type == DATE and kinds[SLASH_DATE]:
        orders = column.date_orders
        yield (
            f"dates read {orders[0]}."
            if len(orders) == 1
            else "day and month cannot be told apart, so no range is given."
        )
    if column.padded:
        yield f"spaces around values are ignored ({column.padded})."
    if column.has_statistics and column.number_count > len(column.numbers):
        yield f"quantiles are those of a random sample of {len(column.numbers)} of {column.number_count} numbers."
    if column.distinct_capped and column.type in COUNTED_TYPES:
        yield f"frequent values are those among the first {len(column.counts)} distinct ones."
