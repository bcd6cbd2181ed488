"""Approvals asked on the terminal."""

from __future__ import annotations

import asyncio
import os
import re

from assembler.approval.requests import Answer, ApprovalRequest, Approver
from assembler.cli.question import question
from assembler.cli.terminal import columns, has_terminal, is_yes, line, terminal

ASKS = "Allow it once, or say why not? [y/N] "

_NO = re.compile(r"no?\b[\s,;:.!-]*", re.IGNORECASE)


def terminal_approver() -> Approver | None:
    """Asks on the controlling terminal; None where there is none."""
    return ask if has_terminal() else None


async def ask(request: ApprovalRequest) -> Answer:
    """Shows what would run and reads one line; anything but a yes is a no, and tells the model why."""
    with terminal() as descriptor:
        os.write(descriptor, (question(request, columns(descriptor)) + ASKS).encode())
        try:
            typed = await line(descriptor)
        except asyncio.CancelledError:
            os.write(descriptor, b"\n")  # what comes next begins a line of its own
            raise
    if is_yes(typed):
        return Answer("approve", request.digest)
    return Answer("deny", request.digest, reason=_why(typed.decode("utf-8", "replace").strip()))


def _why(typed: str) -> str:
    """What is said beside the no."""
    said = _NO.match(typed)
    return typed[said.end() :] if said else typed
