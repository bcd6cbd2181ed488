"""Waiting for what has to come to its end, also while the waiting task is cancelled; and waiting for it together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

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


class Joint(Generic[T]):
    """Work that is done once for all who ask for it before it begins, and never twice at the same time.

    What each gets is as new as if it had asked alone, and a caller that is cancelled takes nothing from the others.

    Args:
        work: Does it.
    """

    def __init__(self, work: Callable[[], Awaitable[T]]) -> None:
        self._work = work
        self._working = asyncio.Lock()
        self._next: asyncio.Task[T] | None = None
        self._tasks: set[asyncio.Task[T]] = set()

    async def done(self) -> T:
        """What comes of it, begun from now on; raises whatever it raises."""
        if self._next is None:
            self._next = asyncio.create_task(self._begin())
            self._tasks.add(self._next)
            self._next.add_done_callback(self._tasks.discard)
        return await asyncio.shield(self._next)

    async def aclose(self) -> None:
        """Stops what nobody waits for any more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _begin(self) -> T:
        async with self._working:
            self._next = None
            return await self._work()
