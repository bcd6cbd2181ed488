"""Conversations in an SQLite file. Everything here blocks, and is called by one thread at a time."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar, cast

from assembler.items import Item
from assembler.sessions.base import Conversation, SessionSummary, conflict, read, written
from assembler.sessions.database_file import damaged, explained, opened, transaction
from assembler.values import JSON

T = TypeVar("T")

_PRINCIPAL = ""
"""Whose conversations they are: so far, of whoever owns the file."""

_ITEMS = """
    SELECT item FROM items JOIN turns ON turns.id = items.turn
    WHERE session = ? ORDER BY turns.id, items.id
"""
_AGENTS = """
    SELECT digest, declaration FROM turns JOIN agents ON agents.id = turns.agent
    WHERE session = ? GROUP BY agent ORDER BY min(turns.id)
"""
_SUMMARIES = "SELECT name, length, created, updated FROM sessions WHERE principal = ? ORDER BY version DESC"

_BEGIN = "INSERT INTO sessions (principal, name, version, length, created, updated) VALUES (?, ?, 0, 0, ?, ?)"
_CONTINUE = "UPDATE sessions SET version = ?, length = length + ?, updated = ? WHERE id = ?"


class Database:
    """The conversations in one file.

    Each method raises an ``AssemblerError`` where the file cannot be used (``session/bad-file``,
    ``session/newer-file``, ``session/damaged``, ``session/locked``, ``session/unusable``).

    Args:
        path: The file; made when something is first read or written under a name.
        wait: Seconds to wait for other processes.
    """

    def __init__(self, path: Path, wait: float) -> None:
        self._path = path
        self._wait = wait
        self._connection: sqlite3.Connection | None = None
        self._identity = (0, 0)

    def load(self, name: str) -> Conversation:
        """The conversation of that name; an empty one if there is none."""
        # Makes the file already here: that it cannot be written is told before a model is asked.
        with self._connected() as connection, transaction(connection, "DEFERRED"):
            session, version, length = _find(connection, name)
            rows = connection.execute(_ITEMS, (session,)).fetchall()
            agents = connection.execute(_AGENTS, (session,)).fetchall()
        try:
            items = tuple(read(text) for (text,) in rows)
            conversation = Conversation(items, _as(int, version), tuple(_as(str, digest) for digest, _ in agents))
        except (ValueError, RecursionError) as error:
            raise damaged(self._path, f"session `{name}` has an item that nobody wrote") from error
        if len(items) != length:
            raise damaged(self._path, f"session `{name}` has {len(items)} items of {length}")
        return conversation

    def append(
        self, name: str, items: Sequence[Item], expected: int, digest: str, declaration: Mapping[str, JSON]
    ) -> int:
        """Adds items to a conversation, and returns its new version.

        Raises:
            AssemblerError: It is not of the version that is expected (``session/conflict``).
        """
        texts = [*map(written, items)]
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        # IMMEDIATE: nobody can write between reading the version and adding to it.
        with self._connected() as connection, transaction(connection, "IMMEDIATE"):
            session, version, _ = _find(connection, name)
            if version != expected:
                raise conflict(name)
            if session is None:
                session = _inserted(connection, _BEGIN, _PRINCIPAL, name, now, now)
            agent = _agent(connection, digest, declaration)
            turn = _inserted(connection, "INSERT INTO turns (session, agent, at) VALUES (?, ?, ?)", session, agent, now)
            connection.executemany("INSERT INTO items (turn, item) VALUES (?, ?)", ((turn, text) for text in texts))
            connection.execute(_CONTINUE, (turn, len(texts), now, session))
        return turn

    def summaries(self) -> Sequence[SessionSummary]:
        """The conversations, the last that was added to first."""
        if not self._is_there():
            return []
        with self._connected() as connection:
            rows = connection.execute(_SUMMARIES, (_PRINCIPAL,)).fetchall()
        try:
            return [
                SessionSummary(_as(str, name), _as(int, length), _time(created), _time(updated))
                for name, length, created, updated in rows
            ]
        except ValueError as error:
            raise damaged(self._path, "a session has a name, a length or a time that is none") from error

    def agents(self, name: str) -> Mapping[str, Mapping[str, JSON]]:
        """Resolved declarations of the agents that spoke in a conversation, by their digests."""
        if not self._is_there():
            return {}
        with self._connected() as connection, transaction(connection, "DEFERRED"):
            session, _, _ = _find(connection, name)
            rows = connection.execute(_AGENTS, (session,)).fetchall()
        try:
            return {_as(str, digest): _object(declaration) for digest, declaration in rows}
        except (ValueError, RecursionError) as error:
            raise damaged(self._path, "the declaration of an agent is not what was written") from error

    def delete(self, name: str) -> bool:
        """Forgets a conversation, and the agents that spoke in no other one; whether there was one."""
        if not self._is_there():
            return False
        with self._connected() as connection:
            with transaction(connection, "IMMEDIATE"):
                deleted = connection.execute(
                    "DELETE FROM sessions WHERE principal = ? AND name = ?", (_PRINCIPAL, name)
                ).rowcount
                connection.execute("DELETE FROM agents WHERE id NOT IN (SELECT agent FROM turns)")
            # Moves what was overwritten from the log to the file, so that it stands in neither.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return deleted > 0

    def close(self) -> None:
        """Closes the file; the next use opens it again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    @contextmanager
    def _connected(self) -> Generator[sqlite3.Connection]:
        try:
            yield self._current()
        except (sqlite3.Error, OSError) as error:
            # Whatever it was: the next use looks at the file anew.
            self.close()
            raise explained(self._path, error) from error

    def _current(self) -> sqlite3.Connection:
        if self._connection is not None and self._identity != _identity(self._path):
            # Somebody removed or replaced the file: what is written to the open one would be lost without a word.
            self.close()
        if self._connection is None:
            self._connection = opened(self._path, self._wait)
            self._identity = _identity(self._path)
        return self._connection

    def _is_there(self) -> bool:
        """False only where there is certainly no file: whatever else is wrong is told when it is opened."""
        try:
            self._path.lstat()
        except FileNotFoundError:
            return False
        except (OSError, ValueError):
            pass
        return True


