"""Files that are handed to a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assembler.errors import AssemblerError, Diagnostic


def handed_files(files: Sequence[str | Path]) -> list[tuple[str, Path]]:
    """The files of a run by the names under which scripts find them.

    Raises:
        AssemblerError: One diagnostic for each that is not a readable file, or whose name another one has.
    """
    handed: dict[str, Path] = {}
    problems: list[Diagnostic] = []
    for file in files:
        path = Path(file).absolute()
        if not _is_readable(path):
            problems.append(Diagnostic("run/no-such-file", f"`{file}` is not a file that can be read"))
        elif path.name in handed:
            message = f"`{file}` and `{handed[path.name]}` have the same name"
            problems.append(Diagnostic("run/same-name", message, hint="rename one"))
        else:
            handed[path.name] = path
    if problems:
        raise AssemblerError(*problems)
    return list(handed.items())


def _is_readable(path: Path) -> bool:
    """Whether it is a file that can be opened; a name that no file can have is not."""
    try:
        with path.open("rb"):
            return path.is_file()
    except (OSError, ValueError):
        return False
