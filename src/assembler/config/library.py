"""The files that a project offers: its own groups of options and the presets behind them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from assembler.config.project import CONF, SUFFIX, Project
from assembler.errors import Diagnostic, Where, problem

PRESETS = "assembler.presets"
_PRESET = "preset "
MAX_DEPTH = 8
"""Levels of groups within groups in a folder called ``conf``."""
MAX_ENTRIES = 20_000
LOOSE_DEPTH = 3
"""The same for a root that lies elsewhere, whose neighbours need not be configurations at all."""
LOOSE_ENTRIES = 2_000


@dataclass(frozen=True)
class Library:
    """What can be chosen in a project.

    Attributes:
        project: The project.
        groups: Options of each group, the project's own and the presets', by the group's name.
        warnings: What lies among the options and is not used.
    """

    project: Project
    groups: Mapping[str, Sequence[str]]
    warnings: Sequence[Diagnostic]

    def find(self, name: str) -> Path | None:
        """The file that a defaults list means by a name: the project's own, else a preset.

        Raises:
            AssemblerError: It is a link that leads out of the project's ``conf/`` (``config/link-refused``).
        """
        own = self.project.conf / (name + SUFFIX)
        if own.is_file():
            if not _stays_in(own, self.project.conf):
                raise problem(
                    "config/link-refused",
                    f"`{self.shown(own)}` is a link that leads out of the folder of the configuration",
                    hint="copy the file into it",
                )
            return own
        preset = _presets() / (name + SUFFIX)
        return preset if preset.is_file() else None

    def misnamed(self, name: str, where: Where) -> Diagnostic | None:
        """What is wrong with naming a file there, if it has the suffix that Hydra does not read."""
        file = self.project.conf / f"{name}.yml"
        if not file.is_file():
            return None
        message = f"`{self.shown(file)}` ends in .yml"
        return Diagnostic("config/bad-suffix", message, where=where, hint="rename it to .yaml")

    def is_own(self, path: Path) -> bool:
        """Whether a file is the project's, not a preset."""
        return not path.is_relative_to(_presets())

    def hides_preset(self, name: str) -> bool:
        """Whether a preset has this name."""
        return (_presets() / (name + SUFFIX)).is_file()

    def shown(self, path: Path) -> str:
        """How to name a file to a person: a preset as one, any other relative to the project."""
        return self.project.show(path) if self.is_own(path) else _PRESET + path.relative_to(_presets()).as_posix()


def is_preset(where: Where) -> bool:
    """Whether a place is in a preset."""
    return where.file is not None and where.file.startswith(_PRESET)


def library(project: Project) -> Library:
    """Lists what can be chosen in a project. Names only: no file is opened, since any of them may be anything."""
    is_conf = project.conf.name == CONF
    listing = _Listing(project, MAX_DEPTH, MAX_ENTRIES) if is_conf else _Listing(project, LOOSE_DEPTH, LOOSE_ENTRIES)
    presets = _Listing(project, MAX_DEPTH, MAX_ENTRIES)
    groups: dict[str, set[str]] = {}
    for group, option in [*listing.options(project.conf), *presets.options(_presets())]:
        groups.setdefault(group, set()).add(option)
    return Library(project, {group: sorted(groups[group]) for group in sorted(groups)}, listing.warnings)


@dataclass(slots=True)
class _Listing:
    """One walk through a folder of groups, as far as any configuration goes."""

    project: Project
    depth: int
    entries_left: int
    warnings: list[Diagnostic] = field(default_factory=list[Diagnostic])
    ancestors: list[Path] = field(default_factory=list[Path])

    def options(self, base: Path, group: str = "") -> Iterator[tuple[str, str]]:
        """The options below a folder with the groups that they are in."""
        if group and group.count("/") >= self.depth:
            return
        folder = base / group
        resolved = folder.resolve()
        if resolved in self.ancestors:
            return  # a link to a folder above it
        self.ancestors.append(resolved)
        for entry in self._entries(folder):
            path = Path(entry.path)
            is_folder = entry.is_dir()
            is_option = bool(group) and entry.name.endswith(SUFFIX) and entry.is_file()
            if not is_folder and not is_option:
                continue
            if entry.is_symlink() and not _stays_in(path, base):
                self._warn(path, "config/link-refused", "a link that leads out of the folder of the configuration")
            elif is_folder:
                yield from self.options(base, f"{group}/{entry.name}".lstrip("/"))
            else:
                yield group, entry.name.removesuffix(SUFFIX)
        self.ancestors.pop()

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        found: list[os.DirEntry[str]] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self.entries_left -= 1
                    if self.entries_left == -1:
                        self._warn(folder, "config/too-large", "so many files that not all are looked at for groups")
                    if self.entries_left < 0:
                        break
                    if not entry.name.startswith("."):
                        found.append(entry)
        except OSError as error:
            self._warn(folder, "config/unreadable", f"cannot be listed: {error.strerror}")
        return sorted(found, key=lambda entry: entry.name)

    def _warn(self, path: Path, code: str, message: str) -> None:
        self.warnings.append(Diagnostic(code, message, "warning", Where(self.project.show(path))))


def _stays_in(path: Path, base: Path) -> bool:
    return path.resolve().is_relative_to(base.resolve())


def _presets() -> Path:
    return Path(str(files(PRESETS)))
