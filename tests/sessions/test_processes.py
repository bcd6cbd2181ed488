"""Several processes, threads and agents on one file: they wait for each other, and nothing is lost."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.agent.support import agent, done, say
from tests.sessions.support import AGENT, append, filled, run_of, runs_in, runs_of, store_of, using

from assembler import AssemblerError
from assembler.items import text_of
from assembler.scope import Scope
from assembler.sessions.base import SessionStore
from assembler.sessions.sqlite import Sqlite

ROOT = Path(__file__).parents[2]

APPEND = """
import sys
from pathlib import Path
from tests.sessions.support import AGENT, run_of, using
from assembler import AssemblerError
from assembler.sessions.sqlite import Sqlite

async def work(store):
    conflicts = 0
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(sys.argv[3])):
        while True:
            version = (await store.load("s")).version
            try:
                await store.append("s", run_of(f"{sys.argv[2]}.{number}"), expected=version, **AGENT)
                break
            except AssemblerError as error:
                assert [found.code for found in error.diagnostics] == ["session/conflict"], error
                conflicts += 1
    print(conflicts)

using(Sqlite(path=Path(sys.argv[1])), Path.cwd(), work)
"""

TALK = """
import asyncio, sys
from pathlib import Path
from tests.agent.support import CLIENT, agent, call, done, say
from assembler.sessions.sqlite import Sqlite

async def body(arguments):
    await asyncio.sleep(0.01)
    return 1

async def main():
    conflicts = 0
    async with agent(body=body, session=Sqlite(path=Path(sys.argv[1]))) as opened:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(int(sys.argv[3])):
            while True:
                name = f"{sys.argv[2]}.{number}"
                CLIENT.streams[:] = [done(call(f"{name}-{conflicts}")), done(say(name))]
                result = await opened.run(name, session="s")
                if result.status == "completed":
                    break
                assert [found.code for found in result.diagnostics] == ["session/conflict"], result
                assert result.output_text == name, "the answer is told all the same"
                conflicts += 1
    print(conflicts)

asyncio.run(main())
"""


def run_together(program: str, path: Path, processes: int, times: int) -> int:
    """Runs a program in several processes at once; how often one of them had to do something again."""
    running = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", program, str(path), str(number), str(times)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]
    assert [process.stdout.readline() for process in running if process.stdout] == ["ready\n"] * processes
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=100)[0] for process in running]
    assert [process.returncode for process in running] == [0] * processes
    return sum(map(int, outputs))


def by_process(names: list[str], processes: int) -> list[list[str]]:
    return [[name for name in names if name.startswith(f"{number}.")] for number in range(processes)]


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    conflicts = run_together(APPEND, path, 3, 60)
    assert by_process(runs_of(Sqlite(path=path), tmp_path), 3) == [
        [f"{number}.{run}" for run in range(60)] for number in range(3)
    ]
    assert conflicts, "they did stand in each other's way"


def test_agents_in_two_processes_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    conflicts = run_together(TALK, path, 2, 12)
    items = using(Sqlite(path=path), tmp_path, lambda store: store.load("s")).items
    assert [item["type"] for item in items] == ["message", "function_call", "function_call_output", "message"] * 24
    asked, answered = ([text_of(item) for item in items[start::4]] for start in (0, 3))
    assert asked == answered
    assert by_process(asked, 2) == [[f"{number}.{run}" for run in range(12)] for number in range(2)]
    assert conflicts, "they did stand in each other's way"


BEGIN = """
import asyncio, os, sys, time
from pathlib import Path
from tests.sessions.support import append, store_of
from assembler.sessions.sqlite import Sqlite

async def begin(path, name, at):
    async with store_of(Sqlite(path=path), path.parent) as store:
        while time.monotonic() < at:
            pass
        await append(store, name, "1")

for attempt in range(70):
    at, children = time.monotonic() + 0.02, []
    for number in range(6):
        child = os.fork()
        if not child:
            try:
                asyncio.run(begin(Path(sys.argv[1], f"{attempt}.db"), str(number), at))
            except BaseException as error:
                print(error)
            sys.stdout.flush()
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
"""


def test_a_file_is_made_once_by_processes_that_begin_at_once(tmp_path: Path) -> None:
    """SQLite does not wait in every step of it; so rarely that it takes many files to see it."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", BEGIN, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""
    for path in tmp_path.glob("*.db"):
        names = [each.name for each in using(Sqlite(path=path), tmp_path, lambda store: store.summaries())]
        assert sorted(names) == [*map(str, range(6))]


