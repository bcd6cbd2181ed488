"""Approvals asked on the terminal."""

from __future__ import annotations

import asyncio
import json
import os
import termios
from collections.abc import Generator
from contextlib import contextmanager

from assembler.approval.requests import Answer, ApprovalRequest, Approver
from assembler.cli.output import printable


def terminal_approver() -> Approver | None:
    """Asks on the controlling terminal; None where there is none, so that nobody is taken to have agreed."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return None
    return _ask


async def _ask(request: ApprovalRequest) -> Answer:
    """Shows what would run and reads one line; anything but a yes is a no."""
    with _terminal() as terminal:
        # What was typed before the question was shown cannot be meant as its answer.
        termios.tcflush(terminal, termios.TCIFLUSH)
        os.write(terminal, _question(request).encode())
        line = (await _line(terminal)).strip().lower()
    return Answer("approve" if line in {"y", "yes"} else "deny", request.digest)


def _question(request: ApprovalRequest) -> str:
    match = request.facts.match
    what = request.facts.runs or match.tool
    arguments = json.dumps(request.to_json()["arguments"], ensure_ascii=True)
    lines = [f"The agent asks to call {match.tool}: {what}", f"  arguments: {arguments}"]
    lines += [f"  {name}: {digest}" for name, digest in request.facts.digests]
    return "\n".join(printable(line) for line in lines) + "\nAllow it once? [y/N] "


@contextmanager
def _terminal() -> Generator[int]:
    descriptor = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


async def _line(terminal: int) -> str:
    """One line, without holding up the event loop."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(terminal, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(terminal)
    return os.read(terminal, 4096).decode("utf-8", "replace")
