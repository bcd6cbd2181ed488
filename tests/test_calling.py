"""Calling functions of others: where they run, and that nothing that they raise ends more than the call."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from assembler.calling import call


def blocking() -> int:
    return threading.get_ident()


async def async_() -> int:
    return threading.get_ident()


class Async:
    async def __call__(self) -> int:
        return threading.get_ident()

    async def method(self) -> int:
        return threading.get_ident()


def hidden() -> Any:
    """Nobody can see beforehand that it is async."""
    return async_()


@pytest.mark.parametrize(
    ("function", "on_loop"),
    [
        (blocking, False),
        (async_, True),
        (Async(), True),
        (Async().method, True),
        (hidden, True),
        (functools.partial(async_), True),
        (functools.partial(blocking), False),
    ],
)
def test_only_what_is_async_runs_on_the_event_loop(function: Callable[..., Any], on_loop: bool) -> None:
    async def here() -> bool:
        return await call(function) == threading.get_ident()

    assert asyncio.run(here()) is on_loop


def test_arguments_and_context_go_along() -> None:
    variable = contextvars.ContextVar[str]("variable")

    def function(first: int, *, second: int) -> tuple[int, int, str]:
        return first, second, variable.get()

    async def main() -> object:
        variable.set("seen")
        return await call(function, 1, second=2)

    assert asyncio.run(main()) == (1, 2, "seen")


def raising(error: BaseException) -> Callable[[], NoReturn]:
    def function() -> NoReturn:
        raise error

    return function


def raising_async(error: BaseException) -> Callable[[], Any]:
    async def function() -> NoReturn:
        raise error

    return function


@pytest.mark.parametrize("make", [raising, raising_async])
@pytest.mark.parametrize(
    ("error", "expected", "told"),
    [
        (ValueError("x"), ValueError, "x"),
        (StopIteration(), RuntimeError, "StopIteration"),
        (SystemExit(3), RuntimeError, "SystemExit"),
        (asyncio.CancelledError(), RuntimeError, "CancelledError"),
    ],
)
def test_what_it_raises_ends_this_call_alone(
    make: Callable[[BaseException], Callable[[], Any]], error: BaseException, expected: type[Exception], told: str
) -> None:
    async def main() -> None:
        with pytest.raises(expected, match=told):
            await asyncio.wait_for(call(make(error)), 5)

    asyncio.run(main())


def test_an_interrupt_that_a_thread_raises_is_its_own() -> None:
    """Ctrl-C reaches no thread but the main one, so what looks like it is what the function raised."""

    async def main() -> None:
        with pytest.raises(RuntimeError, match="KeyboardInterrupt"):
            await asyncio.wait_for(call(raising(KeyboardInterrupt())), 5)

    asyncio.run(main())


@pytest.mark.parametrize("is_async", [True, False])
def test_cancelling_the_caller_goes_through(is_async: bool) -> None:
    release = threading.Event()

    async def main() -> None:
        task = asyncio.create_task(call(asyncio.Event().wait if is_async else release.wait))
        await asyncio.sleep(0.05)
        task.cancel()
        try:
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(task, 5)
        finally:
            release.set()

    asyncio.run(main())
