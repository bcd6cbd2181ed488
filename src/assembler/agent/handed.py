"""Files that are handed to a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assembler.errors import AssemblerError, Diagnostic


def files_by_name(files: Sequence[str | Path]) -> list[tuple[str, Path]]:
    """The files of a run by the names under which scripts find them. Blocks, since it looks at them.

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


def said_with(text: str, files: Sequence[tuple[str, Path]]) -> str:
    """What the model reads of the input; names of files are foreign, and quoted where they could be misread."""
    if not files:
        return text
    names = (name if name.isprintable() and "]" not in name else ascii(name) for name, _ in files)
    return f"{text}\n\n[files: {', '.join(f'inputs/{name}' for name in names)}]".lstrip()


def _is_readable(path: Path) -> bool:
    """Whether it is a file that can be opened; a name that no file can have is not."""
    try:
        if not path.is_file():  # looked at first: to open a pipe is to wait for its other end
            return False
        with path.open("rb"):
            return True
    except (OSError, ValueError):
        return False
