"""Processes that are killed while they write: what was kept is kept, and no conversation is ever half a run."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.sessions.support import append, filled, runs_in, using

from assembler.items import Item, text_of
from assembler.sessions.base import Conversation
from assembler.sessions.sqlite import Sqlite

ROOT = Path(__file__).parents[2]
ITEMS = 10_000


class Worker:
    """A process whose children write until they are killed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def kill_one(self, work: str, path: Path, stored: Conversation, first: int, told: int, after: float) -> list[int]:
        """Has a child write, kills it, and returns the runs that it told to be kept.

        Args:
            work: What it does.
            path: The file.
            stored: What is in it.
            first: Number of the first run.
            told: How many runs are awaited, however slow this machine is.
            after: Seconds from there until it is killed.
        """
        assert self._process.stdin is not None
        asked = {"work": work, "path": str(path), "version": stored.version, "first": first}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        child = int(self._line())
        kept = [int(self._line()) for _ in range(told)]
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
        return kept + [int(line) for line in iter(self._line, "dead")]

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.sessions.worker"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield Worker(process)
    process.communicate(timeout=30)


def moment(least: float, most: float) -> float:
    """Seconds after which a process is killed."""
    return random.uniform(least, most)  # noqa: S311  (no secret)


def stored(path: Path) -> Conversation:
    """What is in a file, which is sound."""
    found = using(Sqlite(path=path), path.parent, lambda store: store.load("s"))
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()
    return found


@pytest.mark.slow
def test_ten_thousand_items_stay_consistent_at_any_of_a_hundred_moments(worker: Worker, tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    runs = ITEMS // 4
    filled(path, *map(str, range(runs)))
    found = stored(path)
    assert len(found.items) == ITEMS
    for number in range(100):
        kept = worker.kill_one("append", path, found, runs, number % 3, moment(0, 0.06))
        found = stored(path)
        names = runs_in(found.items)
        assert names == [str(number) for number in range(len(names))], "whole runs in their order"
        assert len(names) - runs in {len(kept), len(kept) + 1}, "all that was told, and at most one that was not"
        runs = len(names)


def test_a_file_is_usable_whenever_its_making_was_cut(worker: Worker, tmp_path: Path) -> None:
    for number in range(30):
        path = tmp_path / f"{number}.db"
        kept = worker.kill_one("append", path, Conversation(), 0, 0, moment(0, 0.03))
        using(Sqlite(path=path), tmp_path, lambda store: append(store, "s", "more"))
        *before, more = runs_in(stored(path).items)
        assert (before[: len(kept)], more) == ([str(number) for number in kept], "more")


def test_an_agent_that_is_killed_leaves_whole_runs(worker: Worker, tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    found = Conversation()
    for number in range(25):
        first = len(found.items) // 4
        kept = worker.kill_one("talk", path, found, first, number % 3, moment(0, 0.1))
        found = stored(path)
        runs = [found.items[start : start + 4] for start in range(0, len(found.items), 4)]
        assert all(is_whole(run, place) for place, run in enumerate(runs))
        assert len(runs) - first in {len(kept), len(kept) + 1}


def is_whole(run: Sequence[Item], number: int) -> bool:
    """Whether it is a question, a call with its answer, and the model's answer."""
    asked, called, output, answered = run
    return (
        text_of(asked) == f"question {number}"
        and called["call_id"] == output["call_id"] == f"call-{number}"
        and text_of(answered) == f"answer {number}"
    )
