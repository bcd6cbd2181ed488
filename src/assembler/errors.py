"""The one way to say what is wrong: a diagnostic with a code, a place and a way out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a file, or a command-line override.

    Attributes:
        file: Path as a person would type it, relative to the project where it lies inside.
        line: Line, counted from 1.
        column: Column in code points, counted from 1.
        override: Number and text of the override, such as ``override #2 `env=prdo` ``.
    """

    file: str | None = None
    line: int | None = None
    column: int | None = None
    override: str | None = None

    def __str__(self) -> str:
        if self.override is not None:
            return self.override
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)

    def to_json(self) -> dict[str, Any]:
        """The fixed shape that programs read."""
        return {"file": self.file, "line": self.line, "column": self.column, "override": self.override}


NOWHERE = Where()


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that is wrong, changed or worth knowing.

    Attributes:
        code: Stable name, ``room/what``; the ones of this package are listed in ``codes.py``.
        severity: ``error`` stops, ``warning`` changed something, ``info`` only tells.
        message: One sentence that quotes identifiers; never a secret.
        where: The place that has to change.
        hint: What to do about it, or empty.
    """

    code: str
    message: str
    severity: Severity = "error"
    where: Where = NOWHERE
    hint: str = ""

    def __str__(self) -> str:
        place = str(self.where)
        text = f"{place + ': ' if place else ''}{self.severity}: {self.message} [{self.code}]"
        return f"{text}\n  {self.hint}" if self.hint else text

    def to_json(self) -> dict[str, Any]:
        """The fixed shape that programs read."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "where": self.where.to_json(),
            "hint": self.hint,
        }


class AssemblerError(Exception):
    """Something that a person has to change; carries one diagnostic or more.

    Args:
        diagnostics: What is wrong, the first problem first.
    """

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("\n".join(str(diagnostic) for diagnostic in diagnostics))
        self.diagnostics = diagnostics


def problem(code: str, message: str, *, where: Where = NOWHERE, hint: str = "") -> AssemblerError:
    """An error with a single diagnostic, to be raised."""
    return AssemblerError(Diagnostic(code, message, where=where, hint=hint))


def first_line(error: BaseException) -> str:
    """The first line of what a foreign exception says, or its type where it says nothing."""
    return next(iter(str(error).strip().splitlines()), "") or type(error).__name__


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The choice that a typo most likely meant, if any is near.

    Args:
        word: What was written.
        choices: What is allowed.
    """
    pool = sorted(choices)
    folded = {choice.lower(): choice for choice in reversed(pool)}
    close = get_close_matches(word.lower(), list(folded), n=1, cutoff=0.6)
    if close:
        return folded[close[0]]
    # `environment` for `env`: too far apart for the ratio, yet plainly meant.
    begun = [short for short in folded if len(short) > 2 and word.lower().startswith(short)]
    return folded[max(begun, key=len)] if begun else None


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """A hint that names the nearest choice, or lists them where none is near."""
    pool = sorted(choices)
    near = nearest(word, pool)
    if near is not None:
        return f"did you mean `{near}`?"
    return "one of: " + ", ".join(f"`{choice}`" for choice in pool) if pool else ""
