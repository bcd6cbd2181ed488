"""Waiting for what has to come to its end, also while the waiting task is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def wait_through(future: asyncio.Future[T], on_cancel: Callable[[], None] | None = None) -> T:
    """The future's result; a cancellation is let through only once the future is done.

    Args:
        future: What to wait for; it is never cancelled itself.
        on_cancel: Called at each cancellation, to bring the end about.

    Raises:
        asyncio.CancelledError: The waiting task was cancelled meanwhile.
    """
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError as error:
            cancelled = error
            if on_cancel is not None:
                on_cancel()
    if cancelled is not None:
        if not future.cancelled():
            future.exception()  # nobody else will look at it
        raise cancelled
    return future.result()


async def in_thread(work: Callable[[], T]) -> T:
    """Runs blocking work in a thread; a cancellation is let through only once the work is done."""
    return await wait_through(asyncio.get_running_loop().run_in_executor(None, work))
