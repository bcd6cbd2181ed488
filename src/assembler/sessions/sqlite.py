"""Sessions in an SQLite file, which outlast the process and can be used by several at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

from assembler.errors import problem
from assembler.folders import located, state_file
from assembler.items import Item
from assembler.powers import Power, writes
from assembler.quantities import Duration
from assembler.scope import Scope
from assembler.sessions.base import Conversation, SessionBackend, SessionStore, SessionSummary
from assembler.sessions.database import Database
from assembler.values import JSON
from assembler.waiting import wait_through

T = TypeVar("T")


class Sqlite(SessionBackend, kind="sqlite"):
    """Keeps conversations in an SQLite file, on a disk of this machine."""

    path: Path | None = None
    """The file; one for each project in your state folder where it is left out."""
    wait: Duration = timedelta(seconds=10)
    """How long to wait while another process writes to it."""

    def powers(self, base: Path) -> Sequence[Power]:
        """Writing outside of the project, where the configuration chose the file."""
        return [*writes(self.path, base, ("path",))] if self.path is not None else []

    def open(self, scope: Scope, base: Path) -> SessionStore:
        """The store; the file is opened when it is first used."""
        store = _SqliteStore(Database(self._file(base), self.wait.total_seconds()))
        scope.push_async_callback(store.close)
        return store

    def _file(self, base: Path) -> Path:
        """Where the file is.

        Raises:
            AssemblerError: Nothing says where, and there is no home (``session/no-home``).
        """
        if self.path is not None:
            return located(self.path, base)
        path = state_file(base, "sessions", ".db")
        if not path.is_absolute():
            hint = "set HOME or XDG_STATE_HOME, or name a file: session.path=FILE"
            raise problem("session/no-home", "there is no home folder to keep sessions in", hint=hint)
        return path


class _SqliteStore(SessionStore):
    def __init__(self, database: Database) -> None:
        self._database = database
        # A thread of its own: nothing that fills the event loop's threads holds it up, and the connection is never
        # used by two at once.
        self._thread = ThreadPoolExecutor(1, "assembler-sessions")

    async def load(self, name: str) -> Conversation:
        return await self._in_thread(partial(self._database.load, name))

    async def append(
        self, name: str, items: Sequence[Item], *, expected: int, digest: str, declaration: Mapping[str, JSON]
    ) -> int:
        work = partial(self._database.append, name, items, expected, digest, declaration)
        return await wait_through(self._in_thread(work))  # whoever is cancelled meanwhile knows that it is done

    async def summaries(self) -> Sequence[SessionSummary]:
        return await self._in_thread(self._database.summaries)

    async def agents(self, name: str) -> Mapping[str, Mapping[str, JSON]]:
        return await self._in_thread(partial(self._database.agents, name))

    async def delete(self, name: str) -> bool:
        return await wait_through(self._in_thread(partial(self._database.delete, name)))

    async def close(self) -> None:
        """Closes the file."""
        try:
            await wait_through(self._in_thread(self._database.close))
        finally:  # whoever is cancelled here, too
            self._thread.shutdown()  # which has nothing left to do

    def _in_thread(self, work: Callable[[], T]) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self._thread, work)
