"""Waiting together: work that those who ask for it share."""

from __future__ import annotations

import asyncio

import pytest

from assembler.waiting import Joint


class Work:
    """Hands out what was asked for before it began; each round ends when it is let go."""

    def __init__(self) -> None:
        self.begun = 0
        self.going_on = 0
        self.go_on = asyncio.Event()

    async def __call__(self) -> int:
        self.begun += 1
        self.going_on += 1
        assert self.going_on == 1
        mine = self.begun
        try:
            await self.go_on.wait()
            if mine == 13:
                raise ValueError("an unlucky round")
            return mine
        finally:
            self.going_on -= 1


async def _asked(joint: Joint[int], times: int) -> list[asyncio.Task[int]]:
    tasks = [asyncio.create_task(joint.done()) for _ in range(times)]
    await asyncio.sleep(0.01)
    return tasks


def test_who_asks_before_it_begins_shares_it_and_who_asks_later_gets_a_new_one() -> None:
    async def use() -> None:
        work = Work()
        joint = Joint(work)
        first = await _asked(joint, 3)
        later = await _asked(joint, 3) + await _asked(joint, 3)
        assert work.begun == 1
        work.go_on.set()
        assert await asyncio.gather(*first) == [1] * 3
        assert await asyncio.gather(*later) == [2] * 6

    asyncio.run(use())


def test_a_failure_reaches_all_who_share_it_and_nobody_else() -> None:
    async def use() -> None:
        work = Work()
        work.begun = 12
        joint = Joint(work)
        failing, fine = await _asked(joint, 2), await _asked(joint, 2)
        work.go_on.set()
        assert [str(error) for error in await asyncio.gather(*failing, return_exceptions=True)] == [
            "an unlucky round"
        ] * 2
        assert await asyncio.gather(*fine) == [14, 14]

    asyncio.run(use())


def test_who_is_cancelled_takes_nothing_from_the_others() -> None:
    async def use() -> None:
        work = Work()
        joint = Joint(work)
        gone, stays = await _asked(joint, 2)
        gone.cancel()
        await asyncio.sleep(0.01)
        work.go_on.set()
        assert await stays == 1
        with pytest.raises(asyncio.CancelledError):
            await gone

    asyncio.run(use())


def test_closing_stops_what_goes_on_and_what_waits() -> None:
    async def use() -> None:
        work = Work()
        joint = Joint(work)
        tasks = await _asked(joint, 1) + await _asked(joint, 1)
        await joint.aclose()
        assert work.going_on == 0
        assert all(
            isinstance(each, asyncio.CancelledError) for each in await asyncio.gather(*tasks, return_exceptions=True)
        )

    asyncio.run(use())
