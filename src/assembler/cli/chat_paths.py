"""Paths as a person types them after a command of a chat: with quotes and backslashes, as in a shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from assembler.errors import AssemblerError, problem

_SPECIAL = re.compile(r"([^\w@%+=:,./-])")
"""What a backslash stands before; everything else means itself."""

_LAST_WORD = re.compile(r"(?:\\.|[^\s\\\"'])*\Z", re.DOTALL)
"""The last word, as far as no quote is in it."""


def typed_paths(text: str) -> list[Path]:
    """The paths in a text, `~` being the home.

    Raises:
        AssemblerError: A quote is not closed (``cli/bad-argument``), or a home is nobody's (``run/no-such-file``).
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        hint = r"quote a path with spaces, or put a backslash before each of them: my\ file.csv"
        raise problem("cli/bad-argument", f"`{text}`: {str(error).lower()}", hint=hint) from None
    return [_at_home(word) for word in words]


def completions(text: str) -> tuple[str, list[str]]:
    """What the last path of a text could go on with.

    Nothing is offered within quotes, and no name with a character that cannot be shown.

    Args:
        text: The text as far as it is typed.

    Returns:
        The part whose place they take, and what takes its place; folders end in a slash.
    """
    found = _LAST_WORD.search(text)
    word = found[0] if found else ""
    if text.removesuffix(word)[-1:] in {'"', "'"}:
        return "", []
    folder, slash, begun = word.rpartition("/")
    try:
        where = _at_home(shlex.split(folder + slash)[0]) if slash else Path()
        return begun, sorted(_names(where, begun))
    except (AssemblerError, OSError, ValueError):
        return "", []


def _names(folder: Path, begun: str) -> Iterator[str]:
    """Names in a folder that begin like this, as they would be typed; hidden ones where their dot is typed."""
    for path in folder.iterdir():
        name = _SPECIAL.sub(r"\\\1", path.name)
        is_hidden = name.startswith(".") and not begun
        if path.name.isprintable() and name.startswith(begun) and not is_hidden:
            yield name + ("/" if path.is_dir() else "")


def _at_home(word: str) -> Path:
    try:
        return Path(word).expanduser()
    except RuntimeError:
        raise problem("run/no-such-file", f"`{word}` names the home of nobody") from None
