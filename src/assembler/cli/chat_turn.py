"""One turn of a chat: an input, and what comes of it, shown as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from assembler.approval.requests import Answer, ApprovalRequest
from assembler.cli import progress
from assembler.cli.approve import ask
from assembler.cli.chat_screen import Screen
from assembler.cli.terminal import has_terminal
from assembler.events import Event
from assembler.items import text_of

if TYPE_CHECKING:
    from assembler.agent.agent import Agent

PATIENCE = 5.0
"""Seconds without any sign of life after which a line says that the chat still waits."""

_PIECES = frozenset({"response.output_text.delta", "response.refusal.delta"})
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})


class Turn:
    """Shows the events of one run, and asks what it asks.

    Args:
        screen: Where it is shown.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        # Held while an event is shown, and while a question is open: nothing is told between it and its answer.
        self._showing = asyncio.Condition()
        self._requested: set[str] = set()
        self._running: set[str] = set()
        self._is_thinking = False
        self._has_text = False
        self._is_answered = False
        self._patience: asyncio.TimerHandle | None = None

    async def play(self, agent: Agent, text: str, files: Sequence[Path], session: str) -> None:
        """Runs an agent over an input.

        Raises:
            AssemblerError: The run did not begin: a file that is gone, a skill source that fails.
            asyncio.CancelledError: The run was cancelled.
        """
        started = perf_counter()
        approver = self._approve if has_terminal() else None
        events = agent.stream(text, files=files, session=session, approver=approver)
        self._wait()
        try:
            async with aclosing(cast("Any", events)) as stream:
                async for event in stream:
                    async with self._showing:
                        self._show(event, perf_counter() - started)
                        self._showing.notify_all()
        finally:
            self._stop_waiting()
            self._screen.end_text()

    async def _approve(self, request: ApprovalRequest) -> Answer:
        """Asks, once everything that happened before the question is on the screen."""
        async with self._showing:
            await self._showing.wait_for(lambda: request.call_id in self._requested)
            self._stop_waiting()
            self._screen.end_text()
            answer = await ask(request)
            self._wait()
            return answer

    def _show(self, event: Event, seconds: float) -> None:
        known = cast("dict[str, Any]", event)
        kind = str(known["type"])
        if kind in _PIECES:
            self._say(str(known.get("delta") or ""))
        elif kind == "response.output_item.done":
            self._end_item(known.get("item"))
        elif kind in _ENDS:
            self._is_answered, self._has_text, self._is_thinking = self._has_text, False, False
        elif _is_thought(known, kind):
            if not self._is_thinking:
                self._screen.line("  thinking ...")
            self._is_thinking = True
        elif kind == "result":
            self._end(known, seconds)
        elif told := progress.start(event) or progress.line(event):
            self._screen.line(told)
        self._follow(known, kind)

    def _follow(self, event: dict[str, Any], kind: str) -> None:
        """Notes which calls run and which are asked about, and starts to wait for what comes next."""
        if kind == "assembler.tool.started":
            self._running.add(event["call_id"])
        elif kind == "assembler.tool.finished":
            self._running.discard(event["call_id"])
        elif kind == "assembler.approval.requested":
            self._requested.add(event["call_id"])
        self._wait()
        if kind == "result":
            self._stop_waiting()

    def _say(self, text: str) -> None:
        self._screen.text(text)
        self._has_text = True

    def _end_item(self, item: object) -> None:
        """Some servers stream no pieces: then an item's text is shown when it is done."""
        text = text_of(cast("dict[str, Any]", item)) if isinstance(item, dict) else ""
        if text and not self._has_text:
            self._say(text)
        self._screen.end_text()

    def _end(self, result: dict[str, Any], seconds: float) -> None:
        if not self._is_answered and not self._has_text and result["output_text"]:
            self._say(result["output_text"])
        for told in progress.ending(result, seconds):
            self._screen.line(told)

    def _wait(self) -> None:
        self._stop_waiting()
        # A call that runs was told already, and nothing breaks into a text.
        if not self._running and not self._has_text:
            self._patience = asyncio.get_running_loop().call_later(PATIENCE, self._screen.line, "  waiting ...")

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None


def _is_thought(event: dict[str, Any], kind: str) -> bool:
    """Whether the model reasons, of which no text comes."""
    item = event.get("item")
    begins = kind == "response.output_item.added" and isinstance(item, dict)
    return kind.startswith("response.reasoning") or (begins and cast("Any", item).get("type") == "reasoning")
