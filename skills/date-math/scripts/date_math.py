"""Calculate with dates: `date_math.py add 2026-01-31 "1 month"`, `date_math.py diff 2026-01-05 2026-03-01`.

Prints the answer, and a `note:` line for each thing that a reader should know of it.
Exit codes: 0 calculated; 2 the request makes no sense (one line on standard error says why).
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import NoReturn

# An isolated interpreter does not look beside the script; a folder of its own keeps these out of the list of scripts.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

from date_days import WEEKDAYS, Workweek, add_months, calendar_difference, parse_weekend
from date_durations import BadRequest, Duration, parse_duration
from date_zones import find_zone, on_clock, zone_name

WEEK = re.compile(r"(\d{4})-?W(\d{2})", re.ASCII)
Calculation = Callable[[argparse.Namespace], Iterator[str]]
NO_HOLIDAYS = "note: no holidays were given, so only weekends are left out"


def parse_when(text: str, zone: str | None) -> tuple[date | datetime, list[str]]:
    """The day or moment that is meant, with notes.

    Args:
        text: An ISO 8601 date or date and time, `today` or `now`.
        zone: The zone of a time without offset, and the one to show other moments in.

    Raises:
        BadRequest: It is none of these.
    """
    if text in {"today", "now"}:
        now = datetime.now(find_zone(zone or "UTC")).replace(microsecond=0)
        return (now, []) if text == "now" else (now.date(), [f"note: today is {now.date()} in {zone_name(now)}"])
    try:
        if not re.search(r"\d[T ]\d", text):
            return date.fromisoformat(text), []
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        hint = "write YYYY-MM-DD or YYYY-MM-DDTHH:MM, with an offset if it has one"
        raise BadRequest(f"{text[:60]!r} is no date ({hint}): {error}") from error
    if zone is None:
        return moment, []
    if moment.tzinfo:
        return moment.astimezone(find_zone(zone)), []
    moment, note = on_clock(moment, find_zone(zone))
    return moment, [f"note: {note}"] if note else []


def show(when: date) -> str:
    """A day or a moment, with its zone and day of the week."""
    if not isinstance(when, datetime):
        return f"{when} ({WEEKDAYS[when.weekday()]})"
    zone = f" {zone_name(when)}" if getattr(when.tzinfo, "key", None) or when.tzinfo is UTC else ""
    return f"{clock(when)}{zone} ({WEEKDAYS[when.weekday()]})"


def clock(moment: datetime) -> str:
    """ISO 8601, with seconds only where there are some."""
    return moment.isoformat(timespec="auto" if moment.second or moment.microsecond else "minutes")


def workweek(options: argparse.Namespace) -> Workweek:
    """The business days that the options describe."""
    try:
        days = [date.fromisoformat(day.strip()) for part in options.holidays for day in part.split(",") if day.strip()]
    except ValueError as error:
        raise BadRequest(f"--holidays takes dates such as 2026-12-25,2026-12-26: {error}") from error
    return Workweek(parse_weekend(options.weekend), frozenset(days))


def add(options: argparse.Namespace) -> Iterator[str]:
    """The day or moment a duration later (or earlier): months first, then days, then business days, then hours."""
    start, notes = parse_when(options.when, options.zone)
    duration = parse_duration(" ".join(options.duration))
    signed = -duration if options.command == "subtract" else duration
    business = workweek(options)
    if signed.seconds and not isinstance(start, datetime):
        raise BadRequest(f"to add hours, give a time of day: {start}T00:00")
    day = start.date() if isinstance(start, datetime) else start
    day, note = add_months(day, signed.months)
    notes += [f"note: {note}"] if note else []
    day = business.add(day + timedelta(days=signed.days), signed.business_days)
    if signed.business_days and not business.holidays:
        notes.append(NO_HOLIDAYS)
    end: date = day
    if isinstance(start, datetime):
        end, moved = at_time(start, day, signed)
        notes += moved
    sign = "-" if options.command == "subtract" else "+"
    yield f"{clock(start) if isinstance(start, datetime) else start} {sign} {duration} = {show(end)}"
    yield from notes


def at_time(start: datetime, day: date, duration: Duration) -> tuple[datetime, list[str]]:
    """The moment on a new day at the start's time of day, then the hours of the duration later, with notes.

    Days keep the time of day across a change of clocks, hours are what a stopwatch measures.
    """
    moment, note = datetime.combine(day, start.time()), None
    if day == start.date():
        moment = start  # of two moments that a clock shows alike, the same one
    elif start.tzinfo:
        moment, note = on_clock(moment, start.tzinfo)
    notes = [f"note: {note}"] if note else []
    if not duration.seconds:
        return moment, notes
    if start.tzinfo:
        return (moment.astimezone(UTC) + duration.elapsed).astimezone(start.tzinfo), notes
    return moment + duration.elapsed, [*notes, "note: without a time zone, changes of clocks are not considered"]


def diff(options: argparse.Namespace) -> Iterator[str]:
    """How far apart two days or two moments are."""
    (start, notes), (end, more) = parse_when(options.start, options.zone), parse_when(options.end, options.zone)
    if isinstance(start, datetime) != isinstance(end, datetime):
        raise BadRequest("give both with a time of day, or both without")
    yield f"from: {show(start)}"
    yield f"to: {show(end)}"
    if isinstance(start, datetime) and isinstance(end, datetime):
        yield from moments_apart(start, end)
    else:
        yield from days_apart(start, end, workweek(options))
    yield from dict.fromkeys(notes + more)


def moments_apart(start: datetime, end: datetime) -> Iterator[str]:
    """The time that passes between two moments."""
    if (start.tzinfo is None) != (end.tzinfo is None):
        raise BadRequest("give both with an offset, or both without, or name --zone")
    # Within one zone Python subtracts what the clocks show, not what passes.
    apart = end.astimezone(UTC) - start.astimezone(UTC) if start.tzinfo and end.tzinfo else end - start
    seconds = Decimal(apart // timedelta(microseconds=1)) / 1_000_000
    days, rest = divmod(abs(seconds), 86400)
    passed = Duration(days=int(days), seconds=rest)
    yield f"elapsed: {-passed if seconds < 0 else passed}"
    yield f"hours: {round(seconds / 3600, 4).normalize():f}"
    yield f"seconds: {seconds:f}"
    if not start.tzinfo:
        yield "note: without a time zone, changes of clocks are not considered"


def days_apart(start: date, end: date, business: Workweek) -> Iterator[str]:
    """The days between two days, in all the ways in which they are counted."""
    first, last = sorted((start, end))
    sign = -1 if end < start else 1
    days = (last - first).days
    calendar = calendar_difference(first, last)
    both = business.count(first, last)
    yield f"days: {sign * days}"
    yield f"weeks: {sign * (days // 7)} and {sign * (days % 7)} days"
    yield f"calendar: {-calendar if sign < 0 else calendar}"
    yield f"business days, both ends counted: {sign * both}"
    yield f"business days, start not counted: {sign * (both - (start in business))}"
    if sign < 0:
        yield "note: the end is before the start"
    if not business.holidays:
        yield NO_HOLIDAYS


def week(options: argparse.Namespace) -> Iterator[str]:
    """The ISO 8601 week of a day, or the days of a week."""
    if match := WEEK.fullmatch(options.when.upper()):
        try:
            monday = date.fromisocalendar(int(match[1]), int(match[2]), 1)
        except ValueError as error:
            raise BadRequest(f"there is no week {options.when}: {error}") from error
        yield f"{match[1]}-W{match[2]}: {show(monday)} to {show(monday + timedelta(days=6))}"
        return
    when, notes = parse_when(options.when, options.zone)
    year, number, weekday = when.isocalendar()
    monday = date.fromisocalendar(year, number, 1)
    days = date(when.year, 12, 31).timetuple().tm_yday
    yield f"{show(when)}: day {weekday} of week {year}-W{number:02} ({monday} to {monday + timedelta(days=6)})"
    yield f"day of year: {when.timetuple().tm_yday} of {days}"
    yield f"quarter: {(when.month + 2) // 3}"
    yield from notes


def convert(options: argparse.Namespace) -> Iterator[str]:
    """What clocks in other zones show at a moment."""
    moment, notes = parse_when(options.when, None)
    if not isinstance(moment, datetime):
        raise BadRequest(f"give a time of day: {moment}T12:00")
    if moment.tzinfo and options.source:
        raise BadRequest("the time has an offset of its own; leave --from out")
    if not moment.tzinfo:
        if not options.source:
            raise BadRequest("the time has no offset; name its zone: --from=Europe/Berlin")
        moment, note = on_clock(moment, find_zone(options.source))
        notes = [f"note: {note}"] if note else []
    for name in options.zones:
        yield f"{show(moment)} = {show(moment.astimezone(find_zone(name)))}"
    yield from notes


def now(options: argparse.Namespace) -> Iterator[str]:
    """The date and time, by the clock of this machine."""
    moment = datetime.now(UTC).replace(microsecond=0)
    yield from (show(moment.astimezone(find_zone(name))) for name in options.zones or ["UTC"])


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, with no usage before it."""

    def error(self, message: str) -> NoReturn:
        """Ends the program as every other bad request does."""
        raise BadRequest(" ".join(message.split()))


