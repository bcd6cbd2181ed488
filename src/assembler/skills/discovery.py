"""Finds skills under folders: reads each SKILL.md, and of everything else only whether it is there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assembler.digests import digest_bytes
from assembler.errors import AssemblerError, Diagnostic, Severity, Where
from assembler.folders import located
from assembler.skills.file_skill import FileSkill
from assembler.skills.folder import SkillFolder
from assembler.skills.frontmatter import Mode, parse
from assembler.skills.skill import Report
from assembler.skills.tree import (
    HARD_LINK_HINT,
    SKILL_FILE,
    Place,
    displayed,
    files_of,
    is_folder,
    is_ignored,
    is_script,
    read_file,
    refusal,
    stamp_of,
    untold,
)

MAX_SKILL_FILE = 1024**2
"""Longest SKILL.md in bytes; the longest known one has 294 KB."""

MAX_SEARCHED = 50_000
"""Most folders that are searched under one path."""

Entries = Sequence[os.DirEntry[str]]


@dataclass(frozen=True, slots=True)
class Search:
    """How to search.

    Attributes:
        source: Name of the source that the skills get.
        base: Folder against which paths resolve, and from which diagnostics name files.
        depth: How many folders below a path a skill may lie.
        mode: Whether a SKILL.md that breaks the specification is mended or refused.
        hard_links: Whether files that have a second name elsewhere are read.
    """

    source: str
    base: Path
    depth: int
    mode: Mode
    hard_links: bool


def find_skills(paths: Sequence[Path], search: Search) -> tuple[list[FileSkill], list[Diagnostic]]:
    """The skills under paths, sorted by path, each folder once, and what was skipped or changed.

    Blocks while it reads.
    """
    finder = _Finder(search)
    for path in paths:
        finder.search(path)
    return finder.skills, list(dict.fromkeys(finder.diagnostics))


class _Finder:
    def __init__(self, search: Search) -> None:
        self._how = search
        self._known: set[str] = set()
        self.skills: list[FileSkill] = []
        self.diagnostics: list[Diagnostic] = []

    def search(self, path: Path) -> None:
        """Searches one path: a skill, a folder of skills, or a repository; it may be a link itself."""
        full = os.path.normpath(located(path, self._how.base))
        shown = self._shown(full)
        if not os.path.isdir(full):  # noqa: PTH112 - texts, not paths, for speed
            found = "is a file, not a folder" if os.path.exists(full) else "does not exist"  # noqa: PTH110
            message = f"`{displayed(str(path))}` {found}"
            hint = "name a folder that holds a SKILL.md, or folders that do"
            self._tell("skills/no-such-folder", message, shown, hint, "error")
            return
        root = os.path.realpath(full)
        walk = _Walk(root, shown, self._how.depth, self.diagnostics.append)
        any_found = False
        for folder, relative, entries in walk:
            any_found = True
            if folder not in self._known:
                self._known.add(folder)
                name = displayed(os.path.basename(relative or full))  # noqa: PTH119
                self._load(Place(folder, root, _join(shown, relative), self._how.hard_links), name, entries)
        if not any_found:
            hint = f"nothing up to {self._how.depth} folders below it is named exactly `{SKILL_FILE}`"
            if walk.hidden:
                hint += f"; hidden folders such as `{walk.hidden}` are searched only if `paths` names them"
            self._tell("skills/none-found", f"no skill was found in `{displayed(str(path))}`", shown, hint)

    def _load(self, place: Place, name: str, entries: Entries) -> None:
        """Adds the skill of a folder of that name, or says why there is none."""
        where = Where(_join(place.shown, SKILL_FILE))
        try:
            data, status = self._read(place)
        except OSError as error:
            self._tell("skills/unreadable", f"the skill is skipped: {error.strerror}", where.file, "", "error")
            return
        if status.st_nlink > 1 and not self._how.hard_links:
            message = f"the skill is skipped: its {SKILL_FILE} is a hard link to a file elsewhere"
            self._tell("skills/hard-link", message, where.file, HARD_LINK_HINT, "error")
            return
        if len(data) > MAX_SKILL_FILE:
            message = f"the skill is skipped: its {SKILL_FILE} is longer than {MAX_SKILL_FILE // 1024} KiB"
            self._tell("skills/too-large", message, where.file, "move parts of it to files of their own", "error")
            return
        mended: list[Diagnostic] = []
        try:
            parsed = parse(data, where, mended.append, fallback_name=name, mode=self._how.mode)
            has_resources, has_scripts = _contents(place, entries)
        except AssemblerError as error:
            # What was mended does not matter any more.
            self.diagnostics.extend(error.diagnostics)
            return
        self.diagnostics.extend(mended)
        digest = digest_bytes(data)
        folder = SkillFolder(place, where, digest, stamp_of(status))
        self.skills.append(
            FileSkill(
                self._how.source,
                parsed.frontmatter,
                where,
                digest,
                folder,
                has_resources=has_resources,
                has_scripts=has_scripts,
            )
        )

    def _read(self, place: Place) -> tuple[bytes, os.stat_result]:
        path = f"{place.folder}/{SKILL_FILE}"
        if os.path.islink(path):  # noqa: PTH114
            path = os.path.realpath(path)
            reason = refusal(path, place.root)
            if reason:
                raise OSError(0, f"its {SKILL_FILE} is a link that {reason}")
        return read_file(path, MAX_SKILL_FILE)

    def _shown(self, full: str) -> str:
        """A path as a person of this project would type it."""
        base = os.path.abspath(self._how.base)  # noqa: PTH100
        inside = full == base or full.startswith(base.rstrip("/") + "/")
        return displayed(os.path.relpath(full, base) if inside else full)

    def _tell(self, code: str, message: str, file: str | None, hint: str, severity: Severity = "warning") -> None:
        self.diagnostics.append(Diagnostic(code, message, severity, Where(file), hint))


def _contents(place: Place, entries: Entries) -> tuple[bool, bool]:
    """Whether a skill has resources, and whether it has scripts; looks no further than it must."""
    has_resources = has_scripts = False
    may_have_scripts = any(entry.name == "scripts" for entry in entries)
    for found in files_of(place, untold, entries) if len(entries) > 1 else ():
        has_scripts = has_scripts or is_script(found.path)
        has_resources = has_resources or not (found.path == SKILL_FILE or is_script(found.path))
        if has_resources and (has_scripts or not may_have_scripts):
            break
    return has_resources, has_scripts


class _Walk:
    """The skill folders under a root, sorted, without looking into them.

    Links to folders are not walked: what they lead to inside the root is found where it lies, and once.

    Args:
        root: The folder, links resolved.
        shown: The folder as diagnostics name it.
        depth: How many folders below it a skill may lie.
        report: Takes what is left out.
    """

    def __init__(self, root: str, shown: str, depth: int, report: Report) -> None:
        self._root, self._shown, self._depth, self._report = root, shown, depth, report
        self._searched = 0
        self.hidden = ""
        """A hidden folder that was passed over, if there was one that may hold skills."""

    def __iter__(self) -> Iterator[tuple[str, str, Entries]]:
        """Each skill's folder, its path from the root, and what it holds."""
        yield from self._search(self._root, "", 0)
        if self._searched > MAX_SEARCHED:
            hint = "name the folders that hold skills in `paths`"
            self._tell("skills/too-many-folders", "", f"only {MAX_SEARCHED} folders were searched", hint)

    def _search(self, folder: str, relative: str, level: int) -> Iterator[tuple[str, str, Entries]]:
        self._searched += 1
        if self._searched > MAX_SEARCHED:
            return
        try:
            with os.scandir(folder) as listing:
                entries = list(listing)
        except OSError as error:
            self._tell("skills/unreadable", relative, f"the folder is not searched: {error.strerror}", "")
            return
        if any(entry.name == SKILL_FILE and not is_folder(entry) for entry in entries):
            yield folder, relative, entries
            return
        for entry in sorted(entries, key=lambda entry: entry.name):
            path = f"{relative}/{entry.name}".lstrip("/")
            if self._is_searched(entry, folder, path) and level < self._depth:
                yield from self._search(entry.path, path, level + 1)

    def _is_searched(self, entry: os.DirEntry[str], folder: str, path: str) -> bool:
        folder_like = is_folder(entry)
        if is_ignored(entry.name, folder=folder_like):
            if folder_like and entry.name.startswith(".") and entry.name not in VERSION_CONTROL:
                self.hidden = self.hidden or entry.name
            return False
        if not folder_like and entry.name.lower() == SKILL_FILE.lower():
            message = f"the file is named `{entry.name}`; only `{SKILL_FILE}` makes a skill"
            self._tell("skills/wrong-case", path, message, "rename it")
            return False
        if entry.is_symlink():
            self._tell_of_link(os.path.realpath(entry.path), folder, path)
            return False
        return folder_like

    def _tell_of_link(self, real: str, folder: str, path: str) -> None:
        reason = refusal(real, self._root)
        if reason:
            hint = "name what it leads to in `paths`, or remove it"
            self._tell("skills/link-refused", path, f"the link is not followed: it {reason}", hint)
        elif folder == real or folder.startswith(f"{real}/"):
            self._tell("skills/link-loop", path, "the link leads to a folder that holds it", "remove it")

    def _tell(self, code: str, path: str, message: str, hint: str) -> None:
        self._report(Diagnostic(code, message, "warning", Where(_join(self._shown, path)), hint))


VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".jj"})


def _join(shown: str, relative: str) -> str:
    if not relative:
        return shown
    return displayed(relative) if shown == "." else f"{shown}/{displayed(relative)}"
