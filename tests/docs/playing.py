"""Plays a page: writes the files that it shows, runs its commands and its Python, and compares what they print."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import uv

from .expected import difference
from .pages import ROOT, Block, Page
from .terminal import talk

SECONDS = 60

# What `pip install ./folder` on a page does: it really builds and installs, though without a network, and into a folder
# of the page's own.
_PIP = """\
#!/bin/sh
[ "$1" = install ] && [ $# -eq 2 ] || exit 2
exec {uv} pip install --quiet --python {python} --offline --no-build-isolation --no-deps --target {site} "$2"
"""


@dataclass
class Playground:
    """A scratch project in which one page is played, block after block.

    Attributes:
        page: The page.
        folder: The project's folder, which is also the working directory.
        tools: A folder for what is not the project's: commands, and distributions that the page installs.
        module: Where the page's Python lives.
        addresses: Addresses that the page names, and what really answers there.
    """

    page: Page
    folder: Path
    tools: Path
    module: ModuleType
    addresses: dict[str, str] = field(default_factory=dict[str, str])
    _status: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir()
        (self.folder / ".git").mkdir()
        if self.page.marks.get("project") == "example":
            for name in ("conf", "skills"):
                shutil.copytree(ROOT / name, self.folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            for path in (self.folder / "conf").rglob("*.yaml"):
                path.write_text(self._real(path.read_text("utf-8")), "utf-8")
        self.tools.mkdir()
        pip = self.tools / "pip"
        pip.write_text(_PIP.format(uv=uv.find_uv_bin(), python=sys.executable, site=self.tools / "site"))
        pip.chmod(0o755)

    @property
    def env(self) -> dict[str, str]:
        """The environment of commands: nothing of the machine's own but the programs."""
        programs = (self.tools, Path(sys.executable).parent, "/usr/local/bin", "/usr/bin", "/bin")
        return {
            "PATH": os.pathsep.join(map(str, programs)),
            "HOME": str(self.tools),
            "LANG": "C.UTF-8",
            "COLUMNS": "100",
            "PYTHONPATH": str(self.tools / "site"),
            "PYTHONWARNINGS": "error",
        }

    def play(self) -> None:
        """Plays every block of the page in its order."""
        for block, following in pairwise([*self.page.blocks, None]):
            if block is None or block.is_output or block.is_marked("make"):
                continue  # what make prints is compared in test_readme.py
            if block.file is not None:
                self._write(block.file, block.text)
            elif block.language == "console":
                self._run(block)
            elif block.language == "python":
                output = following.text if following is not None and following.is_output else ""
                self._compare(block, block.line, output, self._execute(block))
            else:
                self._fail(block.line, "a block that names no file is `console`, or `python` with its output in `text`")

    def _write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self._real(text), "utf-8")

    def _run(self, block: Block) -> None:
        for line, command, expected in _commands(block):
            if self._status and command != "echo $?":
                self._fail(line - 1, f"the command before exits with {self._status}, which the page does not show")
            real = f"(exit {self._status})\n{self._real(command)}"
            if block.is_marked("terminal"):
                self._status, printed = talk(real, expected, self.folder, self.env)
            else:
                self._status, printed = self._bash(real)
            self._compare(block, line, expected, printed)
        if self._status:
            self._fail(block.line, f"its last command exits with {self._status}, which the page does not show")

    def _bash(self, command: str) -> tuple[int, str]:
        # A session of its own has no terminal: nobody is asked for approval.
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=SECONDS,
            start_new_session=True,
        )
        return done.returncode, done.stdout

    def _execute(self, block: Block) -> str:
        # Blank lines before it give tracebacks the lines of the page.
        code = compile("\n" * (block.line - 1) + self._real(block.text), str(self.page.path), "exec")
        with redirect_stdout(StringIO()) as printed:
            exec(code, vars(self.module))  # noqa: S102 - examples of this repository's own pages
        return printed.getvalue()

    def _compare(self, block: Block, line: int, expected: str, printed: str) -> None:
        found = difference(expected, self._named(printed))
        if found:
            self._fail(line, f"the `{block.language}` block differs from what is printed\n{found}")

    def _real(self, text: str) -> str:
        for named, real in self.addresses.items():
            text = text.replace(named, real)
        return text

    def _named(self, text: str) -> str:
        for named, real in self.addresses.items():
            text = text.replace(real, named)
        return text.replace(f"{self.folder}/", "")

    def _fail(self, line: int, why: str) -> None:
        raise AssertionError(f"{self.page.path}:{line}: {why}")


def _commands(block: Block) -> Iterator[tuple[int, str, str]]:
    """The commands of a block, each with its line and what it prints."""
    starts = re.compile(r"^\$ (?P<command>.*(?:(?<=\\)\n.*)*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)
    end = 0
    for found in starts.finditer(block.text):
        if found.start() != end:
            break
        end = found.end()
        yield block.line + block.text.count("\n", 0, found.start()), found["command"], found["output"]
    if end != len(block.text) or not block.text:
        raise ValueError(f"line {block.line}: a console block is commands after `$ `, each with what it prints")
