"""Days of the calendar: months added to dates, differences, business days."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, date, timedelta

from date_durations import BadRequest, Duration

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MAX_STEPS = 100_000


@dataclass(frozen=True)
class Workweek:
    """Which days are business days."""

    weekend: frozenset[int] = frozenset({5, 6})
    """Days of the week without business, Monday being 0."""
    holidays: frozenset[date] = frozenset()

    def __contains__(self, day: date) -> bool:
        return day.weekday() not in self.weekend and day not in self.holidays

    def count(self, first: date, last: date) -> int:
        """The business days from the first to the last day, both counted."""
        weeks, rest = divmod((last - first).days + 1, 7)
        over = sum((first.weekday() + i) % 7 not in self.weekend for i in range(rest))
        free = sum(first <= day <= last and day.weekday() not in self.weekend for day in self.holidays)
        return weeks * (7 - len(self.weekend)) + over - free

    def add(self, day: date, count: int) -> date:
        """The business day that comes so many after the day, or before it if the count is negative.

        Raises:
            BadRequest: The count is beyond use.
            OverflowError: The result is outside the years 1 to 9999.
        """
        if abs(count) > _MAX_STEPS:
            raise BadRequest(f"{count} business days are too many (at most {_MAX_STEPS})")
        step = timedelta(days=1 if count > 0 else -1)
        for _ in range(abs(count)):
            day += step
            while day not in self:
                day += step
        return day


def add_months(day: date, months: int) -> tuple[date, str | None]:
    """The same day so many months later, or the last of that month where it has no such day, and a note if so.

    Raises:
        OverflowError: The result is outside the years 1 to 9999.
    """
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not MINYEAR <= year <= MAXYEAR:
        raise OverflowError
    last = monthrange(year, month + 1)[1]
    if day.day <= last:
        return day.replace(year=year, month=month + 1), None
    missing = f"{year:04}-{month + 1:02}-{day.day:02}"
    return date(year, month + 1, last), f"{missing} does not exist; the last day of the month was taken"


def calendar_difference(first: date, last: date) -> Duration:
    """The most whole months that fit between two days in order, then days: `add` gives the last day back."""
    months = (last.year - first.year) * 12 + last.month - first.month
    if add_months(first, months)[0] > last:
        months -= 1
    return Duration(months=months, days=(last - add_months(first, months)[0]).days)


def parse_weekend(text: str) -> frozenset[int]:
    """The days of the week named by their first three letters at least, such as `fri,sat`; `none` for no weekend.

    Raises:
        BadRequest: A name is none of a day, or no day is left for business.
    """
    names = [] if text == "none" else [name.strip().lower() for name in text.split(",")]
    days: set[int] = set()
    for name in names:
        found = [i for i, day in enumerate(WEEKDAYS) if len(name) > 2 and day.lower().startswith(name)]
        if not found:
            raise BadRequest(f"{name!r} is no day of the week; write --weekend=sat,sun")
        days.update(found)
    if len(days) == len(WEEKDAYS):
        raise BadRequest("a weekend of seven days leaves no business day")
    return frozenset(days)
