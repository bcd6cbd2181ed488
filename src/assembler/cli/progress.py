"""What a run does, told on standard error while it does it."""

from __future__ import annotations

import json
from typing import Any, cast

from assembler.cli.output import tell
from assembler.errors import Diagnostic, Where
from assembler.events import Event


def show(event: Event) -> None:
    """Tells an event in a line, if a person wants to know of it."""
    known = cast("dict[str, Any]", event)
    kind = known["type"]
    if kind == "assembler.skill.loaded":
        tell(f"  skill {known['skill']} loaded ({_time(known['seconds'])})")
    elif kind == "assembler.tool.finished" and (known["failed"] or known["tool"] != "load_skill"):
        tell(f"  {_what(known)} {'failed' if known['failed'] else 'done'} ({_how(known)})")
    elif kind == "assembler.diagnostic" and known["diagnostic"]["severity"] != "info":
        tell(str(_diagnostic(known["diagnostic"])))


def end(event: Event, seconds: float) -> None:
    """Tells how a run ended."""
    known = cast("dict[str, Any]", event)
    for found in known["diagnostics"]:
        tell(str(_diagnostic(found)))
    for request in known["pending"]:
        what = " ".join(part for part in (request["tool"], request["runs"]) if part)
        tell(f"  waits for approval: {what} {json.dumps(request['arguments'])}")
    why = f": {known['reason']}" if known["reason"] and not known["diagnostics"] else ""
    tell(f"  {known['status']}{why} ({_time(seconds)}), agent {known['digest'][:19]}")


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
