"""Calling a function that somebody else wrote, without blocking the event loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
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

    try:
        result = contained() if _is_async(function) else await asyncio.to_thread(contained)
        return await cast("Awaitable[object]", result) if inspect.isawaitable(result) else result
    except SystemExit as error:
        raise _contained(error) from error
    except asyncio.CancelledError as error:
        if cast("asyncio.Task[Any]", asyncio.current_task()).cancelling():
            raise
        raise _contained(error) from error


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _contained(error: BaseException) -> RuntimeError:
    return RuntimeError(f"the function raised {type(error).__name__}")
