"""The terminal that a person sits at, wherever the standard streams lead."""

from __future__ import annotations

import os
import termios
from collections.abc import Generator
from contextlib import contextmanager

from assembler.cli.output import printable


def has_terminal() -> bool:
    """Whether there is one, so that nobody is taken to have agreed where nobody could."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


@contextmanager
def terminal() -> Generator[int]:
    """Its descriptor; what was typed before cannot be meant as an answer, and is forgotten."""
    descriptor = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    try:
        termios.tcflush(descriptor, termios.TCIFLUSH)
        yield descriptor
    finally:
        os.close(descriptor)


def is_yes(line: bytes) -> bool:
    """Whether a line says yes; anything else is a no."""
    return line.decode("utf-8", "replace").strip().lower() in {"y", "yes"}


def agrees(question: str) -> bool:
    """Asks a question and waits for a line.

    Args:
        question: What is asked; foreign text in it is shown, not obeyed.
    """
    with terminal() as descriptor:
        os.write(descriptor, f"{printable(question)} [y/N] ".encode())
        return is_yes(os.read(descriptor, 4096))