def _find(connection: sqlite3.Connection, name: str) -> tuple[int | None, int, int]:
    """Id, version and length of a conversation."""
    row = connection.execute(
        "SELECT id, version, length FROM sessions WHERE principal = ? AND name = ?", (_PRINCIPAL, name)
    ).fetchone()
    return row or (None, 0, 0)


def _agent(connection: sqlite3.Connection, digest: str, declaration: Mapping[str, JSON]) -> int:
    """Id of an agent; its declaration is written where it is not there yet."""
    known = connection.execute("SELECT id FROM agents WHERE digest = ?", (digest,)).fetchone()
    if known is not None:
        return known[0]
    text = json.dumps(declaration, ensure_ascii=False, separators=(",", ":"))
    return _inserted(connection, "INSERT INTO agents (digest, declaration) VALUES (?, ?)", digest, text)


def _inserted(connection: sqlite3.Connection, statement: str, *values: str | int) -> int:
    """Id of a new row."""
    return cast("int", connection.execute(statement, values).lastrowid)


def _as(kind: type[T], value: object) -> T:
    """A value of the kind that was written: SQLite keeps others in the same column.

    Raises:
        ValueError: Somebody else wrote it.
    """
    if not isinstance(value, kind):
        raise ValueError(f"not {kind.__name__}")  # noqa: TRY004  (one kind of error for whatever is wrong)
    return value


def _object(text: object) -> Mapping[str, JSON]:
    """A declaration that was stored.

    Raises:
        ValueError: It is none.
    """
    return cast("Mapping[str, JSON]", _as(dict, json.loads(_as(str, text))))


def _time(text: object) -> datetime:
    """A time that was stored.

    Raises:
        ValueError: It is none, or says not of which zone.
    """
    time = datetime.fromisoformat(_as(str, text))
    if time.tzinfo is None:
        raise ValueError("no zone")
    return time


def _identity(path: Path) -> tuple[int, int]:
    """What tells a file from another one of its name."""
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino
