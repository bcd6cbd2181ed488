"""What a program reads on standard output where a command fails before it has anything else to say."""

from __future__ import annotations

import json
from collections.abc import Sequence

from assembler.errors import Diagnostic
from assembler.scrubbing import scrubbed_diagnostic
from assembler.values import JSON

_NOTHING: dict[tuple[str, ...], dict[str, JSON]] = {
    ("skills", "list"): {"skills": []},
    ("sessions", "list"): {"sessions": []},
    ("sessions", "show"): {"name": None, "items": [], "agents": {}},
    ("sessions", "delete"): {"deleted": None},
}
"""What commands answer that found or did nothing, but for what is wrong."""


def as_json(arguments: Sequence[str], diagnostics: Sequence[Diagnostic]) -> str | None:
    """What is wrong, in the shape in which the command answers; None where nobody asked for JSON.

    Args:
        arguments: The command line, without the program's name.
        diagnostics: What is wrong.
    """
    if "--json" not in arguments:
        return None
    words = [word for word in arguments if not word.startswith("-")]
    if words[:1] == ["run"]:
        return json.dumps(_result(diagnostics), ensure_ascii=False)
    nothing = _NOTHING.get(tuple(words[:2]))
    if nothing is None:
        return None
    found = [scrubbed_diagnostic(diagnostic).to_json() for diagnostic in diagnostics]
    return json.dumps({**nothing, "diagnostics": found}, ensure_ascii=False, indent=2)


def _result(diagnostics: Sequence[Diagnostic]) -> dict[str, JSON]:
    """The only event of a run that did not begin."""
    from assembler.events import Result

    reason = diagnostics[0].message if diagnostics else ""
    result = Result("failed", "", "", reason=reason, diagnostics=tuple(diagnostics))
    return {**result.to_event(), "sequence_number": 0}
