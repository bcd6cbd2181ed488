"""Digests of the files that would execute, so that consent to running them is consent to their bytes."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from assembler.digests import digest_bytes
from assembler.errors import problem
from assembler.powers import Power
from assembler.skills.tree import is_ignored

MAX_FILES = 20_000
MAX_BYTES = 256 * 1024**2
"""More than this nobody means when they name code; it stops before a mistake or an attack reads a whole disk."""


def fingerprints(power: Power, project: Path) -> dict[str, str]:
    """Digests of the files that a power would execute, by their paths relative to the project where they lie in it.

    A link counts by where it leads; it is followed only within the project. Passed over are the folders that nothing
    runs from: of a skill those that are no part of it, for an import hidden ones, bytecode and the running environment.

    Args:
        power: The power; what is not there of its code has no digest.
        project: The project's folder.

    Raises:
        AssemblerError: There is more than anybody means by code (``trust/too-large``).
    """
    reader = _Reader(project.resolve(), power.suffixes)
    for path in power.code:
        reader.add(path)
    return dict(sorted(reader.found.items()))


class _Reader:
    def __init__(self, project: Path, suffixes: tuple[str, ...]) -> None:
        self._project = project
        self._suffixes = suffixes
        self._bytes = 0
        self._folders: set[Path] = set()
        self.found: dict[str, str] = {}

    def add(self, path: Path) -> None:
        """A file, or a folder with everything below it."""
        real = path.resolve()
        for file in self._files(real) if real.is_dir() else [real]:
            self.found[self._shown(file)] = self._digest(file)
            if len(self.found) > MAX_FILES:
                raise _too_large(path)

    def _files(self, top: Path) -> Iterator[Path]:
        waiting = [top]
        while waiting:
            folder = waiting.pop()
            if folder in self._folders:
                continue
            self._folders.add(folder)
            for entry in _entries(folder):
                path = Path(entry.path)
                is_folder = entry.is_dir()
                if is_folder and entry.is_symlink() and not path.resolve().is_relative_to(self._project):
                    yield path  # where it leads counts, not what lies there
                elif not is_folder:
                    if not self._suffixes or entry.name.endswith(self._suffixes):
                        yield path
                elif not self._is_ignored(entry.name, path):
                    waiting.append(path.resolve())

    def _is_ignored(self, name: str, folder: Path) -> bool:
        if not self._suffixes:
            return is_ignored(name, folder=True)
        return name == "__pycache__" or name.startswith(".") or folder.resolve() == Path(sys.prefix).resolve()

    def _digest(self, file: Path) -> str:
        if file.is_symlink() and not file.resolve().is_relative_to(self._project):
            return digest_bytes(b"link to " + os.fsencode(os.readlink(file)))  # noqa: PTH115  (as it is written)
        try:
            # Without waiting: a pipe has nobody at its other end.
            descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            return f"unreadable: {error.strerror}"
        with os.fdopen(descriptor, "rb") as opened:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return "not a file"
            data = opened.read(MAX_BYTES - self._bytes + 1)
        self._bytes += len(data)
        if self._bytes > MAX_BYTES:
            raise _too_large(file)
        return digest_bytes(data)

    def _shown(self, file: Path) -> str:
        return file.relative_to(self._project).as_posix() if file.is_relative_to(self._project) else str(file)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []  # whoever runs the code cannot read it either


def _too_large(path: Path) -> Exception:
    message = f"`{path}` holds more code than anybody can agree to: over {MAX_FILES} files or {MAX_BYTES >> 20} MiB"
    return problem("trust/too-large", message, hint="name the folder of the code itself")
