"""Which files of a folder belong to a skill, and their bytes.

Nothing outside the searched root is ever read: links are followed where they resolve inside it, and only to what could
be read without them. Hidden files, the folders of version control and of package managers, and files that look like
keys are neither listed nor read.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from assembler.digests import digest_bytes
from assembler.errors import AssemblerError, Diagnostic, Where, problem

SKILL_FILE = "SKILL.md"
"""The name that makes a folder a skill; exactly so."""

MAX_FILES = 512
"""Most files of a skill; the skills extension of MCP has the same limit."""

MAX_BYTES = 16 * 1024**2
"""Most bytes of all files of a skill; the skills extension of MCP has the same limit."""

MAX_FOLDERS = 1024
"""Most folders of a skill."""

MAX_LEVELS = 32
"""Deepest folder of a skill."""

IGNORED_FOLDERS = frozenset(
    {"__macosx", "__pycache__", "bower_components", "cvs", "node_modules", "site-packages", "venv"}
)
"""Folders of tools, in lower case, beside the hidden ones."""

KEY_ENDINGS = (".pem", ".key", ".p12", ".pfx", ".ppk", ".jks", ".keystore", ".kdbx")
KEY_BEGINNINGS = ("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519")
"""Names of files that may hold keys, in lower case; hidden ones, such as `.env`, are left out anyway."""

SCRIPT_EXTENSIONS = frozenset(
    (
        *(".awk", ".bash", ".cjs", ".fish", ".go", ".jl", ".js", ".lua", ".mjs", ".mts"),
        *(".php", ".pl", ".ps1", ".py", ".r", ".rb", ".sh", ".ts", ".zsh"),
    )
)
"""Extensions, in lower case, that make a file under `scripts/` a script; what runs them is the runner's business."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a skill lies and how it is read.

    Attributes:
        folder: Its folder, links resolved.
        root: The searched folder, links resolved, out of which nothing is read.
        shown: Its folder as diagnostics name it.
        hard_links: Whether files that have a second name outside the skill are read.
    """

    folder: str
    root: str
    shown: str
    hard_links: bool = False


class Found(NamedTuple):
    """A file that belongs to a skill.

    Attributes:
        path: From the skill's root, in POSIX form.
        real: Where it lies, links resolved.
    """

    path: str
    real: str


Stamp = tuple[int, int]
"""What tells without reading that a file has changed: its size in bytes, its time of change in nanoseconds."""


@dataclass(frozen=True, slots=True)
class Tree:
    """What a skill consists of.

    Attributes:
        digests: Digest of each file by path.
        stamps: Stamp of each file that was seen, read or not.
        findings: What was left out and why.
        files: The bytes by path, if they were asked for.
    """

    digests: Mapping[str, str]
    stamps: Mapping[str, Stamp]
    findings: Sequence[Diagnostic]
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


def is_script(path: str) -> bool:
    """Whether a file of a skill is a script."""
    return path.startswith("scripts/") and os.path.splitext(path)[1].lower() in SCRIPT_EXTENSIONS  # noqa: PTH122


def is_ignored(name: str, *, folder: bool) -> bool:
    """Whether a file or folder of this name is never looked at."""
    if name.startswith("."):
        return True
    lower = name.lower()
    return lower in IGNORED_FOLDERS if folder else lower.endswith(KEY_ENDINGS) or lower.startswith(KEY_BEGINNINGS)


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder or a link to one; unlike its own method, fails for no link."""
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()  # noqa: PTH112 - texts, for speed


def refusal(real: str, root: str) -> str:
    """Why what a link leads to is not read; empty if it may be.

    Args:
        real: The link, resolved.
        root: The folder that it must not leave, resolved.
    """
    if not os.path.exists(real):  # noqa: PTH110
        return "leads nowhere"
    if real != root and not real.startswith(root.rstrip("/") + "/"):
        return f"leads to `{displayed(real)}`, outside the folder that is searched"
    parts = real[len(root) :].strip("/").split("/")
    ends_in_folder = os.path.isdir(real)  # noqa: PTH112
    if any(is_ignored(part, folder=True) for part in parts[:-1]) or is_ignored(parts[-1], folder=ends_in_folder):
        return "leads to a file or folder that is never read"
    return ""


def displayed(path: str) -> str:
    """A path as text that can be printed and sent, whatever bytes its names are of."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def stamp_of(status: os.stat_result) -> Stamp:
    """The stamp of a file."""
    return status.st_size, status.st_mtime_ns


def read_file(real: str, most: int) -> tuple[bytes, os.stat_result]:
    """Reads a regular file that is no link; of a longer one, one byte more than asked for.

    Raises:
        OSError: It is not there, not readable, a link, or not a regular file.
    """
    # Not blocking, since opening a named pipe would wait for somebody to write to it.
    descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "it is not a regular file")
        wanted = min(status.st_size, most) + 1
        data = os.read(descriptor, wanted)
        while len(data) == wanted <= most:  # it grew meanwhile, or is of a kind that tells no size
            wanted = most + 1
            data += os.read(descriptor, wanted - len(data))
    finally:
        os.close(descriptor)
    return data, status


Tell = Callable[[str, str, str, str], None]
"""Takes a finding: its code, the path that it is about, what is wrong with it and a hint."""


def untold(code: str, path: str, message: str, hint: str) -> None:
    """Takes a finding that reading the whole tree tells of."""


Enter = Callable[[str], None]
"""Takes a folder, links resolved, that is about to be gone through."""


def passed(folder: str) -> None:
    """Takes a folder that nobody asks about."""


def files_of(
    place: Place, tell: Tell, entries: Sequence[os.DirEntry[str]] | None = None, enter: Enter = passed
) -> Iterator[Found]:
    """The files of a skill, those of a folder before those of the folders in it, each sorted by name.

    Args:
        place: Where the skill lies.
        tell: Takes what is left out.
        entries: What its folder holds, if that is known.
        enter: Takes each folder before it is listed; the skill's own too, unless it is known what that holds.

    Raises:
        AssemblerError: The folder cannot be read (``skills/unreadable``), or is too large (``skills/too-large``).
    """
    try:
        if entries is None:
            enter(place.folder)
            entries = list(os.scandir(place.folder))
    except OSError as error:
        raise problem("skills/unreadable", f"the skill cannot be read: {error.strerror}", where=_at(place)) from error
    folders: list[_Folder] = [("", entries, (place.folder,))]
    seen = 0
    while folders:
        prefix, entries, above = folders.pop()
        inner: list[_Folder] = []
        for entry in sorted(entries, key=_BY_NAME):
            path = prefix + entry.name
            real = _resolved(place, entry, path, above, tell)
            if real is None:
                continue
            if not is_folder(entry):
                yield Found(path, real)
                continue
            seen += 1
            if seen > MAX_FOLDERS or len(above) > MAX_LEVELS:
                raise _too_large(place, f"{MAX_FOLDERS} folders or {MAX_LEVELS} levels")
            try:
                enter(real)
                inner.append((f"{path}/", list(os.scandir(real)), (*above, real)))
            except OSError as error:
                tell("skills/unreadable", path, f"cannot be read: {error.strerror}", "")
        folders += reversed(inner)


_BY_NAME = attrgetter("name")

_Folder = tuple[str, Sequence[os.DirEntry[str]], tuple[str, ...]]
"""A folder to go through: what stands before its names, what it holds, and where it and the folders above it lie."""


def _resolved(place: Place, entry: os.DirEntry[str], path: str, above: tuple[str, ...], tell: Tell) -> str | None:
    """Where an entry lies, links resolved; None if it does not belong to the skill."""
    if is_ignored(entry.name, folder=is_folder(entry)):
        return None
    if not entry.name.isprintable():
        tell("skills/bad-file-name", path, "has a name with characters that cannot be shown", "rename it")
        return None
    if not entry.is_symlink():
        return entry.path
    real = os.path.realpath(entry.path)
    reason = refusal(real, place.root)
    if reason:
        tell("skills/link-refused", path, f"is a link that {reason}", "put a copy in its place")
        return None
    if any(folder == real or folder.startswith(f"{real}/") for folder in above):
        tell("skills/link-loop", path, "is a link to a folder that holds it", "remove the link")
        return None
    return real


def read_tree(place: Place, *, keep: bool) -> Tree:
    """Reads everything that belongs to a skill, at one moment: what changes meanwhile is read again.

    Args:
        place: Where it lies.
        keep: Whether to keep the bytes, not only their digests.

    Raises:
        AssemblerError: The folder cannot be read (``skills/unreadable``), is too large (``skills/too-large``), or
            changes all the time (``skills/changed``).
    """
    for _ in range(_ATTEMPTS):
        tree = _read_once(place, keep)
        if stamps_of(place) == tree.stamps:
            return tree
    message = "the skill changes while it is read"
    raise problem("skills/changed", message, where=_at(place), hint="try again when nobody writes to it")


_ATTEMPTS = 3


def _read_once(place: Place, keep: bool) -> Tree:
    findings: list[Diagnostic] = []
    tell = _telling(place, findings)
    seen = with_status(place, tell)
    names = Counter(_inode(status) for status in {real: status for (_, real), status in seen}.values())
    digests: dict[str, str] = {}
    files: dict[str, bytes] = {}
    left = MAX_BYTES
    for (path, real), _ in seen:
        try:
            data, status = read_file(real, left)
        except OSError as error:
            tell("skills/unreadable", path, f"cannot be read: {error.strerror}", "")
            continue
        # A second name of a file cannot be told from the first: where it is not in the skill, it may be anywhere.
        if status.st_nlink > max(1, names[_inode(status)]) and not place.hard_links:
            tell("skills/hard-link", path, "is a hard link to a file elsewhere", HARD_LINK_HINT)
            continue
        left -= len(data)
        if left < 0:
            raise _too_large(place, f"{MAX_BYTES // 1024**2} MiB")
        digests[path] = digest_bytes(data)
        if keep:
            files[path] = data
    stamps = {path: stamp_of(status) for (path, _), status in seen}
    return Tree(dict(sorted(digests.items())), stamps, tuple(findings), files)


def _inode(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


HARD_LINK_HINT = "put a copy in its place, or set `hard_links: allow` for the source"


def stamps_of(place: Place) -> Mapping[str, Stamp]:
    """The stamps that ``read_tree`` would find now.

    Raises:
        AssemblerError: As ``read_tree``.
    """
    return {path: stamp_of(status) for (path, _), status in with_status(place, untold)}


def with_status(place: Place, tell: Tell, enter: Enter = passed) -> list[tuple[Found, os.stat_result]]:
    """The files of a skill with what the system says of them; as ``files_of``, and no more than a skill may have."""
    seen: list[tuple[Found, os.stat_result]] = []
    for found in files_of(place, tell, enter=enter):
        if len(seen) == MAX_FILES:
            raise _too_large(place, f"{MAX_FILES} files")
        try:
            seen.append((found, os.lstat(found.real)))
        except OSError as error:
            tell("skills/unreadable", found.path, f"cannot be read: {error.strerror}", "")
    return seen


def _telling(place: Place, findings: list[Diagnostic]) -> Tell:
    def tell(code: str, path: str, message: str, hint: str) -> None:
        findings.append(Diagnostic(code, f"`{displayed(path)}` {message}", "warning", _at(place, path), hint))

    return tell


def _at(place: Place, path: str = SKILL_FILE) -> Where:
    prefix = "" if place.shown == "." else f"{place.shown}/"
    return Where(prefix + displayed(path))


def _too_large(place: Place, most: str) -> AssemblerError:
    hint = "take out what it does not need, or split it"
    return problem("skills/too-large", f"the skill has more than {most}", where=_at(place), hint=hint)
