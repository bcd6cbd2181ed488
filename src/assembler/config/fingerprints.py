"""Digests of the files that would execute, so that consent to running them is consent to their bytes."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from assembler.digests import digest_bytes
from assembler.errors import AssemblerError, problem
from assembler.folders import repository_of
from assembler.powers import Power
from assembler.skills.tree import is_ignored

MAX_ENTRIES = 200_000
MAX_FILES = 20_000
MAX_BYTES = 256 * 1024**2
"""More than this nobody means when they name code; it stops before a mistake or an attack reads a whole disk."""

_VERSION_CONTROL = frozenset({".git", ".hg", ".jj", ".svn"})


def fingerprints(power: Power, project: Path) -> dict[str, str]:
    """Digests of the files of a repository that a power would execute, by their paths relative to the project.

    What lies outside of the repository is not read before it was agreed to, and no commit changes it; of a link that
    leads there the place counts. Passed over are folders that nothing runs from: of a skill those that are no part of
    it; for an import those of version control, the running environment, and bytecode where only Python puts it.

    Args:
        power: The power; what is not there of its code has no digest.
        project: The project's folder.

    Raises:
        AssemblerError: There is more than anybody means by code (``trust/too-large``).
    """
    reader = _Reader(project, power)
    for path in map(str, power.code):
        if "\0" not in path:  # no file has such a name
            reader.add(os.path.realpath(path))
    return dict(sorted(reader.found.items()))


class _Reader:
    def __init__(self, project: Path, power: Power) -> None:
        self._project = os.path.realpath(project)
        self._repository = os.path.realpath(repository_of(project))
        self._environment = os.path.realpath(sys.prefix)
        self._suffixes = power.suffixes
        self._entries = self._bytes = 0
        self._folders: set[str] = set()
        self.found: dict[str, str] = {}

    def add(self, path: str) -> None:
        """A file, or a folder with everything below it; its links followed."""
        if not self._is_own(path):
            return
        for file in self._files(path) if os.path.isdir(path) else [path]:  # noqa: PTH112 - texts, for speed
            if len(self.found) == MAX_FILES:
                raise _too_large(path)
            self.found[os.path.relpath(file, self._project)] = self._digest(file)

    def _files(self, top: str) -> Iterator[str]:
        waiting = [top]
        while waiting:
            folder = waiting.pop()
            if folder in self._folders:
                continue
            self._folders.add(folder)
            for entry in _entries(folder):
                self._entries += 1
                if self._entries > MAX_ENTRIES:
                    raise _too_large(top)
                if _is_folder(entry):
                    real = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
                    if self._is_ignored(entry.name, real):
                        continue
                    if self._is_own(real):
                        waiting.append(real)
                    else:
                        yield entry.path
                elif self._can_run(folder, entry.name):
                    yield entry.path

    def _is_own(self, path: str) -> bool:
        return path == self._repository or path.startswith(self._repository.rstrip("/") + "/")

    def _is_ignored(self, name: str, folder: str) -> bool:
        if self._suffixes:
            return name in _VERSION_CONTROL or folder == self._environment
        return is_ignored(name, folder=True)

    def _can_run(self, folder: str, name: str) -> bool:
        is_cached = name.endswith(".pyc") and os.path.basename(folder) == "__pycache__"  # noqa: PTH119
        return not self._suffixes or (name.endswith(self._suffixes) and not is_cached)

    def _digest(self, file: str) -> str:
        real = os.path.realpath(file)
        if not self._is_own(real):
            return f"link to {real}"
        try:
            if not stat.S_ISREG(os.stat(file).st_mode):  # noqa: PTH116
                return "not a file"
            descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            return f"unreadable: {error.strerror}"
        with os.fdopen(descriptor, "rb") as opened:
            data = opened.read(MAX_BYTES - self._bytes + 1)
        self._bytes += len(data)
        if self._bytes > MAX_BYTES:
            raise _too_large(file)
        return digest_bytes(data)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder or leads to one; a link that leads in a circle is none."""
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()  # noqa: PTH112


def _too_large(path: str) -> AssemblerError:
    message = f"`{path}` holds more than anybody can agree to: over {MAX_FILES} files of code, or {MAX_BYTES >> 20} MiB"
    return problem("trust/too-large", message, hint="name the folder of the code itself")
