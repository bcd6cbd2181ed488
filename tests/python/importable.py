"""Modules that tests write, and that are forgotten afterwards."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

from assembler.errors import Where


@contextmanager
def importable(folder: Path, files: Mapping[str, str]) -> Generator[Path]:
    """Writes files into a folder at the front of Python's path."""
    before = dict(sys.modules)
    write(folder, files)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield folder
    finally:
        sys.path.remove(str(folder))
        for name in sys.modules.keys() - before.keys():
            if str(folder) in str(vars(sys.modules[name]).get("__spec__")):
                del sys.modules[name]


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text), "utf-8")


def trusting(*modules: str) -> Callable[[str], bool]:
    """Trust in modules and what is below them."""
    return lambda target: any(f"{target.partition(':')[0]}.".startswith(f"{module}.") for module in modules)


def key(path: tuple[str | int, ...]) -> Where:
    """The key itself as a place."""
    return Where(".".join(map(str, path)))
