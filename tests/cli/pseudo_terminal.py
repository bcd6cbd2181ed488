"""A terminal with the command line in it, as a person would sit at."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
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

    def wait_for(self, pattern: str, seconds: float = 30) -> None:
        """Reads until a pattern was shown, after what the last wait found."""
        end = time.monotonic() + seconds
        while (found := re.compile(pattern).search(self.shown, self._seen)) is None:
            assert time.monotonic() < end, self.shown
            self._read(0.1)
        self._seen = found.end()

    def code(self, seconds: float = 30) -> int:
        """Reads to the end and returns the exit code."""
        end = time.monotonic() + seconds
        while self._process.poll() is None:
            assert time.monotonic() < end, self.shown
            self._read(0.1)
        self._read(0)
        return self._process.returncode

    def _read(self, seconds: float) -> None:
        if select.select([self._descriptor], [], [], seconds)[0]:
            try:
                data = os.read(self._descriptor, 65536)
            except OSError:  # nothing holds the other end any more
                time.sleep(seconds)
                return
            self.shown += data.decode("utf-8", "replace")
            if b"\x1b[6n" in data:  # a program that asks where the cursor is
                os.write(self._descriptor, b"\x1b[1;1R")


@contextmanager
def terminal(*arguments: str) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    try:
        yield Terminal(ours, process)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
