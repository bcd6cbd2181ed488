"""Approvals asked on the terminal."""

from __future__ import annotations

import asyncio
import json
import os

from assembler.approval.requests import Answer, ApprovalRequest, Approver
from assembler.cli.output import printable
from assembler.cli.terminal import has_terminal, is_yes, terminal


def terminal_approver() -> Approver | None:
    """Asks on the controlling terminal; None where there is none."""
    return _ask if has_terminal() else None


async def _ask(request: ApprovalRequest) -> Answer:
    """Shows what would run and reads one line; anything but a yes is a no."""
    with terminal() as descriptor:
        os.write(descriptor, _question(request).encode())
        decision = "approve" if is_yes(await _line(descriptor)) else "deny"
    return Answer(decision, request.digest)


def _question(request: ApprovalRequest) -> str:
    match = request.facts.match
    what = request.facts.runs or match.tool
    arguments = json.dumps(request.to_json()["arguments"], ensure_ascii=True)
    lines = [f"The agent asks to call {match.tool}: {what}", f"  arguments: {arguments}"]
    lines += [f"  {name}: {digest}" for name, digest in request.facts.digests]
    return "\n".join(printable(line) for line in lines) + "\nAllow it once? [y/N] "


async def _line(terminal: int) -> bytes:
    """One line, without holding up the event loop."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(terminal, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(terminal)
    return os.read(terminal, 4096)
