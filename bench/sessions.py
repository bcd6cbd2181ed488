"""What is added to a conversation, against adding to a short one and against the bare database."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

from assembler.items import Item, assistant_message, function_call, function_call_output, user_message
from assembler.scope import Scope
from assembler.sessions.base import SessionStore
from assembler.sessions.sqlite import Sqlite
from bench.measure import Figure, at_most, clock, in_turn

TIMES = 50
RUN: list[Item] = [
    user_message("How many kilometres is a 26.2 mile marathon?"),
    function_call("call-1", "run_skill_script", '{"skill_name": "unit-converter"}'),
    function_call_output("call-1", "26.2 mi = 42.1648 km"),
    assistant_message("26.2 mi = 42.1648 km"),
]


def measure(rounds: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as name, asyncio.Runner() as runner:
        scope = Scope()
        store = Sqlite(path=Path(name) / "sessions.db").open(scope, Path(name))
        bare = sqlite3.connect(Path(name) / "bare.db", isolation_level=None)
        try:
            adds = [runner.run(_adding(runner, store, length)) for length in (10_000, 10)]
            long, short, floor = in_turn(rounds, *map(clock, adds), clock(_floor(bare)))
        finally:
            bare.close()
            runner.run(scope.aclose())
    return [
        Figure(f"add {TIMES} runs to a session of 10,000 items", long, "to one of 10 items", short, bound=at_most(1.5)),
        Figure(f"add {TIMES} runs to a session of 10 items", short, "one synced row in SQLite each", floor),
    ]


async def _adding(runner: asyncio.Runner, store: SessionStore, length: int) -> Callable[[], None]:
    """Fills a conversation, and gives what adds to it."""
    name = str(length)
    version = await store.append(name, (RUN * length)[:length], expected=0, digest="bench", declaration={})

    async def add() -> None:
        nonlocal version
        for _ in range(TIMES):
            version = await store.append(name, RUN, expected=version, digest="bench", declaration={})

    return lambda: runner.run(add())


def _floor(bare: sqlite3.Connection) -> Callable[[], None]:
    bare.execute("PRAGMA journal_mode = WAL")
    bare.execute("PRAGMA synchronous = FULL")
    bare.execute("CREATE TABLE rows (text TEXT)")

    def insert() -> None:
        for _ in range(TIMES):
            bare.execute("INSERT INTO rows VALUES ('a row')")

    return insert
