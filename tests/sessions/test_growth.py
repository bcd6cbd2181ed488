"""What sessions cost: adding to a long conversation is adding, and many of them take little room."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

import pytest
from tests.agent.support import agent
from tests.sessions.support import AGENT, run_of, store_of

from assembler.agent.opened import Opened
from assembler.items import Item, assistant_message, user_message
from assembler.sessions import database
from assembler.sessions.base import SessionBackend, SessionStore
from assembler.sessions.database_file import opened
from assembler.sessions.memory import Memory
from assembler.sessions.sqlite import Sqlite

SESSIONS = 1000
MIB = 1024**2

BACKENDS = [Memory(), Sqlite(path=Path("sessions.db"))]


def talk(name: str) -> Sequence[Item]:
    """Ten messages of the length that people write."""
    text = "message {} of session {}, which says something of an ordinary length, as people do when they ask."
    said = [text.format(number, name) for number in range(5)]
    return [message(each) for each in said for message in (user_message, assistant_message)]


@pytest.mark.parametrize("backend", BACKENDS, ids=["memory", "sqlite"])
def test_appending_takes_as_long_in_a_long_conversation(backend: SessionBackend, tmp_path: Path) -> None:
    async def times(store: SessionStore, items: int) -> list[float]:
        name = str(items)
        version = await store.append(name, run_of("1") * (items // 4), expected=0, **AGENT)
        taken: list[float] = []
        for _ in range(60):
            started = perf_counter()
            version = await store.append(name, run_of("2"), expected=version, **AGENT)
            taken.append(perf_counter() - started)
        return taken

    async def measure() -> tuple[float, float]:
        async with store_of(backend, tmp_path) as store:
            return median(await times(store, 12)), median(await times(store, 40_000))

    short, long = asyncio.run(measure())
    # Writing all of it anew would take hundreds of times as long; a busy machine, twice or thrice.
    assert long < 5 * short


@pytest.mark.parametrize("query", [database._ITEMS, database._AGENTS])
def test_reading_one_conversation_looks_at_no_other(query: str, tmp_path: Path) -> None:
    connection = opened(tmp_path / "sessions.db", 1)
    steps = [row[-1] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", (1,))]
    connection.close()
    assert [step for step in steps if step.startswith("SEARCH")]
    assert not [step for step in steps if step.startswith("SCAN")]


@pytest.mark.parametrize(("backend", "most"), [*zip(BACKENDS, (4.0, 0.5), strict=True)])
def test_a_thousand_conversations_take_little_memory(backend: SessionBackend, most: float, tmp_path: Path) -> None:
    async def fill() -> float:
        async with store_of(backend, tmp_path) as store:
            await store.append("first", talk("first"), expected=0, **AGENT)
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            for number in range(SESSIONS):
                await store.append(str(number), talk(str(number)), expected=0, **AGENT)
            gc.collect()
            return (tracemalloc.get_traced_memory()[0] - before) / MIB

    tracemalloc.start()
    try:
        assert asyncio.run(fill()) < most
    finally:
        tracemalloc.stop()


def test_an_agent_forgets_the_names_of_sessions_that_nobody_uses() -> None:
    async def use() -> int:
        opened = await Opened.of(agent().config, Path(), Memory(), lambda: None, lambda diagnostic: None)
        try:
            async with opened.turn_of("kept"):
                for number in range(100):
                    async with opened.turn_of(str(number)):
                        pass
                gc.collect()
                return len(opened._turns)
        finally:
            await opened.close()

    assert asyncio.run(use()) == 1
