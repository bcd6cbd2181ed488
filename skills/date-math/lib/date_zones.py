"""Time zones: finding one by name, and the moments that a clock in it shows."""

from __future__ import annotations

import difflib
import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from date_durations import BadRequest

_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?([0-5]\d))?", re.ASCII | re.IGNORECASE)
_MAX_OFFSET_HOURS = 14
_OFFSET_PLACE = len("2026-01-31T12:00:00")


def find_zone(text: str) -> tzinfo:
    """The zone of an IANA name such as `Europe/Berlin`, of `UTC`, or of an offset such as `+05:30`.

    Raises:
        BadRequest: There is no such zone on this machine; the message names near ones.
    """
    if text.upper() in {"UTC", "Z", "GMT"}:
        return UTC
    if match := _OFFSET.fullmatch(text):
        offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
        if offset > timedelta(hours=_MAX_OFFSET_HOURS):
            raise BadRequest(f"no place on earth has the offset {text!r}")
        return timezone(-offset if match[1] == "-" else offset)
    try:
        return ZoneInfo(text)
    # A folder of the database and a name too long for a file are reported by the system.
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise BadRequest(_unknown(text[:60])) from error


def zone_name(moment: datetime) -> str:
    """What to call the zone of a moment: its IANA name, else `UTC` or its offset."""
    return getattr(moment.tzinfo, "key", None) or str(moment.tzinfo)


def on_clock(clock: datetime, zone: tzinfo) -> tuple[datetime, str | None]:
    """The moment at which clocks in the zone show this, and a note where they never do or do twice.

    What is skipped when clocks go forward is read as if they had not gone, what comes twice as the first (RFC 5545,
    section 3.3.5).
    """
    moment, later = (clock.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    if moment.utcoffset() == later.utcoffset():
        return moment, None
    shown = moment.astimezone(UTC).astimezone(zone)
    where = clock.isoformat(sep=" ", timespec="minutes")
    if shown.replace(tzinfo=None) == clock:
        first, second = (each.isoformat(timespec="seconds")[_OFFSET_PLACE:] for each in (moment, later))
        return moment, f"{where} comes twice in {zone}; the first, at {first}, was taken, not that at {second}"
    return shown, f"{where} does not exist in {zone}, since clocks go forward; {shown.time():%H:%M} was taken"


def _unknown(text: str) -> str:
    names = available_timezones()
    if not names:
        return f"no time zone {text!r}: this machine has no time zone database; use offsets such as +02:00"
    wanted = text.replace(" ", "_").casefold()
    cities = {name: name.rpartition("/")[2].casefold() for name in sorted(names)}
    near = [name for name, city in cities.items() if wanted in {city, name.casefold()}]
    if not near:
        likely = set(difflib.get_close_matches(wanted.rpartition("/")[2], cities.values(), n=3, cutoff=0.75))
        near = [name for name, city in cities.items() if city in likely]
    hint = f"did you mean {' or '.join(near[:3])}?" if near else "write an IANA name such as America/New_York"
    return f"unknown time zone {text!r}; {hint}"
