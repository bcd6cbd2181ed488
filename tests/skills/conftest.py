"""Skills that tests write, and finding them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.skills.support import FILES, Demo, Files, Listed, Write, list_of

from assembler.skills.file_skill import FileSkill
from assembler.skills.sources.files import FilesSource


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes files below the test's folder."""

    def write(files: Files) -> Path:
        for name, content in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path

    return write


@pytest.fixture
def find(tmp_path: Path) -> Callable[..., Listed]:
    """Lists what lies in folders below the test's."""

    def find(*paths: str, **options: Any) -> Listed:
        source = FilesSource(paths=paths or (".",), **options)
        return asyncio.run(list_of(source, tmp_path))

    return find


@pytest.fixture
def demo(write: Write, find: Callable[..., Listed]) -> Demo:
    """Writes one skill and lists it."""

    def demo(files: dict[str, str | bytes] | None = None, *paths: str, **options: Any) -> FileSkill:
        write({f"demo/{path}": data for path, data in (FILES if files is None else files).items()})
        (skill,) = find(*paths, **options).skills
        assert isinstance(skill, FileSkill)
        return skill

    return demo
