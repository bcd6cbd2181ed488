"""What a page says is printed, against what was printed."""

from __future__ import annotations

import difflib
import re

_TIME = re.compile(r"\((?:\d+ ms|\d+\.\d s)(?=[,)])")
_DIGEST = re.compile(r"sha256:[0-9a-f]{8,64}")


def normalised(text: str) -> str:
    """Text without what differs from run to run: times and digests."""
    return _DIGEST.sub("sha256:DIGEST", _TIME.sub("(TIME", text))


def difference(expected: str, printed: str) -> str:
    """What differs, as a unified diff; empty if nothing does.

    `...` stands for anything within its line, and a line of it for any number of lines.
    """
    expected, printed = normalised(expected), normalised(printed)
    if re.fullmatch("".join(map(_pattern, expected.splitlines())), printed):
        return ""
    lines = difflib.unified_diff(expected.splitlines(), printed.splitlines(), "the page", "printed", lineterm="")
    return "\n".join(lines) or "they differ in their last line end"


def _pattern(line: str) -> str:
    if line == "...":
        return r"(?:.*\n)*?"
    return re.escape(line).replace(re.escape("..."), ".*") + r"\n"
