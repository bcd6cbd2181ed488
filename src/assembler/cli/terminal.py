"""The terminal that a person sits at, wherever the standard streams lead."""

from __future__ import annotations

import asyncio
import errno
import os
import sys
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


async def line(descriptor: int) -> bytes:
    """One line of a terminal, without holding up the event loop; empty at the end of input."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(descriptor, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)
    return os.read(descriptor, 4096)


def columns(descriptor: int) -> int:
    """How wide a terminal is; 80 where it does not say, or is none."""
    try:
        return os.get_terminal_size(descriptor).columns or 80
    except OSError:
        return 80


def is_gone(descriptor: int) -> bool:
    """Whether it leads to a terminal that was hung up: a window that was closed, a connection that broke."""
    try:
        termios.tcgetattr(descriptor)
    except termios.error as error:
        return error.args[0] == errno.EIO
    return False


def let_go() -> None:
    """Points outputs whose terminal is gone, if any is, at nothing: Python itself still writes to them at its exit."""
    for stream in (sys.stdout, sys.stderr):
        if is_gone(stream.fileno()):
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, stream.fileno())
            os.close(nothing)


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
