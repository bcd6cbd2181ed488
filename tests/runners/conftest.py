"""Skills that hold one script, the runners that this machine offers, and a look at what they leave behind."""

from __future__ import annotations

import asyncio
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assembler.errors import AssemblerError
from assembler.runners.base import ScriptJob, ScriptResult
from assembler.runners.plain import Subprocess
from assembler.runners.sandbox import Sandbox
from assembler.runners.scripts import FileRunner

Run = Callable[..., ScriptResult]


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Temporary folders of a test's own, none of which may be left at its end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert list(folder.iterdir()) == []


@pytest.fixture
def sandbox_works() -> None:
    """Skips, and says why, where nothing confines."""
    try:
        asyncio.run(Sandbox().confinement())
    except AssemblerError as error:
        pytest.skip(str(error))


@pytest.fixture(params=[Sandbox, Subprocess], ids=["sandbox", "subprocess"])
def kind(request: pytest.FixtureRequest) -> type[FileRunner]:
    """Each kind of runner."""
    if request.param is Sandbox:
        request.getfixturevalue("sandbox_works")
    return request.param


@pytest.fixture
def skill(tmp_path: Path) -> Callable[..., Path]:
    """Writes a skill."""

    def write(files: dict[str, str | bytes]) -> Path:
        folder = tmp_path / "skill"
        for name, content in files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        return folder

    return write


@pytest.fixture
def run(skill: Callable[..., Path]) -> Run:
    """Runs one script as the only file of a skill."""

    def run(runner: FileRunner, code: str, arguments: Any = None, *, name: str = "scripts/main.py") -> ScriptResult:
        return asyncio.run(runner.run(ScriptJob(skill({name: code}), name, arguments)))

    return run


class Marked:
    """Processes that carry a word in their command line."""

    def __init__(self) -> None:
        self.word = f"marker-{uuid.uuid4().hex}"

    def alive(self) -> list[int]:
        """Their process ids, zombies left out as they have no command line."""
        found: list[int] = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    line = (entry / "cmdline").read_bytes()
                except (FileNotFoundError, ProcessLookupError, PermissionError):
                    continue
                if self.word.encode() in line:
                    found.append(int(entry.name))
        return found

    async def appear(self) -> None:
        """Waits until there is one."""
        while not self.alive():  # noqa: ASYNC110 - other processes set no event
            await asyncio.sleep(0.02)


@pytest.fixture
def marked() -> Iterator[Marked]:
    """A word for the command lines of a test's processes, none of which may be left at its end."""
    marked = Marked()
    yield marked
    assert marked.alive() == []
