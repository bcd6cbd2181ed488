"""Files of sessions that somebody else made, changed or locked away: nothing in them runs or passes for ours."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.agent.support import CLIENT, agent, done, say
from tests.sessions.support import append, filled, refused, runs_of, using

from assembler.errors import AssemblerError
from assembler.sessions.base import SessionStore
from assembler.sessions.database_file import APPLICATION, explained, opened
from assembler.sessions.sqlite import Sqlite

READS: list[Callable[[SessionStore], Any]] = [
    lambda store: store.load("s"),
    lambda store: store.summaries(),
    lambda store: store.agents("s"),
    lambda store: store.delete("s"),
]


def changed(path: Path, *statements: str) -> None:
    """Changes a file as whoever can write to it may, its table of contents too."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA writable_schema = ON")
    for statement in statements:
        connection.execute(statement)
    connection.close()


def listed(kind: str, name: str, table: str, statement: str) -> str:
    """Puts something into the table of contents that SQLite would not make."""
    return f"INSERT INTO sqlite_master VALUES ('{kind}', '{name}', '{table}', 0, '{statement}')"  # noqa: S608  (what the tests write themselves)


FORGE = "AFTER INSERT ON turns BEGIN UPDATE items SET item = replace(item, ''1'', ''2''); END"


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TRIGGER items AFTER INSERT ON turns BEGIN DELETE FROM items; END"],
        ["DROP TABLE agents", "CREATE VIEW agents AS SELECT 1 AS id, 'x' AS digest, '{}' AS declaration"],
        ["DROP TABLE agents", "CREATE TABLE agents (id INTEGER PRIMARY KEY, digest TEXT, declaration TEXT)"],
        ["CREATE INDEX more ON items (lower(item))"],
        ["ALTER TABLE items ADD COLUMN more TEXT DEFAULT 'x'"],
        ["CREATE TABLE more (x)"],
        [listed("trigger", "sqlite_more", "turns", f"CREATE TRIGGER sqlite_more {FORGE}")],
        [listed("view", "sqlite_more", "sqlite_more", "CREATE VIEW sqlite_more AS SELECT 1")],
    ],
)
def test_a_file_in_which_more_stands_than_we_make_is_refused(tmp_path: Path, statements: list[str]) -> None:
    path = tmp_path / "sessions.db"
    backend = filled(path, "1")
    changed(path, *statements)
    assert [refused(backend, tmp_path, read) for read in READS] == ["session/damaged"] * len(READS)


@pytest.mark.parametrize(("application", "code"), [(5, "session/bad-file"), (APPLICATION, "session/damaged")])
def test_a_file_without_tables_is_no_new_one_if_somebody_marked_it(tmp_path: Path, application: int, code: str) -> None:
    path = tmp_path / "sessions.db"
    changed(path, f"PRAGMA application_id = {application}")
    path.chmod(0o600)
    assert refused(Sqlite(path=path), tmp_path, READS[0]) == code


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "sessions.db"
    backend = filled(path, "1")
    path.chmod(mode)
    assert refused(backend, tmp_path, READS[0]) == "session/bad-file"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    backend = filled(path, "1")
    os.chown(path, 12345, -1)
    assert refused(backend, tmp_path, READS[0]) == "session/bad-file"


def test_a_file_is_used_with_care(tmp_path: Path) -> None:
    """What SQLite does not do by itself, however it was built; nothing but a power cut could show the first."""
    connection = opened(tmp_path / "sessions.db", 1)
    settings = ("synchronous", "foreign_keys", "secure_delete", "trusted_schema", "journal_mode")
    found = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in settings]
    connection.close()
    assert found == [2, 1, 1, 0, "wal"]


def test_a_file_that_is_refused_is_not_left_open(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    filled(path, "1")
    changed(path, "PRAGMA user_version = 2")
    with pytest.raises(AssemblerError, match="session/newer-file") as caught:
        opened(path, 1)
    mine = Path("/proc/self/fd")
    assert caught.value.diagnostics
    assert not [each for each in mine.iterdir() if str(path) in os.path.realpath(each)]


def test_a_file_that_another_one_takes_the_place_of_is_not_written_to_any_more(tmp_path: Path) -> None:
    path, new = tmp_path / "sessions.db", tmp_path / "new" / "sessions.db"
    backend = filled(path, "1")
    filled(new, "2")

    async def replaced(store: SessionStore) -> None:
        await store.load("s")
        (tmp_path / "sessions.db-wal").unlink()
        (tmp_path / "sessions.db-shm").unlink()
        new.replace(path)
        await append(store, "s", "3")

    using(backend, tmp_path, replaced)
    assert runs_of(backend, tmp_path) == ["2", "3"]


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (sqlite3.SQLITE_BUSY, "session/locked"),
        (sqlite3.SQLITE_BUSY_RECOVERY, "session/locked"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, "session/locked"),
        (sqlite3.SQLITE_LOCKED_SHAREDCACHE, "session/locked"),
        (sqlite3.SQLITE_NOTADB, "session/bad-file"),
        (sqlite3.SQLITE_CORRUPT_INDEX, "session/damaged"),
        (sqlite3.SQLITE_IOERR_FSYNC, "session/unusable"),
        (sqlite3.SQLITE_READONLY_DBMOVED, "session/unusable"),
        (sqlite3.SQLITE_FULL, "session/unusable"),
    ],
)
def test_each_failure_of_sqlite_has_its_way_out(number: int, code: str) -> None:
    """Also those of the disk, and of network drives, that no test can bring about."""
    error = sqlite3.OperationalError("why")
    error.sqlite_errorcode = number
    (found,) = explained(Path("sessions.db"), error).diagnostics
    assert (found.code, bool(found.hint)) == (code, True)


def require_permissions(path: Path) -> None:
    """Skips where they mean nothing."""
    if os.access(path, os.R_OK | os.W_OK):
        path.chmod(0o700)
        pytest.skip("root can read and write anywhere")


@pytest.mark.parametrize("read", READS)
def test_a_folder_that_cannot_be_looked_into_does_not_pass_for_an_empty_one(
    tmp_path: Path, read: Callable[[SessionStore], Any]
) -> None:
    folder = tmp_path / "folder"
    backend = filled(folder / "sessions.db", "1")
    folder.chmod(0)
    require_permissions(folder)
    try:
        assert refused(backend, tmp_path, read) == "session/unusable"
    finally:
        folder.chmod(0o700)


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("where", ["file/sessions.db", "a" * 300, "file/deeper/sessions.db"])
def test_a_path_that_cannot_be_does_not_pass_for_an_empty_file(
    tmp_path: Path, where: str, read: Callable[[SessionStore], Any]
) -> None:
    (tmp_path / "file").touch()
    assert refused(Sqlite(path=Path(where)), tmp_path, read) == "session/unusable"


@pytest.mark.parametrize("mode", [0o400, 0o200])
def test_a_file_that_cannot_be_written_is_told_before_a_model_is_asked(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "sessions.db"
    backend = filled(path, "1")
    path.chmod(mode)
    require_permissions(path)
    with pytest.raises(AssemblerError, match="session/unusable"):
        agent(done(say("x")), session=backend).run_sync("go", session="s")
    assert CLIENT.requests == []
    path.chmod(0o600)
    assert runs_of(backend, tmp_path) == ["1"], "and what was there is still used"
