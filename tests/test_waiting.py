"""Waiting for what has to come to its end, also while whoever waits is cancelled."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from assembler.waiting import wait_through


@pytest.mark.parametrize("error", [None, LookupError("nobody is told")])
def test_a_cancellation_goes_through_once_all_is_done(error: Exception | None) -> None:
    complaints: list[Any] = []
    asked: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda loop, context: complaints.append(context))
        future: asyncio.Future[int] = loop.create_future()
        waiting = asyncio.create_task(wait_through(future, lambda: asked.append("end")))
        for _ in range(3):
            await asyncio.sleep(0)
            waiting.cancel()
        await asyncio.sleep(0)
        assert not waiting.done()
        if error is None:
            future.set_result(1)
        else:
            future.set_exception(error)
        with pytest.raises(asyncio.CancelledError):
            await waiting

    asyncio.run(main())
    gc.collect()
    assert complaints == []
    assert asked == ["end"] * 3


def test_without_a_cancellation_it_is_the_result() -> None:
    async def main() -> int:
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        future.get_loop().call_soon(future.set_result, 7)
        return await wait_through(future)

    assert asyncio.run(main()) == 7
