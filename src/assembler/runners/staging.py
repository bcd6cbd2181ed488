"""The private folder of one run on the host: filled before the script starts, removed after its tree is dead."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from assembler.errors import problem
from assembler.folders import discard_tree
from assembler.runners.endings import start_failed
from assembler.waiting import in_thread


@asynccontextmanager
async def run_folder() -> AsyncGenerator[Path]:
    """A new folder (mode 0700), removed with everything in it on leaving."""
    made: list[Path] = []  # filled by the thread, so that a cancellation meanwhile does not lose the path
    try:
        await in_thread(lambda: made.append(Path(tempfile.mkdtemp(prefix="assembler-run-"))))
        yield made[0]
    finally:
        for path in made:
            await in_thread(partial(discard_tree, path))


async def stage(work: Callable[[], None]) -> None:
    """Fills a run's folder, in a thread.

    Args:
        work: What fills it.

    Raises:
        AssemblerError: It cannot be filled (``runner/start-failed``).
    """
    try:
        await in_thread(work)
    except OSError as error:
        raise start_failed(f"its folder could not be filled: {error}") from error


def copy_inputs(files: Sequence[tuple[str, Path]], target: Path) -> None:
    """Copies the files handed to a run into a new folder, where everybody may read and nobody write.

    Args:
        files: Their names there, and where they are.
        target: Path of the folder.

    Raises:
        AssemblerError: A name is not that of a file, stands twice, or its file cannot be read (``runner/bad-input``).
    """
    target.mkdir()
    for name, source in files:
        if name in {"", ".", ".."} or "/" in name or "\0" in name:
            raise problem("runner/bad-input", f"{name!r} cannot be the name of an input file", hint="use a plain name")
        copy = target / name
        if copy.exists():
            raise problem("runner/bad-input", f"two input files are called `{name}`", hint="give each its own name")
        if not source.is_file():
            raise problem("runner/bad-input", f"input `{name}` is not a regular file", hint=f"look at `{source}`")
        shutil.copyfile(source, copy)
        copy.chmod(0o444)
    target.chmod(0o555)


def copy_skill(source: Path, target: Path) -> None:
    """Copies a skill's files to where everybody may read and nobody write; links stay links.

    Args:
        source: The skill's folder.
        target: Path of the copy.
    """
    for folder, _, names in os.walk(source):
        copy = target / Path(folder).relative_to(source)
        copy.mkdir()
        for entry in os.scandir(folder):
            if entry.is_symlink():
                (copy / entry.name).symlink_to(Path(entry.path).readlink())
            elif entry.name in names:
                shutil.copyfile(entry.path, copy / entry.name)
                (copy / entry.name).chmod(0o555 if entry.stat().st_mode & stat.S_IXUSR else 0o444)
    for folder, _, _ in os.walk(target, topdown=False):
        Path(folder).chmod(0o555)