def parser() -> Parser:
    """The command line."""
    result = Parser(prog="date_math.py", description="Calculate with dates. Each command has its own --help.")
    commands = result.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)

    zone, business = Parser(add_help=False), Parser(add_help=False)
    zone.add_argument(
        "--zone", metavar="ZONE", help="of times without an offset, and of today: Europe/Berlin, UTC, +02:00"
    )
    business.add_argument("--holidays", action="append", default=[], metavar="DATES", help="2026-12-25,2026-12-26")
    business.add_argument("--weekend", default="sat,sun", metavar="DAYS", help="fri,sat or none (default: sat,sun)")

    def command(name: str, calculate: Calculation, summary: str, *parents: Parser) -> Parser:
        made = commands.add_parser(name, help=summary, description=summary, parents=parents, allow_abbrev=False)
        made.set_defaults(calculate=calculate)
        return made

    for name, summary in (("add", "the day a duration later"), ("subtract", "the day a duration earlier")):
        made = command(name, add, summary, zone, business)
        made.add_argument("when", metavar="DATE", help="2026-01-31, 2026-01-31T09:00, today or now")
        made.add_argument("duration", nargs="+", metavar="DURATION", help="'1 month 3 days', '10 business days', P1M3D")
    made = command("diff", diff, "how far two days or moments are apart", zone, business)
    made.add_argument("start", metavar="START")
    made.add_argument("end", metavar="END")
    made = command("week", week, "the ISO week of a day, or the days of a week", zone)
    made.add_argument("when", metavar="DATE_OR_WEEK", help="2026-01-01 or 2026-W01")
    made = command("convert", convert, "what clocks in other zones show")
    made.add_argument("when", metavar="TIME", help="2026-03-29T14:00, 2026-03-29T14:00+02:00 or now")
    made.add_argument("zones", nargs="+", metavar="ZONE", help="America/New_York, UTC, +05:30")
    made.add_argument("--from", dest="source", metavar="ZONE", help="the zone of a time without an offset")
    made = command("now", now, "the date and time")
    made.add_argument("zones", nargs="*", metavar="ZONE")
    return result


def main(arguments: list[str]) -> int:
    """Prints the answer; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        options = parser().parse_args(arguments)
        lines = list(options.calculate(options))
    except (BadRequest, OverflowError) as error:
        reason = str(error) if isinstance(error, BadRequest) else "the result is outside the years 1 to 9999"
        print(f"error: {reason}", file=sys.stderr)
        return 2
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
