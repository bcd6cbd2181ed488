"""Something that happens at one chosen moment of everything that an event loop does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import Any


class Steps:
    """Counts the steps of all tasks of a loop, and does something just before or after one of them.

    A step is what a task does between two waits, so that to go through all steps is to go through all moments at which
    something from outside can happen to a run.

    Args:
        at: The moment, counted from 1; each step has two.
        then: What happens.
    """

    def __init__(self, at: int, then: Callable[[], object]) -> None:
        self._at = at
        self._then = then
        self._count = 0

    @property
    def has_happened(self) -> bool:
        """Whether the moment was reached."""
        return self._count >= self._at

    def watch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Counts from now on."""
        loop.set_task_factory(lambda loop, coro, **more: asyncio.Task(_Counted(coro, self), loop=loop, **more))

    def count(self) -> None:
        """Notes a moment."""
        self._count += 1
        if self._count == self._at:
            self._then()


class _Counted(Coroutine[Any, Any, Any]):
    """A coroutine whose steps are counted."""

    def __init__(self, inner: Any, steps: Steps) -> None:
        self._inner, self._steps = inner, steps

    def send(self, value: Any) -> Any:
        self._steps.count()
        try:
            return self._inner.send(value)
        finally:
            self._steps.count()

    def throw(self, *error: Any) -> Any:
        self._steps.count()
        try:
            return self._inner.throw(*error)
        finally:
            self._steps.count()

    def close(self) -> None:
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._inner.__await__()
