"""The date calculator's script: what it answers, what it refuses, and that its sums agree with counting one by one."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from types import ModuleType
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

SCRIPT = "date-math", "scripts/date_math.py"
RunScript = Callable[..., Any]
NO_HOLIDAYS = "note: no holidays were given, so only weekends are left out"
NO_ZONE = "note: without a time zone, changes of clocks are not considered"


@pytest.fixture(scope="session")
def calculator(load_module: Callable[[str], ModuleType]) -> ModuleType:
    return load_module("date-math/scripts/date_math.py")


ANSWERS = [
    (["add", "2026-01-05", "3 days"], ["2026-01-05 + 3 days = 2026-01-08 (Thursday)"]),
    (["add", "2026-01-05", "3", "days"], ["2026-01-05 + 3 days = 2026-01-08 (Thursday)"]),
    (["add", "2026-01-05", "-2 weeks"], ["2026-01-05 + -14 days = 2025-12-22 (Monday)"]),
    (["subtract", "2026-01-05", "P1Y2M3W4D"], ["2026-01-05 - 1 year 2 months 25 days = 2024-10-11 (Friday)"]),
    (["add", "2024-02-28", "1 day"], ["2024-02-28 + 1 day = 2024-02-29 (Thursday)"]),
    (
        ["add", "2024-02-29", "1 year"],
        [
            "2024-02-29 + 1 year = 2025-02-28 (Friday)",
            "note: 2025-02-29 does not exist; the last day of the month was taken",
        ],
    ),
    (["add", "2026-01-02", "1 business day"], ["2026-01-02 + 1 business day = 2026-01-05 (Monday)", NO_HOLIDAYS]),
    (
        ["add", "2026-01-03", "1bd", "--holidays=2026-01-05", "--holidays=2026-01-06, 2026-01-07"],
        ["2026-01-03 + 1 business day = 2026-01-08 (Thursday)"],
    ),
    (
        ["subtract", "2026-01-05", "2 working days", "--weekend=fri,sat", "--holidays=2026-01-01"],
        ["2026-01-05 - 2 business days = 2025-12-31 (Wednesday)"],
    ),
    (
        ["add", "2026-01-31T09:30", "90 min"],
        ["2026-01-31T09:30 + 1 hour 30 minutes = 2026-01-31T11:00 (Saturday)", NO_ZONE],
    ),
    (
        ["add", "2026-01-31T23:00+02:00", "1.5 hours"],
        ["2026-01-31T23:00+02:00 + 1 hour 30 minutes = 2026-02-01T00:30+02:00 (Sunday)"],
    ),
    (
        ["add", "2026-03-28T12:00", "1 day", "--zone=Europe/Berlin"],
        ["2026-03-28T12:00+01:00 + 1 day = 2026-03-29T12:00+02:00 Europe/Berlin (Sunday)"],
    ),
    (
        ["add", "2026-03-28T12:00", "24 hours", "--zone=Europe/Berlin"],
        ["2026-03-28T12:00+01:00 + 24 hours = 2026-03-29T13:00+02:00 Europe/Berlin (Sunday)"],
    ),
    (
        ["add", "2026-03-28T02:30", "1 day", "--zone=Europe/Berlin"],
        [
            "2026-03-28T02:30+01:00 + 1 day = 2026-03-29T03:30+02:00 Europe/Berlin (Sunday)",
            "note: 2026-03-29 02:30 does not exist in Europe/Berlin, since clocks go forward; 03:30 was taken",
        ],
    ),
    (
        ["add", "2026-10-25T01:30Z", "0 days", "--zone=Europe/Berlin"],
        ["2026-10-25T02:30+01:00 + 0 days = 2026-10-25T02:30+01:00 Europe/Berlin (Sunday)"],
    ),
    (
        ["diff", "2026-03-01", "2026-01-05", "--holidays=2026-01-06"],
        [
            "from: 2026-03-01 (Sunday)",
            "to: 2026-01-05 (Monday)",
            "days: -55",
            "weeks: -7 and -6 days",
            "calendar: -1 month -24 days",
            "business days, both ends counted: -39",
            "business days, start not counted: -39",
            "note: the end is before the start",
        ],
    ),
    (
        ["diff", "2026-03-29T00:00", "2026-03-30T00:00", "--zone=Europe/Berlin"],
        [
            "from: 2026-03-29T00:00+01:00 Europe/Berlin (Sunday)",
            "to: 2026-03-30T00:00+02:00 Europe/Berlin (Monday)",
            "elapsed: 23 hours",
            "hours: 23",
            "seconds: 82800",
        ],
    ),
    (
        ["diff", "2026-01-02T00:00Z", "2026-01-01T00:00:30.5+01:00"],
        [
            "from: 2026-01-02T00:00+00:00 UTC (Friday)",
            "to: 2026-01-01T00:00:30.500000+01:00 (Thursday)",
            "elapsed: -1 day -59 minutes -29.5 seconds",
            "hours: -24.9915",
            "seconds: -89969.5",
        ],
    ),
    (["week", "2026-W05"], ["2026-W05: 2026-01-26 (Monday) to 2026-02-01 (Sunday)"]),
    (
        ["week", "2024-12-30"],
        [
            "2024-12-30 (Monday): day 1 of week 2025-W01 (2024-12-30 to 2025-01-05)",
            "day of year: 365 of 366",
            "quarter: 4",
        ],
    ),
    (
        ["convert", "2026-10-25T02:30", "UTC", "--from=Europe/Berlin"],
        [
            "2026-10-25T02:30+02:00 Europe/Berlin (Sunday) = 2026-10-25T00:30+00:00 UTC (Sunday)",
            "note: 2026-10-25 02:30 comes twice in Europe/Berlin; the first, at +02:00, was taken, not that at +01:00",
        ],
    ),
    (
        ["convert", "2026-01-01T20:00-08:00", "Asia/Kolkata", "+05:45", "utc-3"],
        [
            "2026-01-01T20:00-08:00 (Thursday) = 2026-01-02T09:30+05:30 Asia/Kolkata (Friday)",
            "2026-01-01T20:00-08:00 (Thursday) = 2026-01-02T09:45+05:45 (Friday)",
            "2026-01-01T20:00-08:00 (Thursday) = 2026-01-02T01:00-03:00 (Friday)",
        ],
    ),
]


@pytest.mark.parametrize(("arguments", "lines"), ANSWERS)
def test_answers(arguments: list[str], lines: list[str], run_script: RunScript) -> None:
    done = run_script(*SCRIPT, arguments)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == lines


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add", "03/04/2026", "1 day"], "'03/04/2026' is no date (write YYYY-MM-DD"),
        (["add", "2026-02-29", "1 day"], "is out of range"),
        (["add", "2026-01-01T25:00", "1 day"], "hour must be in 0..23"),
        (["add", "2026-01-01\n\x1b[31m", "1 day"], "'2026-01-01\\n\\x1b[31m'"),
        (["add", "2026-01-01", "3m"], "'m' may mean months or minutes"),
        (["add", "2026-01-01", "soon"], "'soon' is no duration"),
        (["add", "2026-01-01", ""], "'' is no duration"),
        (["add", "2026-01-01", "P"], "'P' is no duration"),
        (["add", "2026-01-01", "3 fortnights"], "unknown unit 'fortnights'"),
        (["add", "2026-01-01", "1.5 months"], "'1.5 months' is no whole number of days or months"),
        (["add", "2026-01-01", "5 hours"], "give a time of day: 2026-01-01T00:00"),
        (["add", "2026-01-01", f"{'9' * 40} days"], "too large a number"),
        (["add", "9999-12-31", "1 day"], "outside the years 1 to 9999"),
        (["add", "9999-12-01", "1 month"], "outside the years 1 to 9999"),
        (["subtract", "0001-01-01", "1 bd"], "outside the years 1 to 9999"),
        (["add", "2026-01-01", "999999999999 years"], "outside the years 1 to 9999"),
        (["add", "2026-01-01", "999999999999 days"], "outside the years 1 to 9999"),
        (["add", "2026-01-01", "100001 bd"], "too many"),
        (["add", "2026-01-01", "1 bd", "--holidays=christmas"], "--holidays takes dates"),
        (["add", "2026-01-01", "1 bd", "--weekend=x"], "'x' is no day of the week"),
        (["add", "2026-01-01", "1 bd", "--weekend=mon,tue,wed,thu,fri,sat,sun"], "leaves no business day"),
        (["add", "2026-01-01"], "required: DURATION"),
        (["diff", "2026-01-01", "2026-01-01T00:00"], "both with a time of day, or both without"),
        (["diff", "2026-01-01T00:00Z", "2026-01-01T00:00"], "both with an offset"),
        (["week", "2025-W53"], "there is no week 2025-W53"),
        (["convert", "2026-01-01", "UTC"], "give a time of day: 2026-01-01T12:00"),
        (["convert", "2026-01-01T12:00", "UTC"], "name its zone: --from=Europe/Berlin"),
        (["convert", "2026-01-01T12:00Z", "UTC", "--from=Asia/Tokyo"], "leave --from out"),
        (["convert", "2026-01-01T12:00Z", "Berlin"], "did you mean Europe/Berlin?"),
        (["convert", "2026-01-01T12:00Z", "new york"], "did you mean America/New_York?"),
        (["convert", "2026-01-01T12:00Z", "Europe/Berln"], "did you mean Europe/Berlin?"),
        (["convert", "2026-01-01T12:00Z", "Qqq"], "write an IANA name"),
        (["convert", "2026-01-01T12:00Z", "../../../etc/passwd"], "unknown time zone"),
        (["convert", "2026-01-01T12:00Z", "America"], "unknown time zone 'America'"),
        (["convert", "2026-01-01T12:00Z", "x" * 5000], "unknown time zone"),
        (["convert", "2026-01-01T12:00Z", "+25:00"], "no place on earth"),
        (["convert", "0001-01-01T00:00Z", "America/New_York"], "outside the years 1 to 9999"),
        (["multiply"], "invalid choice: 'multiply'"),
        ([], "required: COMMAND"),
    ],
)
def test_refuses_in_one_line(
    arguments: list[str], message: str, calculator: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert calculator.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err


def test_a_refusal_goes_to_standard_error(run_script: RunScript) -> None:
    done = run_script(*SCRIPT, ["week", "2025-W53"])
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: there is no week 2025-W53: Invalid week: 53\n"


def test_tells_the_date(run_script: RunScript) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    done = run_script(*SCRIPT, ["now", "UTC", "Asia/Tokyo"])
    after = datetime.now(UTC)
    utc, tokyo = (datetime.fromisoformat(line.split(" ")[0]) for line in done.out.splitlines())
    assert before <= utc <= after
    assert tokyo == utc
    assert tokyo.utcoffset() == timedelta(hours=9)


def test_today_is_that_of_the_zone_and_said(calculator: ModuleType) -> None:
    zone = ZoneInfo("Pacific/Kiritimati")
    before = datetime.now(zone).date()
    *_, last = calculator.week(calculator.parser().parse_args(["week", "today", f"--zone={zone}"]))
    after = datetime.now(zone).date()
    assert last in {f"note: today is {day} in {zone}" for day in (before, after)}


def test_without_a_time_zone_database_it_says_so(calculator: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    zones = calculator.find_zone.__globals__
    monkeypatch.setitem(zones, "ZoneInfo", lambda name: (_ for _ in ()).throw(zones["ZoneInfoNotFoundError"](name)))
    monkeypatch.setitem(zones, "available_timezones", set)
    with pytest.raises(calculator.BadRequest, match=re.escape("no time zone database; use offsets such as +02:00")):
        calculator.find_zone("Europe/Berlin")
    assert calculator.find_zone("+02:00").utcoffset(None) == timedelta(hours=2)


days = st.dates(date(1600, 1, 1), date(2400, 12, 31))
near = st.integers(-400, 400).map(lambda count: timedelta(days=count))
weekends = st.frozensets(st.integers(0, 6), max_size=6)
holidays = st.frozensets(st.dates(date(2026, 1, 1), date(2026, 12, 31)), max_size=20)
in_2026 = st.dates(date(2026, 1, 1), date(2026, 12, 31))


@given(first=days, last=days)
def test_the_calendar_difference_leads_from_one_day_to_the_other(
    calculator: ModuleType, first: date, last: date
) -> None:
    first, last = sorted((first, last))
    apart = calculator.calendar_difference(first, last)
    assert 0 <= apart.days <= 31
    assert calculator.add_months(first, apart.months)[0] + timedelta(days=apart.days) == last
    assert calculator.add_months(first, apart.months + 1)[0] > last


@given(first=in_2026, length=st.integers(0, 120), weekend=weekends, free=holidays)
def test_business_days_are_those_that_one_counts(
    calculator: ModuleType, first: date, length: int, weekend: frozenset[int], free: frozenset[date]
) -> None:
    rule = calculator.Workweek(weekend, free)
    period = [first + timedelta(days=i) for i in range(length + 1)]
    open_days = [day for day in period if day.weekday() not in weekend and day not in free]
    assert rule.count(first, period[-1]) == len(open_days)


@given(start=in_2026, count=st.integers(-60, 60).filter(bool), weekend=weekends, free=holidays)
def test_business_days_added_are_those_counted(
    calculator: ModuleType, start: date, count: int, weekend: frozenset[int], free: frozenset[date]
) -> None:
    rule = calculator.Workweek(weekend, free)
    end = rule.add(start, count)
    assert end in rule
    first, last = sorted((start, end))
    assert rule.count(first, last) - (start in rule) == abs(count)


durations = st.tuples(
    st.integers(0, 500), st.integers(0, 5000), st.integers(0, 500), st.decimals(0, 10**6, places=3, allow_nan=False)
)


@given(parts=durations)
def test_a_duration_reads_as_it_is_written(calculator: ModuleType, parts: tuple[int, int, int, Decimal]) -> None:
    duration = calculator.Duration(*parts)
    assert calculator.parse_duration(str(duration)) == duration
    assert calculator.parse_duration(str(-duration)) == -duration


@given(
    clock=st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001 - what a clock shows has no zone
    zone=st.sampled_from(
        ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Africa/Casablanca"]
    ),
)
def test_a_clock_is_read_as_it_shows_unless_a_note_says_otherwise(
    calculator: ModuleType, clock: datetime, zone: str
) -> None:
    moment, note = calculator.on_clock(clock, ZoneInfo(zone))
    if note is None or "comes twice" in note:
        assert moment.replace(tzinfo=None) == clock
    else:
        assert moment.replace(tzinfo=None) > clock
    assert moment.astimezone(UTC).astimezone(ZoneInfo(zone)) == moment
