"""A run that goes on, in a task of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from assembler.events import Result
from assembler.waiting import wait_through


class Running:
    """A run that whoever waits for it can cancel, and that always comes to its own end.

    Args:
        work: The run.

    Attributes:
        task: The task that does it.
    """

    def __init__(self, work: Coroutine[Any, Any, Result]) -> None:
        self.task = asyncio.create_task(work)

    def cancel(self) -> None:
        """Cancels it, a step of the loop later: a task that has not begun would end without a word."""
        self.task.get_loop().call_soon(self.task.cancel)

    async def result(self) -> Result:
        """What came of it; being cancelled cancels the run, and goes through when that has ended.

        Raises:
            asyncio.CancelledError: Whoever waits was cancelled, or the run was.
        """
        return await wait_through(self.task, self.cancel)

    async def end(self) -> None:
        """Cancels it, and waits until it has ended; being cancelled meanwhile goes through then."""
        self.cancel()
        await wait_through(asyncio.gather(self.task, return_exceptions=True))
