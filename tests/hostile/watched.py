"""A program that goes through projects, runs commands in each, and tells what its process did meanwhile.

Its argument is a file with a JSON object: the projects, and what else is whose. What it knows comes from audit hooks
(https://docs.python.org/3/library/audit_events.html), which see what any Python code does and cannot be removed again.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType
from typing import Any, cast

STARTS = frozenset(
    ("os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn", "subprocess.Popen")
)
CHANGES = frozenset(("os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink"))
HARMLESS = frozenset({"socket.__new__"})
"""Making a socket reaches nobody; an event loop makes two that are connected to each other."""


class Recorder(threading.local):
    """What happens outside of the project, and which of its code runs, as lines ``what: to what``.

    Each thread has its own, so that what one does while it looks hides nothing of what another does.

    Args:
        lines: Where the lines go, of all threads.
        free: Folders of Python's and of the person's own, in which anything may happen.

    Attributes:
        project: The project.
        searched: Folders in which Python itself looks for modules; they may be listed.
        folder: In which a relative name is opened.
    """

    project = Path()
    searched: frozenset[Path] = frozenset()

    def __init__(self, lines: list[str], free: list[str]) -> None:
        self._lines, self._free = lines, [*map(Path, free)]
        self._is_looking = False
        self.folder = Path()

    def hear(self, event: str, args: tuple[Any, ...]) -> None:
        """Takes an audit event."""
        if self._is_looking:
            return  # what looking causes
        self._is_looking = True
        try:
            self._lines += self._told(event, args)
        finally:
            self._is_looking = False

    def _told(self, event: str, args: tuple[Any, ...]) -> Iterator[str]:
        if event in STARTS:
            yield f"{event}: {args!r}"
        elif event.startswith("socket.") and event not in HARMLESS:
            yield f"{event}: {args[1:]!r}"
        elif event == "exec":
            yield from self._ran(event, cast("CodeType", args[0]).co_filename)
        elif event in {"import", "compile"}:
            yield from self._ran(event, args[1])
        elif event == "ctypes.dlopen":
            yield from self._ran(event, args[0])
        elif event == "open":
            is_write = bool(args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
            yield from self._reached("write" if is_write else "open", args[0], self.folder)
        elif event in {"os.listdir", "os.scandir"}:
            yield from self._reached("list", "." if args[0] is None else args[0], Path())
        elif event in CHANGES:
            names = args[1:2] if event in {"os.link", "os.symlink"} else args[:2]
            for name in names:
                yield from self._reached(event, name, folder_of(args[-1]))

    def _reached(self, what: str, name: Any, folder: Path) -> Iterator[str]:
        """A file or folder that was opened or changed; all but reading the project's own."""
        if not isinstance(name, str | bytes | os.PathLike):
            return  # a descriptor, whose opening was told
        path = (folder / os.fsdecode(name)).resolve()
        is_reading = what in {"open", "list"} and path.is_relative_to(self.project)
        is_searching = what == "list" and path in self.searched
        if not is_reading and not is_searching and not any(path.is_relative_to(each) for each in self._free):
            yield f"{what}: {path}"

    def _ran(self, what: str, file: Any) -> Iterator[str]:
        """Code of the project; the name of what has no file looks like `<string>`."""
        name = "" if file is None else os.fsdecode(file)
        if name[:1] not in {"", "<"} and Path(name).resolve().is_relative_to(self.project):
            yield f"{what}: {name}"


def folder_of(descriptor: int | None) -> Path:
    """The folder that a descriptor stands for; without one it is the working folder."""
    return Path() if descriptor is None or descriptor < 0 else Path(f"/proc/self/fd/{descriptor}")


def tell_folders(recorder: Recorder) -> None:
    """Tells in which folder a name is opened, which the audit events of `os.open` leave out."""
    plain = os.open

    def opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        recorder.folder = folder_of(dir_fd)
        try:
            return plain(path, flags, mode, dir_fd=dir_fd)
        finally:
            recorder.folder = Path()

    assert shutil.rmtree.avoids_symlink_attacks, "it has looked at the plain function by now"
    os.open = opened


class Variables(os._Environ[str]):
    """The environment; tells which variables were read."""

    def __init__(self, outer: Any) -> None:
        super().__init__(outer._data, outer.encodekey, outer.decodekey, outer.encodevalue, outer.decodevalue)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.read.add(name)
        return super().__getitem__(name)


def main(asked: dict[str, Any]) -> None:
    """Visits each project."""
    lines: list[str] = []
    recorder = Recorder(lines, asked["free"])
    os.environ = variables = Variables(os.environ)
    tell_folders(recorder)
    sys.addaudithook(recorder.hear)
    known, path = frozenset(map(Path, sys.path)), [*sys.path]
    report: list[dict[str, Any]] = []
    for visit in asked["visits"]:
        os.chdir(visit["project"])
        Recorder.project, Recorder.searched = Path(visit["project"]), known | set(map(Path, visit["path"]))
        sys.path[:] = [*visit["path"], *path]
        importlib.invalidate_caches()
        for command in visit["commands"]:
            lines.clear()
            variables.read.clear()
            outcome = outcome_of(command)
            for stream in (sys.stdout, sys.stderr):
                stream.write(asked["end"])
                stream.flush()
            report.append({**outcome, "did": [*dict.fromkeys(lines)], "variables": sorted(variables.read)})
    Path(asked["report"]).write_text(json.dumps(report), "utf-8")


def outcome_of(command: list[str]) -> dict[str, Any]:
    """Runs a command; what follows `complete` is the line that a shell would complete."""
    arguments, line = (command[:1], command[1]) if command[0] == "complete" else (command, "")
    os.environ["COMP_LINE"] = line
    before = time.process_time()
    code: Any = None
    with suppress(SystemExit):
        # Heard, too: some attacks wait for what the package imports.
        from assembler.cli.main import main as assemble

        code = assemble(arguments)
    return {"code": code, "seconds": time.process_time() - before}


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text("utf-8")))
