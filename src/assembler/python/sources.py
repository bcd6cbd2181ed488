"""Python modules that run from their sources, and never from the bytecode that lies beside them.

Nobody looks at a `__pycache__` when they agree to the sources, and Python would run what lies there in their place
(PEP 552: bytecode with an unchecked hash always, any other if date and size fit).
"""

from __future__ import annotations

import sys
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)
from pathlib import Path
from types import CodeType

from assembler.folders import repository_of
from assembler.modules import code_of, is_installed, path_entries

_FOLDERS: set[Path] = set()
"""Folders whose modules run from their sources, with everything below them; for as long as the process lives, since a
function may import only when it is called."""


def read_sources_of(module: str) -> None:
    """Has a module that is not installed run from its source, and whatever not installed module it may import.

    Args:
        module: Its dotted name; not imported yet, or its bytecode has run already.
    """
    places = code_of(module)
    if places is None or not all(map(is_installed, places)):
        _guard(*(places or ()), *path_entries())


def search_last(project: Path) -> None:
    """Has Python look for modules in a project, behind everything else, so that it takes the place of nothing.

    Args:
        project: The project's folder; whatever is imported from its repository runs from its source.
    """
    _guard(repository_of(project))
    if str(project) not in sys.path:
        sys.path.append(str(project))


def _guard(*places: Path) -> None:
    fresh = {place for place in places if not is_installed(place)} - _FOLDERS
    if not fresh:
        return
    _FOLDERS.update(fresh)
    if _finder not in sys.path_hooks:
        sys.path_hooks.insert(0, _finder)
    for known in [each for each in sys.path_importer_cache if _is_below(Path(each), fresh)]:
        del sys.path_importer_cache[known]


class _SourceLoader(SourceFileLoader):
    """Compiles a module whenever it is imported."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _finder(path: str) -> FileFinder:
    """A hook as ``sys.path_hooks`` takes it: ImportError leaves a folder to the next one."""
    place = Path(path)
    if not place.is_dir() or not _is_below(place, _FOLDERS) or is_installed(place):
        raise ImportError(path)
    return FileFinder(
        path,
        (ExtensionFileLoader, EXTENSION_SUFFIXES),
        (_SourceLoader, SOURCE_SUFFIXES),
        (SourcelessFileLoader, BYTECODE_SUFFIXES),
    )


def _is_below(path: Path, folders: set[Path]) -> bool:
    absolute = path.absolute()
    return any(absolute.is_relative_to(folder) for folder in folders)
