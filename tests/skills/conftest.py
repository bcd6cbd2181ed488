"""Skills that tests write, and finding them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.skills.support import Files, Listed, Write, list_of

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
