"""The file behind ``Database``: made private, looked at before anything is believed, and what goes wrong with it."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Literal

from assembler.errors import AssemblerError, problem

VERSION = 1
"""Of the schema; a file of a later one is refused."""

APPLICATION = 0x41534D42
"""Tells these files from other SQLite files (https://sqlite.org/fileformat2.html#application_id): `ASMB`."""

SCHEMA = (
    # Conversations will be kept by principal; until then there is one, without a name.
    """
    CREATE TABLE sessions (
        id INTEGER PRIMARY KEY,
        principal TEXT NOT NULL DEFAULT '',
        name TEXT NOT NULL,
        version INTEGER NOT NULL,
        length INTEGER NOT NULL,
        created TEXT NOT NULL,
        updated TEXT NOT NULL,
        UNIQUE (principal, name)
    )
    """,
    """
    CREATE TABLE agents (
        id INTEGER PRIMARY KEY,
        digest TEXT NOT NULL UNIQUE,
        declaration TEXT NOT NULL
    )
    """,
    # What one run added. Its id is the conversation's version from then on: AUTOINCREMENT never gives one twice.
    """
    CREATE TABLE turns (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        agent INTEGER NOT NULL REFERENCES agents (id),
        at TEXT NOT NULL
    )
    """,
    "CREATE INDEX turns_by_session ON turns (session)",
    """
    CREATE TABLE items (
        id INTEGER PRIMARY KEY,
        turn INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
        item TEXT NOT NULL
    )
    """,
    "CREATE INDEX items_by_turn ON items (turn)",
)

_STATEMENTS = {*(statement.strip() for statement in SCHEMA), "CREATE TABLE sqlite_sequence(name,seq)"}
"""All that stands in a file's table of contents: what we make, and what SQLite makes for AUTOINCREMENT."""

_SETTINGS = (
    # FULL: a conversation that was told to be kept survives a power cut, too. It costs one sync of the disk for each
    # run, beside seconds for a model. (NORMAL would be as consistent, and lose the last runs.)
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    # What is deleted is overwritten.
    "PRAGMA secure_delete = ON",
    # A file that somebody else made runs nothing: https://sqlite.org/security.html
    "PRAGMA trusted_schema = OFF",
)

_LEAST_BYTES = 512
"""Of a database; SQLite would take a shorter file for an empty one, and write over it."""

_CREATING = Lock()


def opened(path: Path, wait: float) -> sqlite3.Connection:
    """A connection to a file of sessions, which is made where there is none.

    Args:
        path: The file.
        wait: Seconds to wait for other processes.

    Raises:
        AssemblerError: It is no file of sessions, or none that only its owner can have written
            (``session/bad-file``), a later version made it (``session/newer-file``), it is damaged
            (``session/damaged``), or it cannot be written (``session/unusable``).
        sqlite3.Error: It cannot be used.
        OSError: It cannot be made.
    """
    try:
        _prepare(path)
        connection = sqlite3.connect(path, timeout=wait, isolation_level=None)
    except ValueError as error:
        raise _bad(path, "its name is none that a file can have") from error
    try:
        # Looked at before anything is changed, and all at once: another process may be making it just now.
        with transaction(connection, "DEFERRED"):
            is_empty = not _is_ours(connection, path)
        _switch_to_wal(connection, path, wait)
        if is_empty:
            _create(connection, path)
        for setting in _SETTINGS:
            connection.execute(setting)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection, kind: Literal["DEFERRED", "IMMEDIATE"]) -> Generator[None]:
    """All that happens within, or nothing."""
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite ends it by itself where a disk is full
            connection.execute("ROLLBACK")
        raise


