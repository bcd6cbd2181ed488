"""Folders: where a declared one lies, where records are, and removing one that somebody else may have filled."""

from __future__ import annotations

import hashlib
import itertools
import logging
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

_LOG = logging.getLogger(__name__)


def located(path: Path, base: Path) -> Path:
    """Where a declared path lies, its links not followed.

    Args:
        path: As declared: absolute, from ``~``, or relative. A home that nobody has is taken as a name.
        base: The folder against which it resolves.
    """
    return base / os.path.expanduser(path)  # noqa: PTH111  (Path.expanduser raises where there is no such home)


def is_shared(folder: Path) -> bool:
    """Whether a folder holds more than one project could mean: a home, or what homes lie in."""
    home = os.path.expanduser("~")  # noqa: PTH111  (Path.home raises where there is none)
    return Path(os.path.realpath(home)).is_relative_to(os.path.realpath(folder))


def repository_of(folder: Path) -> Path:
    """The folder of the repository that a folder lies in; itself where there is none."""
    return next((above for above in (folder, *folder.parents) if (above / ".git").exists()), folder)


def state_file(project: Path, purpose: str, suffix: str) -> Path:
    """Where a person's own record about a project is, out of any project's reach; relative where there is no home.

    Args:
        project: The project's folder; it is told apart by its path with all links followed.
        purpose: What is recorded; it names the folder.
        suffix: How the file's name ends.
    """
    name = hashlib.sha256(os.fsencode(os.path.realpath(project))).hexdigest()
    return _state_folder() / purpose / f"{name[:40]}{suffix}"


def discard_tree(path: Path) -> None:
    """Removes a temporary folder as ``remove_tree`` does; where it cannot, the log says so and nothing fails.

    What was done in the folder is worth more than a tidy disk: it may also be gone already, since systems clean their
    folder for temporary files.

    Args:
        path: The folder.
    """
    try:
        remove_tree(path)
    except OSError as error:
        _LOG.warning("the temporary folder `%s` could not be removed: %s", path, error)


def remove_tree(path: Path) -> None:
    """Removes a folder that a hostile script may have filled; its processes must be dead.

    Follows no link, opens folders without permissions, and takes any depth: a folder found inside is moved up and
    emptied in its turn, so that no path grows long and nothing recurses.

    Args:
        path: The folder.

    Raises:
        OSError: It cannot be removed, or is not there.
    """
    root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        os.fchmod(root, 0o700)
        prefix = secrets.token_hex(8)  # not to be guessed, so that no name is taken
        fresh = (f"{prefix}-{number}" for number in itertools.count())
        waiting = ["."]
        while waiting:
            name = waiting.pop()
            folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root)
            try:
                waiting += _empty(folder, root, fresh)
            finally:
                os.close(folder)
            if name != ".":
                os.rmdir(name, dir_fd=root)
    finally:
        os.close(root)
    path.rmdir()


def _empty(folder: int, root: int, fresh: Iterator[str]) -> list[str]:
    """Removes what is in a folder, and moves the folders in it to the root, under new names."""
    moved: list[str] = []
    with os.scandir(folder) as entries:
        found = list(entries)
    for entry in found:
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.name, dir_fd=folder)
            continue
        os.chmod(entry.name, 0o700, dir_fd=folder)
        name = next(fresh)
        os.rename(entry.name, name, src_dir_fd=folder, dst_dir_fd=root)
        moved.append(name)
    return moved


def _state_folder() -> Path:
    """Where a person's own records are: https://specifications.freedesktop.org/basedir-spec."""
    chosen = os.environ.get("XDG_STATE_HOME", "")
    # The specification: a relative path is invalid and ignored.
    if not os.path.isabs(chosen):  # noqa: PTH117  (a text)
        chosen = os.path.expanduser("~/.local/state")  # noqa: PTH111  (Path.home raises where there is none)
    return Path(chosen, "assembler")
