"""Python modules as files: where one lies, found without importing anything."""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Iterator
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    BuiltinImporter,
    ExtensionFileLoader,
    FileFinder,
    FrozenImporter,
    ModuleSpec,
    SourceFileLoader,
    SourcelessFileLoader,
)
from pathlib import Path
from zipimport import ZipImportError, zipimporter

from assembler.folders import repository_of

SUFFIXES = (*SOURCE_SUFFIXES, *BYTECODE_SUFFIXES, *EXTENSION_SUFFIXES)
"""How the names of files end that can be imported."""

_LOADERS = (
    (ExtensionFileLoader, EXTENSION_SUFFIXES),
    (SourceFileLoader, SOURCE_SUFFIXES),
    (SourcelessFileLoader, BYTECODE_SUFFIXES),
)


def top_level(module: str) -> str:
    """The package or module at the top of a dotted name; what follows a colon is left out."""
    return module.partition(":")[0].partition(".")[0]


def code_of(module: str) -> tuple[Path, ...] | None:
    """The files and folders that hold a module and what lies beside it.

    That is the folder of its top-level package, in all its parts where it is spread over several; the folder around a
    module that is a single file, since its neighbours can be imported as it is; or a zip archive. ``sys.path`` is
    walked as Python does it, without the finders that others have put into ``sys.meta_path``: these are code.

    Args:
        module: Its dotted name.

    Returns:
        Absolute paths; none for what is built into the interpreter. None where no files are found: there is no such
        module, or only a finder of somebody else knows it, as after some editable installations.
    """
    name = top_level(module)
    if BuiltinImporter.find_spec(name) is not None or FrozenImporter.find_spec(name) is not None:
        return ()
    parts: list[Path] = []
    for place in path_entries():
        spec = _spec_in(place, name)
        if spec is not None and spec.loader is not None:
            is_archive = isinstance(spec.loader, zipimporter)
            return (place if is_archive else Path(str(spec.origin)).parent,)
        parts += [Path(part) for part in (spec.submodule_search_locations if spec is not None else None) or ()]
    return tuple(parts) or None


def own_code(module: str, project: Path) -> Path | None:
    """The folder of the project's own code that importing a module could run.

    A module of the project can import anything in its repository: what is on Python's path, and what it puts there. One
    that is not found on the path is looked for in the project last, or could lie anywhere in it.

    Args:
        module: Its dotted name.
        project: The project's folder.

    Returns:
        The repository's folder; None where the module is no part of it.
    """
    repository = repository_of(project)
    places = code_of(module)
    return repository if places is None or any(belongs_to(place, repository) for place in places) else None


def path_entries() -> list[Path]:
    """Where Python looks for modules."""
    return [_absolute(Path(entry)) for entry in sys.path]


def belongs_to(path: Path, project: Path) -> bool:
    """Whether a file is a project's own: within its folder, by its name or by where links lead, and not installed.

    The environment that runs this may lie in the project's folder, as `.venv` does. What is installed there was trusted
    when it was installed, as anywhere else.

    Args:
        path: The file or folder.
        project: The project's folder.
    """
    is_within = _absolute(path).is_relative_to(_absolute(project)) or path.resolve().is_relative_to(project.resolve())
    return is_within and not is_installed(path)


def is_installed(path: Path) -> bool:
    """Whether a file lies where the running interpreter keeps its library and what is installed into it."""
    real = path.resolve()
    return any(real.is_relative_to(folder.resolve()) for folder in _install_folders())


def _install_folders() -> Iterator[Path]:
    yield Path(os.__file__).parent
    yield from map(Path, (*site.getsitepackages(), site.getusersitepackages()))


def _spec_in(place: Path, name: str) -> ModuleSpec | None:
    """What a folder or archive of the path knows of a top-level module."""
    if not place.is_file():
        return FileFinder(str(place), *_LOADERS).find_spec(name)
    try:
        return zipimporter(str(place)).find_spec(name)
    except ZipImportError:
        return None


def _absolute(path: Path) -> Path:
    """Its place by name: its links are not followed, as Python does not follow them."""
    return Path(os.path.abspath(path))  # noqa: PTH100
