"""What a run does, told on standard error while it does it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from assembler.cli.output import tell
from assembler.errors import Diagnostic, Where
from assembler.events import Event


def show(event: Event) -> None:
    """Tells an event in a line, if a person wants to know of it."""
    told = line(event)
    if told:
        tell(told)


def end(event: Event, seconds: float) -> None:
    """Tells how a run ended."""
    for told in ending(event, seconds):
        tell(told)


def line(event: Event) -> str:
    """What there is to tell of an event; empty if there is nothing."""
    known = cast("dict[str, Any]", event)
    kind = known["type"]
    if kind == "assembler.skill.loaded":
        return f"  skill {known['skill']} loaded ({_time(known['seconds'])})"
    if kind == "assembler.tool.finished" and (known["failed"] or known["tool"] != "load_skill"):
        return f"  {_what(known)} {'failed' if known['failed'] else 'done'} ({_how(known)})"
    if kind == "assembler.diagnostic" and known["diagnostic"]["severity"] != "info":
        return str(_diagnostic(known["diagnostic"]))
    return ""


def start(event: Event) -> str:
    """What there is to tell of a call that begins; empty if it is none, or over in no time."""
    known = cast("dict[str, Any]", event)
    is_told = known["type"] == "assembler.tool.started" and known["tool"] != "load_skill"
    return f"  {_what(known)} started" if is_told else ""


def ending(event: Event, seconds: float) -> Iterator[str]:
    """What there is to tell of a run's end."""
    known = cast("dict[str, Any]", event)
    for found in known["diagnostics"]:
        yield str(_diagnostic(found))
    for request in known["pending"]:
        what = " ".join(part for part in (request["tool"], request["runs"]) if part)
        yield f"  waits for approval: {what} {json.dumps(request['arguments'])}"
    why = f": {known['reason']}" if known["reason"] and not known["diagnostics"] else ""
    yield f"  {known['status']}{why} ({_time(seconds)}), agent {known['digest'][:19]}"


def _what(event: dict[str, Any]) -> str:
    if event.get("script"):
        return f"script {event['skill']}/{event['script']}"
    return f"{event['tool']} {event['skill']}" if event.get("skill") else event["tool"]


def _how(event: dict[str, Any]) -> str:
    isolation = event.get("isolation")
    return _time(event["seconds"]) + (f", isolation: {isolation}" if isolation else "")


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _diagnostic(found: dict[str, Any]) -> Diagnostic:
    return Diagnostic(found["code"], found["message"], found["severity"], Where(**found["where"]), found["hint"])
