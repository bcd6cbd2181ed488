"""The one door to the terminal: foreign text is escaped here, and nowhere is it written past it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import IO

from assembler.errors import Diagnostic
from assembler.scrubbing import scrubbed_diagnostic

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Everything that moves a cursor, changes a title or turns text around; line feed and tab are left."""


MAX_LINE = 400
"""Characters of foreign text in one line."""


def printable(text: str) -> str:
    """Text with control and bidi characters shown instead of obeyed."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text.replace("\r\n", "\n"))


def escaped(text: str) -> str:
    """Text of which every character is seen: what is not is written as Python writes it."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def one_line(text: str) -> str:
    """Foreign text that cannot pass for more than a part of a line: nothing breaks it, pads it or makes it endless."""
    shown = re.sub(" {2,}", lambda found: "\\x20" * len(found[0]), escaped(text))
    if len(shown) <= MAX_LINE:
        return shown
    return f"{shown[: MAX_LINE // 2]} [... {len(shown) - MAX_LINE} characters ...] {shown[-MAX_LINE // 2 :]}"


def answer(text: str, *, end: str = "\n") -> None:
    """Writes to standard output: escaped for a terminal, exact for a pipe."""
    shown = printable(text) if sys.stdout.isatty() else text.encode("utf-8", "backslashreplace").decode("utf-8")
    _write(sys.stdout, shown + end)


def tell(text: str, *, end: str = "\n") -> None:
    """Writes to standard error: progress and whatever is not the answer."""
    _write(sys.stderr, printable(text) + end)


def tell_diagnostics(diagnostics: Iterable[Diagnostic]) -> None:
    """Writes diagnostics to standard error."""
    for diagnostic in diagnostics:
        tell(str(scrubbed_diagnostic(diagnostic)))


def _write(stream: IO[str], text: str) -> None:
    stream.write(text)
    stream.flush()