def test_a_file_is_made_once_by_threads_that_begin_at_once(tmp_path: Path) -> None:
    """Closing a file that the same process has open would drop the locks of all its connections."""
    backend = Sqlite(path=tmp_path / "new" / "sessions.db")
    ready = threading.Barrier(6)

    def work(name: str) -> None:
        ready.wait()
        using(backend, tmp_path, lambda store: append(store, name, *map(str, range(20))))

    threads = [threading.Thread(target=work, args=(str(number),)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(runs_of(backend, tmp_path, str(number)) == [*map(str, range(20))] for number in range(6))


def test_whoever_reads_while_another_one_writes_sees_whole_runs(tmp_path: Path) -> None:
    backend = filled(tmp_path / "sessions.db", "0")
    names = [*map(str, range(1, 300))]
    writer = threading.Thread(target=using, args=(backend, tmp_path, lambda store: append(store, "s", *names)))

    async def read(store: SessionStore) -> None:
        writer.start()
        while writer.is_alive():
            seen = runs_in((await store.load("s")).items)
            assert seen == ["0", *names][: len(seen)]

    try:
        using(backend, tmp_path, read)
    finally:
        writer.join()


def test_what_another_agent_said_is_known_in_the_next_run(tmp_path: Path) -> None:
    backend = filled(tmp_path / "sessions.db", "1")

    async def both() -> list[str]:
        async with store_of(backend, tmp_path) as one, store_of(backend, tmp_path) as two:
            await append(one, "s", "2")
            await append(two, "s", "3")
            return runs_in((await one.load("s")).items)

    assert asyncio.run(both()) == ["1", "2", "3"]


HOLD = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute(f"BEGIN {sys.argv[3]}")
connection.execute("SELECT * FROM sqlite_master").fetchall()
print("held", flush=True)
time.sleep(float(sys.argv[2]))
"""


@asynccontextmanager
async def held(path: Path, seconds: float, how: str = "IMMEDIATE") -> AsyncGenerator[None]:
    """Has another process hold a file for a while, which has begun."""
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLD, str(path), str(seconds), how, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"held\n"
    yield
    await holder.wait()


def test_a_new_file_that_another_process_looks_at_is_waited_for(tmp_path: Path) -> None:
    """SQLite itself does not wait where the kind of its log is changed."""
    path = tmp_path / "sessions.db"
    path.touch(0o600)

    async def wait() -> None:
        async with held(path, 1, "DEFERRED"):
            async with store_of(Sqlite(path=path, wait=timedelta(milliseconds=50)), tmp_path) as impatient:
                with pytest.raises(AssemblerError, match="session/locked"):
                    await impatient.load("s")
            async with store_of(Sqlite(path=path), tmp_path) as patient:
                await append(patient, "s", "1")

    asyncio.run(wait())
    assert runs_of(Sqlite(path=path), tmp_path) == ["1"]


def test_waiting_for_another_process_holds_up_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    filled(path, "1")

    async def slowest(seconds: float) -> float:
        """The longest time for which the event loop did nothing else, while a store waited."""
        async with held(path, seconds), store_of(Sqlite(path=path), tmp_path) as store:
            started = time.monotonic()
            waiting = asyncio.create_task(append(store, "s", "2"))
            longest, last = 0.0, started
            while not waiting.done():
                await asyncio.sleep(0.001)
                now = time.monotonic()
                longest, last = max(longest, now - last), now
            await waiting
            assert time.monotonic() - started > seconds / 2, "it did wait"
        return longest

    assert asyncio.run(slowest(1)) < 0.5
    assert runs_of(Sqlite(path=path), tmp_path) == ["1", "2"]


def test_a_run_that_waits_for_its_session_is_cancelled_at_once(tmp_path: Path) -> None:
    """Whoever reads a file that another process is making waits, and can be told to stop."""
    path = tmp_path / "sessions.db"
    path.touch(0o600)

    async def cancel() -> float:
        async with held(path, 2, "EXCLUSIVE"), agent(done(say("x")), session=Sqlite(path=path)) as opened:
            run = asyncio.create_task(opened.run("go", session="s"))
            await asyncio.sleep(0.2)
            started = time.monotonic()
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
            return time.monotonic() - started

    assert asyncio.run(cancel()) < 1


WRITES: list[tuple[Callable[[SessionStore, int], Coroutine[Any, Any, object]], list[str]]] = [
    (lambda store, version: store.append("s", run_of("2"), expected=version, **AGENT), ["1", "2"]),
    (lambda store, version: store.delete("s"), []),
]


@pytest.mark.parametrize(("write", "left"), WRITES)
def test_whoever_is_cancelled_while_something_is_written_is_told_when_it_is(
    tmp_path: Path, write: Callable[[SessionStore, int], Coroutine[Any, Any, object]], left: list[str]
) -> None:
    path = tmp_path / "sessions.db"
    filled(path, "1")

    async def cancel() -> list[str]:
        async with held(path, 0.5), store_of(Sqlite(path=path), tmp_path) as store:
            version = (await store.load("s")).version
            writing = asyncio.create_task(write(store, version))
            await asyncio.sleep(0.1)
            writing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await writing
            async with store_of(Sqlite(path=path), tmp_path) as other:
                return runs_in((await other.load("s")).items)

    assert asyncio.run(cancel()) == left


def test_whoever_is_cancelled_while_a_store_is_closed_leaves_nothing_open(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    filled(path, "1")

    async def cancel() -> None:
        scope = Scope()
        store = Sqlite(path=path).open(scope, tmp_path)
        async with held(path, 0.5):
            writing = asyncio.create_task(append(store, "s", "2"))
            await asyncio.sleep(0.1)
            closing = asyncio.create_task(scope.aclose())
            await asyncio.sleep(0.1)
            closing.cancel()
            await asyncio.gather(closing, writing, return_exceptions=True)
            assert not [thread for thread in threading.enumerate() if thread.name.startswith("assembler-sessions")]

    asyncio.run(cancel())
    assert runs_of(Sqlite(path=path), tmp_path) == ["1", "2"]


def test_a_store_that_nobody_used_is_closed(tmp_path: Path) -> None:
    async def nothing(store: SessionStore) -> None:
        pass

    using(Sqlite(path=tmp_path / "sessions.db"), tmp_path, nothing)
    assert list(tmp_path.iterdir()) == []
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("assembler-sessions")]
