"""What is known of one column of a CSV file after its cells have passed by, in bounded memory."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any

from csv_values import (
    BOOLEAN,
    CODE,
    DATE,
    DATETIME,
    DECIMAL,
    INTEGER,
    SEPARATED,
    SLASH_DATE,
    TEXT,
    Classify,
)

EMPTY, MIXED = "empty", "mixed"
LONGEST_COUNTED = 80


@dataclass
class Extremes:
    """The least and the greatest of the values that passed by, each with its text."""

    low: tuple[Any, str] | None = None
    high: tuple[Any, str] | None = None

    def add(self, worth: Any, text: str) -> None:
        """Takes one more value."""
        if self.low is None or worth < self.low[0]:
            self.low = (worth, text)
        if self.high is None or worth > self.high[0]:
            self.high = (worth, text)


@dataclass
class Column:
    """Counts and statistics of one column."""

    name: str
    index: int
    max_numbers: int
    """How many numbers are kept; above that, quantiles are those of a random sample of so many."""
    max_distinct: int
    """How many distinct values are counted; those that first come later are not."""
    missing: int = 0
    markers: Counter[str] = field(default_factory=Counter)
    padded: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    first_of_kind: dict[str, tuple[str, int]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    distinct_capped: bool = False
    numbers: list[int | Decimal] = field(default_factory=list)
    number_count: int = 0
    number_sum: int | Decimal = 0
    number_range: Extremes = field(default_factory=Extremes)
    iso_range: Extremes = field(default_factory=Extremes)
    order_counts: Counter[str] = field(default_factory=Counter)
    order_ranges: dict[str, Extremes] = field(default_factory=dict)
    # A fixed seed, since the same file shall give the same profile.
    chance: random.Random = field(default_factory=partial(random.Random, 0))

    def add(self, cell: str, line: int, classify: Classify, markers: frozenset[str]) -> None:
        """Takes one more cell, which ends on this line of the file."""
        text = cell.strip()
        if not text or text in markers:
            self.missing += 1
            if text:
                self.markers[text] += 1
            return
        if len(text) != len(cell):
            self.padded += 1
        self._count(text)
        kind, worth = classify(text)
        self.kinds[kind] += 1
        if kind not in self.first_of_kind:
            self.first_of_kind[kind] = (text, line)
        if kind in (INTEGER, DECIMAL):
            self._add_number(worth, text)
        elif kind == SLASH_DATE:
            self._add_day_month(worth, text)
        elif worth is not None:
            self.iso_range.add(worth, text)

    def _count(self, text: str) -> None:
        if len(text) > LONGEST_COUNTED:  # the start for people, a digest to tell it from others that start alike
            digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
            text = text[:LONGEST_COUNTED] + digest.hexdigest()
        if text in self.counts:
            self.counts[text] += 1
        elif len(self.counts) < self.max_distinct:
            self.counts[text] = 1
        else:
            self.distinct_capped = True

    def _add_number(self, number: int | Decimal, text: str) -> None:
        self.number_range.add(number, text)
        self.number_sum += number
        self.number_count += 1
        if len(self.numbers) < self.max_numbers:
            self.numbers.append(number)
        elif (place := int(self.chance.random() * self.number_count)) < self.max_numbers:
            self.numbers[place] = number  # Vitter's algorithm R: every number stays with the same chance

    def _add_day_month(self, meant: dict[str, date], text: str) -> None:
        for order, day in meant.items():
            self.order_counts[order] += 1
            self.order_ranges.setdefault(order, Extremes()).add(day, text)

    @property
    def present(self) -> int:
        """How many cells are not missing."""
        return self.kinds.total()

    @property
    def date_orders(self) -> list[str]:
        """The orders of day and month in which every day/month date of the column exists."""
        return [order for order, count in self.order_counts.items() if count == self.kinds[SLASH_DATE]]

    @property
    def type(self) -> str:
        """The one word for the column."""
        kinds = set(self.kinds)
        looks_numeric = self.kinds[SEPARATED] * 2 >= self.present and kinds <= {INTEGER, DECIMAL, CODE, SEPARATED}
        rules = {
            EMPTY: not kinds,
            BOOLEAN: kinds == {BOOLEAN},
            INTEGER: kinds == {INTEGER},
            DECIMAL: kinds <= {INTEGER, DECIMAL},
            DATE: kinds == {DATE} or (kinds == {SLASH_DATE} and bool(self.date_orders)),
            DATETIME: kinds <= {DATE, DATETIME},
            TEXT: kinds <= {TEXT, BOOLEAN, CODE, SEPARATED} or kinds <= {INTEGER, CODE} or looks_numeric,
        }
        return next((name for name, holds in rules.items() if holds), MIXED)

    @property
    def extremes(self) -> Extremes:
        """The range of the column's numbers or dates; empty where there is no single order."""
        kind = self.type
        if kind in (INTEGER, DECIMAL, MIXED):
            return self.number_range
        if SLASH_DATE in self.kinds:
            return self.order_ranges[self.date_orders[0]] if len(self.date_orders) == 1 else Extremes()
        return self.iso_range if kind in (DATE, DATETIME) else Extremes()

    @property
    def mean(self) -> Decimal | None:
        """The mean of all numbers of a numeric or mixed column."""
        return Decimal(self.number_sum) / self.number_count if self.has_statistics else None

    @property
    def has_statistics(self) -> bool:
        """Whether the column's numbers are meant as such, which those among digit codes are not."""
        return self.number_count > 0 and self.type in (INTEGER, DECIMAL, MIXED)

    def quantiles(self, *shares: Decimal) -> list[Decimal]:
        """Quantiles of the numbers kept, with linear interpolation between neighbours (Hyndman and Fan, type 7)."""
        if not self.has_statistics:
            return []
        ordered = sorted(self.numbers)
        found: list[Decimal] = []
        for share in shares:
            place = share * (len(ordered) - 1)
            low = int(place)
            high = min(low + 1, len(ordered) - 1)
            found.append(ordered[low] + (place - low) * (ordered[high] - ordered[low]))
        return found
