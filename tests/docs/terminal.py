"""A person at a terminal: reads what is shown, and types what the page says at each prompt."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

_PROMPT = re.compile(r"^(?P<prompt>> |.*\[y/N\] )(?P<typed>.*)$", re.MULTILINE)
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")

SECONDS = 60


def talk(command: str, expected: str, folder: Path, env: Mapping[str, str]) -> tuple[int, str]:
    """Runs a command on a terminal of its own.

    Args:
        command: For bash.
        expected: What is shown with what is typed after each prompt.
        folder: Where it runs.
        env: Its environment.

    Returns:
        Its exit code, and what a person saw.
    """
    ours, theirs = pty.openpty()
    try:
        # A session of its own, so that the command finds this terminal as its controlling one.
        process = subprocess.Popen(
            ["setsid", "--ctty", "bash", "-c", command],
            cwd=folder,
            env={**env, "TERM": "dumb"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        answers = [found["typed"] for found in _PROMPT.finditer(expected)]
        seen, typed = "", 0
        for shown in _read(ours, process):
            seen += shown
            plain = _plain(seen)
            if plain.endswith(("> ", "[y/N] ")) and typed < min(len(_PROMPT.findall(plain)), len(answers)):
                os.write(ours, f"{answers[typed]}\r".encode())
                typed += 1
        return process.wait(SECONDS), _plain(seen)
    finally:
        os.close(ours)


def _read(terminal: int, process: subprocess.Popen[bytes]) -> Iterator[str]:
    """What is shown, piece by piece, until the other side is closed."""
    until = time.monotonic() + SECONDS
    pending = b""
    while True:
        ready, _, _ = select.select([terminal], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            process.kill()
            raise AssertionError(f"no end after {SECONDS} s")
        try:
            data = os.read(terminal, 65536)
        except OSError:  # Linux says so when the last process that holds the other side ends
            return
        if not data:
            return
        pending += data
        try:
            yield pending.decode("utf-8")
        except UnicodeDecodeError:  # a character came in halves
            continue
        pending = b""


def _plain(seen: str) -> str:
    return _ESCAPES.sub("", seen)
