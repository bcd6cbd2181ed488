"""What every store promises: whole runs or none, no update lost, each name for itself."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.sessions.support import AGENT, OTHER, append, filled, run_of, runs_in, using

from assembler import AssemblerError
from assembler.scope import Scope
from assembler.sessions.base import SessionBackend, SessionStore, checked_name
from assembler.sessions.memory import Memory
from assembler.sessions.sqlite import Sqlite

BACKENDS = [Memory(), Sqlite(path=Path("sessions.db"))]
each_backend = pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.kind)

NAMES = st.sampled_from(["a", "A", "a ", "é", "e\u0301", "'; DROP TABLE items; --", "%", "*"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
ITEMS = st.lists(st.fixed_dictionaries({"type": st.just("message"), "content": JSON}), max_size=4)
AGENTS = st.sampled_from([AGENT, OTHER])


class Stores(RuleBasedStateMachine):
    """A store against a mapping from names to lists."""

    backend: SessionBackend

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.model: dict[str, list[Any]] = {}
        self.spoke: dict[str, list[Mapping[str, Any]]] = {}
        self.versions: dict[str, list[int]] = {}
        self.order: list[str] = []
        self.open()

    def open(self) -> None:
        self.scope = Scope()
        self.store: SessionStore = self.backend.open(self.scope, Path(self.folder.name))

    def close(self) -> None:
        self.runner.run(self.scope.aclose())

    def do(self, work: Any) -> Any:
        return self.runner.run(work)

    @rule(name=NAMES, items=ITEMS, agent=AGENTS)
    def add(self, name: str, items: list[Any], agent: Mapping[str, Any]) -> None:
        versions = self.versions.setdefault(name, [0])
        current = versions[-1] if name in self.model else 0
        version = self.do(self.store.append(name, items, expected=current, **agent))
        assert version not in versions, "a version never comes back"
        versions.append(version)
        self.model.setdefault(name, []).extend(items)
        if agent not in (spoke := self.spoke.setdefault(name, [])):
            spoke.append(agent)
        self.order = [*(other for other in self.order if other != name), name]

    @rule(name=NAMES, items=ITEMS, data=st.data())
    def add_to_what_is_not_there_any_more(self, name: str, items: list[Any], data: st.DataObject) -> None:
        current = self.versions.get(name, [0])[-1] if name in self.model else 0
        stale = data.draw(st.sampled_from([*self.versions.get(name, [0]), 10**6]))
        if stale == current:
            return
        with pytest.raises(AssemblerError, match="session/conflict"):
            self.do(self.store.append(name, items, expected=stale, **AGENT))

    @rule(name=NAMES)
    def read(self, name: str) -> None:
        found = self.do(self.store.load(name))
        spoke = self.spoke.get(name, [])
        assert list(found.items) == self.model.get(name, [])
        assert found.version == (self.versions[name][-1] if name in self.model else 0)
        assert found.digests == tuple(agent["digest"] for agent in spoke)
        agents = self.do(self.store.agents(name))
        assert list(agents.items()) == [(agent["digest"], agent["declaration"]) for agent in spoke]

    @rule()
    def list_all(self) -> None:
        found = self.do(self.store.summaries())
        assert [(each.name, each.length) for each in found] == [
            (name, len(self.model[name])) for name in reversed(self.order)
        ]

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        assert self.do(self.store.delete(name)) is (self.model.pop(name, None) is not None)
        self.spoke.pop(name, None)
        self.order = [other for other in self.order if other != name]

    @rule()
    def reopen(self) -> None:
        if self.backend.is_lasting:
            self.close()
            self.open()

    def teardown(self) -> None:
        self.close()
        self.runner.close()
        self.folder.cleanup()


class MemoryStores(Stores):
    backend = Memory()


class SqliteStores(Stores):
    backend = Sqlite(path=Path("sessions.db"))


TestMemory = MemoryStores.TestCase
TestSqlite = SqliteStores.TestCase
TestMemory.settings = TestSqlite.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)


@each_backend
def test_what_was_read_is_the_callers_own(backend: SessionBackend, tmp_path: Path) -> None:
    async def change(store: SessionStore) -> list[str]:
        given = run_of("1")
        await store.append("s", given, expected=0, **AGENT)
        given[0]["type"] = "changed"
        (await store.load("s")).items[1]["call_id"] = "changed"
        return runs_in((await store.load("s")).items)

    assert using(backend, tmp_path, change) == ["1"]


@each_backend
def test_times_are_of_the_first_and_the_last_run_in_utc(backend: SessionBackend, tmp_path: Path) -> None:
    async def times(store: SessionStore) -> list[Any]:
        await append(store, "s", "1")
        (first,) = await store.summaries()
        await asyncio.sleep(0.01)
        await append(store, "s", "2")
        return [first, *await store.summaries()]

    first, last = using(backend, tmp_path, times)
    assert first.created == first.updated == last.created < last.updated
    assert last.updated.utcoffset() == timedelta(0)
    assert abs(last.updated - datetime.now(UTC)) < timedelta(minutes=1)


@each_backend
def test_a_declaration_is_kept_once_for_each_digest(backend: SessionBackend, tmp_path: Path) -> None:
    async def twice(store: SessionStore) -> Mapping[str, Any]:
        version = await store.append("s", run_of("1"), expected=0, **AGENT)
        await store.append("s", run_of("2"), expected=version, digest=AGENT["digest"], declaration={"name": "later"})
        return await store.agents("s")

    assert using(backend, tmp_path, twice) == {AGENT["digest"]: AGENT["declaration"]}


def test_a_clock_that_goes_backwards_changes_no_order(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    backend = filled(path, "1", name="first")
    filled(path, "1", name="last")
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE sessions SET updated = '2999-01-01T00:00:00+00:00' WHERE name = 'first'")
    connection.close()
    assert [each.name for each in using(backend, tmp_path, lambda store: store.summaries())] == ["last", "first"]


@each_backend
def test_what_has_no_json_form_is_refused_and_nothing_of_it_is_kept(backend: SessionBackend, tmp_path: Path) -> None:
    async def spoil(store: SessionStore) -> list[str]:
        await append(store, "s", "1")
        version = (await store.load("s")).version
        for wrong in (object(), float("nan")):
            items: Any = [*run_of("2"), {"type": "message", "content": wrong}]
            with pytest.raises((TypeError, ValueError)):
                await store.append("s", items, expected=version, **AGENT)
        return runs_in((await store.load("s")).items)

    assert using(backend, tmp_path, spoil) == ["1"]


@pytest.mark.parametrize("name", ["a", "a" * 200, " ", "a=b", "-x", "conf=x", "日本", "../../etc", "a\u202eb", "🙂"])
def test_a_name_is_any_text(name: str) -> None:
    assert checked_name(name) == name


@pytest.mark.parametrize("name", ["", "a" * 201, "a\nb", "a\0", "\x1b[2J", "a\x85b", "\udcff", None, 5, b"a"])
def test_a_name_that_is_none_is_told(name: Any) -> None:
    with pytest.raises(AssemblerError, match="session/bad-name"):
        checked_name(name)