def explained(path: Path, error: sqlite3.Error | OSError) -> AssemblerError:
    """What a failure means to whoever keeps sessions in a file."""
    # https://sqlite.org/rescode.html: the lowest byte is the primary code.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        message = f"another process holds the file of sessions `{path}`"
        return problem("session/locked", message, hint="run again when it is done, or wait longer: session.wait=1m")
    if code == sqlite3.SQLITE_NOTADB:
        return _bad(path, "it is no database")
    if code == sqlite3.SQLITE_CORRUPT:
        return damaged(path, "its database is malformed")
    if isinstance(error, sqlite3.OperationalError) and not hasattr(error, "sqlite_errorcode"):
        return damaged(path, "it holds a text that is none")  # of Python, not of SQLite: bytes that are not UTF-8
    why = error.strerror if isinstance(error, OSError) else str(error)
    return _unusable(path, why)


def damaged(path: Path, why: str) -> AssemblerError:
    """What is told where a file does not hold what was written to it."""
    hint = f"`sqlite3 {path} .recover` saves what can be read; move the file away to begin anew"
    return problem("session/damaged", f"the file of sessions `{path}` is damaged: {why}", hint=hint)


def _prepare(path: Path) -> None:
    """Sees to it that there is a file, and that nobody else can have written to it."""
    # A file that this process has open must not be opened and closed again: that drops SQLite's locks on it
    # (https://sqlite.org/howtocorrupt.html, 2.2). So it is looked at by name, and made by one thread at a time.
    with _CREATING:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # With a write-ahead log put beside it, whoever can write to the folder can write to the database. A group may:
        # where everybody has one of their own, it can write to every folder.
        if stat.S_IMODE(path.parent.stat().st_mode) & stat.S_IWOTH:
            raise _bad(path, "everybody can write to its folder")
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise _bad(path, "it is a link" if stat.S_ISLNK(status.st_mode) else "it is not a file")
    if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & (stat.S_IWGRP | stat.S_IWOTH):
        raise _bad(path, "others can write to it")
    if 0 < status.st_size < _LEAST_BYTES:
        raise _bad(path, "it is no database")
    # SQLite would read it all the same, and refuse only what is to be kept: by then a model has been asked.
    if not os.access(path, os.R_OK | os.W_OK):
        raise _unusable(path, "it cannot be read and written")


def _is_ours(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether it is a file of sessions; False for an empty one.

    Raises:
        AssemblerError: It is something else, or too new.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    # SQLite keeps each statement as it was given: a view or a trigger of a known name is told from the table. No name
    # is passed over: who writes to the table of contents itself may take one that SQLite keeps for its own.
    made = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    if not (application or version or made):
        return False
    if application != APPLICATION:
        raise _bad(path, "it is a database of something else")
    if version > VERSION:
        message = f"the file of sessions `{path}` was written by a later version of Assembler: {version}, not {VERSION}"
        raise problem("session/newer-file", message, hint="update Assembler, or name another file: session.path=FILE")
    if version != VERSION or made != _STATEMENTS:
        raise damaged(path, "it has other tables than Assembler makes")
    return True


def _switch_to_wal(connection: sqlite3.Connection, path: Path, wait: float) -> None:
    """Has readers and one writer work at once (https://sqlite.org/wal.html); the file remembers it."""
    until = monotonic() + wait
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            break
        except sqlite3.OperationalError as error:
            # Processes that begin at once stand in each other's way here without waiting.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() > until:
                raise
            sleep(0.01)
    if mode != "wal":
        message = f"the file of sessions `{path}` cannot be shared by processes where it lies"
        raise problem("session/unusable", message, hint="keep it on a disk of this machine: session.path=FILE")


def _create(connection: sqlite3.Connection, path: Path) -> None:
    with transaction(connection, "IMMEDIATE"):
        if _is_ours(connection, path):
            return  # another process was faster
        for statement in SCHEMA:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")


def _bad(path: Path, why: str) -> AssemblerError:
    message = f"`{path}` is not used as the file of sessions: {why}"
    return problem("session/bad-file", message, hint="name another one: session.path=FILE")


def _unusable(path: Path, why: str | None) -> AssemblerError:
    message = f"the file of sessions `{path}` cannot be used: {why}"
    hint = "it and its folder have to be writable, on a disk of this machine that has space left"
    return problem("session/unusable", message, hint=hint)
