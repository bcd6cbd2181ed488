"""A terminal with the command line in it, as a person would sit at."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager

PROGRAM = """
import os, sys
os.open(os.ttyname(0), os.O_RDWR)  # the leader of a session that opens a terminal is controlled by it
from assembler.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


class Terminal:
    """A terminal with a program in it."""

    def __init__(self, descriptor: int, process: subprocess.Popen[bytes]) -> None:
        self._descriptor = descriptor
        self._process = process
        self.shown = ""
        self._seen = 0

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def paste(self, text: str) -> None:
        """Hands over a text as a terminal does that was asked to mark what is pasted."""
        lines = text.replace("\n", "\r")
        self.type(f"\x1b[200~{lines}\x1b[201~")

    def resize(self, rows: int, columns: int) -> None:
        termios.tcsetwinsize(self._descriptor, (rows, columns))

    def hang_up(self) -> None:
        """Takes the terminal away, as a connection that breaks does."""
        os.close(self._descriptor)
        self._descriptor = -1

    def close(self) -> None:
        if self._descriptor >= 0:
            self.hang_up()

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def wait_for(self, pattern: str, seconds: float = 30) -> None:
        """Reads until a pattern was shown, after what the last wait found."""
        end = time.monotonic() + seconds
        while (found := re.compile(pattern).search(self.shown, self._seen)) is None:
            assert time.monotonic() < end, self.shown
            self._read(0.1)
        self._seen = found.end()

    def wait_a_moment(self, seconds: float = 1) -> None:
        """Reads whatever is shown within a time, where the point is that nothing is."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._read(0.1)

    def code(self, seconds: float = 30) -> int:
        """Reads to the end and returns the exit code."""
        end = time.monotonic() + seconds
        while self._process.poll() is None:
            assert time.monotonic() < end, self.shown
            self._read(0.1)
        self._read(0)
        return self._process.returncode

    def _read(self, seconds: float) -> None:
        if self._descriptor < 0:
            time.sleep(seconds)
        elif select.select([self._descriptor], [], [], seconds)[0]:
            try:
                data = os.read(self._descriptor, 65536)
            except OSError:  # nothing holds the other end any more
                time.sleep(seconds)
                return
            self.shown += data.decode("utf-8", "replace")


@contextmanager
def terminal(*arguments: str, **env: str) -> Iterator[Terminal]:
    """A terminal of 24 rows and 80 columns.

    Args:
        *arguments: The command line.
        **env: What the environment has besides ``TERM=xterm``, or in place of it.
    """
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm", **env},
    )
    os.close(theirs)
    shown = Terminal(ours, process)
    try:
        yield shown
    finally:
        process.kill()
        process.wait()
        shown.close()
