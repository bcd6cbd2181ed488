"""Calling a function that somebody else wrote, without blocking the event loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import copy_context
from threading import Thread
from typing import Any, cast


async def call(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> object:
    """Calls a function once: an async one on the event loop, any other in a thread.

    Being cancelled ends the wait at once; a thread that is at work goes on to its end, since nothing can stop it.

    Args:
        function: What to call.
        *args: By position.
        **kwargs: By name.

    Returns:
        What it returns; of an awaitable, what that comes to.

    Raises:
        RuntimeError: It raised what would end more than this call, such as SystemExit.
        Exception: Whatever else it raised.
    """

    def contained() -> Any:
        try:
            return function(*args, **kwargs)
        except (StopIteration, SystemExit) as error:  # a future cannot hold the one, and the other ends the loop
            raise _contained(error) from error

    def in_thread() -> Any:
        try:
            return contained()
        except KeyboardInterrupt as error:  # Ctrl-C reaches the main thread alone: the function raised it itself
            raise _contained(error) from error

    try:
        result = contained() if _is_async(function) else await _in_thread(in_thread)
        return await cast("Awaitable[object]", result) if inspect.isawaitable(result) else result
    except SystemExit as error:
        raise _contained(error) from error
    except asyncio.CancelledError as error:
        if cast("asyncio.Task[Any]", asyncio.current_task()).cancelling():
            raise
        raise _contained(error) from error


async def _in_thread(work: Callable[[], Any]) -> Any:
    """What work comes to in a thread of its own: not one of a pool that the process waits for before it ends."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[Any] = loop.create_future()
    context = copy_context()

    def settle(result: Any, error: BaseException | None) -> None:
        if outcome.done():
            return  # whoever waited has gone
        if error is None:
            outcome.set_result(result)
        else:
            outcome.set_exception(error)

    def run() -> None:
        result, error = None, None
        try:
            result = context.run(work)
        except BaseException as raised:  # noqa: BLE001  it belongs to whoever waits
            error = raised
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(settle, result, error)

    Thread(target=run, name="assembler-call", daemon=True).start()
    return await outcome


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _contained(error: BaseException) -> RuntimeError:
    return RuntimeError(f"the function raised {type(error).__name__}")
