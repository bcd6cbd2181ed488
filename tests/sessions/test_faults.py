"""Whatever is wrong with a file of sessions is told with a way out, and what it holds stays as it is."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from tests.sessions.support import AGENT, append, filled, refused, run_of, runs_of, using

from assembler.sessions.base import SessionStore
from assembler.sessions.memory import Memory
from assembler.sessions.sqlite import Sqlite


async def read(store: SessionStore) -> object:
    return await store.load("s")


def changed(path: Path, *statements: str) -> None:
    """Changes a file of sessions as whoever can write to it may."""
    connection = sqlite3.connect(path)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def foreign(path: Path) -> None:
    changed(path, "CREATE TABLE mine (x)")


def garbage(path: Path) -> None:
    path.write_bytes(b"this is no database at all\n" * 500)


def spoil_pages(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(data)


def link(path: Path) -> None:
    filled(path.with_name("other.db"), "1")
    path.symlink_to(path.with_name("other.db"))


def pipe(path: Path) -> None:
    os.mkfifo(path)


def writable(path: Path) -> None:
    filled(path, "1")
    path.chmod(0o620)


def in_a_file(path: Path) -> None:
    path.parent.rmdir()
    path.parent.write_text("a file")


def open_folder(path: Path) -> None:
    path.parent.chmod(0o777)


def filled_then(*statements: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        filled(path, "1")
        changed(path, *statements)

    return change


def filled_then_spoiled(path: Path) -> None:
    filled(path, "1")
    spoil_pages(path)


FAULTS: list[tuple[Callable[[Path], object], str]] = [
    (Path.mkdir, "session/bad-file"),
    (pipe, "session/bad-file"),
    (link, "session/bad-file"),
    (lambda path: path.symlink_to("nowhere"), "session/bad-file"),
    (garbage, "session/bad-file"),
    (lambda path: path.write_bytes(b"x"), "session/bad-file"),
    (lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(4080)), "session/bad-file"),
    (foreign, "session/bad-file"),
    (writable, "session/bad-file"),
    (open_folder, "session/bad-file"),
    (in_a_file, "session/unusable"),
    (filled_then("PRAGMA user_version = 2"), "session/newer-file"),
    (filled_then("PRAGMA user_version = 0"), "session/damaged"),
    (filled_then_spoiled, "session/damaged"),
    (filled_then("CREATE TRIGGER t AFTER INSERT ON items BEGIN DELETE FROM sessions; END"), "session/damaged"),
    (filled_then("DROP TABLE items"), "session/damaged"),
    (filled_then("DELETE FROM items WHERE id = 2"), "session/damaged"),
    (filled_then("UPDATE items SET item = 'no json'"), "session/damaged"),
    (filled_then("UPDATE items SET item = '[]'"), "session/damaged"),
    (filled_then("UPDATE items SET item = '{\"type\": 1}'"), "session/damaged"),
    (filled_then('UPDATE items SET item = \'{"type": "function_call"}\''), "session/damaged"),
    (filled_then("UPDATE items SET item = x'ff'"), "session/damaged"),
    (filled_then("UPDATE items SET item = replace(hex(zeroblob(50000)), '0', '[')"), "session/damaged"),
    (filled_then("UPDATE items SET item = 1"), "session/damaged"),
    (filled_then("UPDATE items SET item = CAST(item AS BLOB)"), "session/damaged"),
    (filled_then("UPDATE items SET item = CAST(x'ff' AS TEXT)"), "session/damaged"),
]


@pytest.mark.parametrize(("fault", "code"), FAULTS)
def test_a_file_that_cannot_be_used(tmp_path: Path, fault: Callable[[Path], object], code: str) -> None:
    path = tmp_path / "folder" / "sessions.db"
    path.parent.mkdir()
    fault(path)
    before = contents(tmp_path)
    assert refused(Sqlite(path=path), tmp_path, read) == code
    assert contents(tmp_path) == before, "it is left as it is"


def contents(folder: Path) -> dict[Path, bytes]:
    """The files below a folder; not the empty ones that SQLite keeps beside a file while it looks at it."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm"))]
    return {path: path.read_bytes() for path in files}


@pytest.mark.parametrize(
    ("statement", "work"),
    [
        ("UPDATE sessions SET updated = 'yesterday'", lambda store: store.summaries()),
        ("UPDATE sessions SET updated = '2026-01-01'", lambda store: store.summaries()),
        ("UPDATE sessions SET created = x'00'", lambda store: store.summaries()),
        ("UPDATE sessions SET name = x'00'", lambda store: store.summaries()),
        ("UPDATE sessions SET length = 'four'", lambda store: store.summaries()),
        ("UPDATE sessions SET version = 'one'", lambda store: store.load("s")),
        ("UPDATE agents SET digest = x'00'", lambda store: store.load("s")),
        ("UPDATE agents SET digest = x'00'", lambda store: store.agents("s")),
        ("UPDATE agents SET declaration = '{'", lambda store: store.agents("s")),
        ("UPDATE agents SET declaration = '1'", lambda store: store.agents("s")),
        ("UPDATE agents SET declaration = x'7b7d'", lambda store: store.agents("s")),
        ("UPDATE agents SET declaration = CAST(x'ff' AS TEXT)", lambda store: store.agents("s")),
        ("UPDATE agents SET declaration = replace(hex(zeroblob(50000)), '0', '[')", lambda store: store.agents("s")),
    ],
)
def test_what_nobody_wrote_is_told_wherever_it_is_read(
    tmp_path: Path, statement: str, work: Callable[[SessionStore], object]
) -> None:
    path = tmp_path / "sessions.db"
    filled_then(statement)(path)
    assert refused(Sqlite(path=path), tmp_path, work) == "session/damaged"  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["a\0b", "a" * 300, "/proc/nowhere/sessions.db", "/dev/null/sessions.db"])
def test_a_path_that_no_file_has(tmp_path: Path, name: str) -> None:
    assert refused(Sqlite(path=Path(name)), tmp_path, read) in {"session/bad-file", "session/unusable"}


@pytest.mark.parametrize("mode", [0o500, 0o000])
def test_a_folder_that_cannot_be_written(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "folder"
    backend = filled(folder / "sessions.db", "1")
    folder.chmod(mode)
    if os.access(folder, os.W_OK):
        pytest.skip("root can write anywhere")
    try:
        assert refused(backend, tmp_path, read) == "session/unusable"
        assert refused(Sqlite(path=folder / "new.db"), tmp_path, read) == "session/unusable"
    finally:
        folder.chmod(0o700)
    assert runs_of(backend, tmp_path) == ["1"]


def test_a_file_is_found_again_after_a_fault(tmp_path: Path) -> None:
    """The way out leads somewhere: what was repaired is used without opening the agent anew."""
    path = tmp_path / "sessions.db"

    async def repaired(store: SessionStore) -> object:
        garbage(path)
        with pytest.raises(Exception, match="session/bad-file"):
            await store.load("s")
        path.unlink()
        await append(store, "s", "1")
        return await store.load("s")

    using(Sqlite(path=path), tmp_path, repaired)
    assert runs_of(Sqlite(path=path), tmp_path) == ["1"]


@pytest.mark.parametrize("remove", [Path.unlink, lambda path: path.rename(path.with_name("moved.db"))])
def test_a_file_that_is_taken_away_loses_nothing_without_a_word(tmp_path: Path, remove: Callable[[Path], None]) -> None:
    path = tmp_path / "sessions.db"

    async def taken_away(store: SessionStore) -> None:
        await append(store, "s", "1")
        version = (await store.load("s")).version
        remove(path)
        with pytest.raises(Exception, match="session/conflict"):
            await store.append("s", run_of("2"), expected=version, **AGENT)
        await append(store, "s", "3")

    using(Sqlite(path=path), tmp_path, taken_away)
    assert runs_of(Sqlite(path=path), tmp_path) == ["3"]


HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_file_that_another_process_holds(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    filled(path, "1")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    impatient = Sqlite(path=path, wait=timedelta(milliseconds=50))
    try:
        assert runs_of(impatient, tmp_path) == ["1"], "readers are held up by nobody"
        assert refused(impatient, tmp_path, lambda store: append(store, "s", "2")) == "session/locked"
        assert refused(impatient, tmp_path, lambda store: store.delete("s")) == "session/locked"
        release = threading.Timer(0.3, holder.communicate)
        release.start()
        using(Sqlite(path=path), tmp_path, lambda store: append(store, "s", "3"))
        release.join()
    finally:
        holder.kill()
        holder.communicate()
    assert runs_of(impatient, tmp_path) == ["1", "3"]


FILL = """
import resource, sys
from pathlib import Path
from tests.sessions.support import append, using
from assembler import AssemblerError
from assembler.sessions.sqlite import Sqlite

path = Path(sys.argv[1])

async def fill(store):
    for number in range(10_000):
        await append(store, "s", str(number))
        print(number, flush=True)

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    using(Sqlite(path=path), path.parent, fill)
except AssemblerError as error:
    print(error.diagnostics[0].code)
"""


@pytest.mark.parametrize("room", [0, 10_000, 60_000, 150_000])
def test_a_full_disk_keeps_what_was_kept(tmp_path: Path, room: int) -> None:
    path = tmp_path / "sessions.db"
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", FILL, str(path), str(room)], cwd=root, capture_output=True, text=True, check=True
    )
    *kept, code = done.stdout.split()
    assert code == "session/unusable"
    assert runs_of(Sqlite(path=path), tmp_path) == kept
    using(Sqlite(path=path), tmp_path, lambda store: append(store, "s", "more"))
    assert runs_of(Sqlite(path=path), tmp_path) == [*kept, "more"]


def test_a_file_is_private(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        path = tmp_path / "new" / "sessions.db"

        async def look(store: SessionStore) -> dict[str, int]:
            await append(store, "s", "1")
            return {each.name: each.stat().st_mode & 0o777 for each in [path.parent, *path.parent.iterdir()]}

        modes = using(Sqlite(path=path), tmp_path, look)
    finally:
        os.umask(old)
    assert modes == {"new": 0o700, "sessions.db": 0o600, "sessions.db-wal": 0o600, "sessions.db-shm": 0o600}


def test_without_a_path_each_project_has_a_file_in_the_state_folder(tmp_path: Path, state: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        using(Sqlite(), tmp_path / name, lambda store: append(store, "s", "1"))
    (tmp_path / "link").symlink_to("one")
    using(Sqlite(), tmp_path / "link", lambda store: append(store, "s", "2"))
    files = sorted((state / "assembler" / "sessions").iterdir())
    assert len(files) == 2
    assert all(re.fullmatch(r"[0-9a-f]{40}\.db", file.name) for file in files)
    assert runs_of(Sqlite(), tmp_path / "one") == ["1", "2"]
    assert runs_of(Sqlite(), tmp_path / "two") == ["1"]
    assert files[0].parent.stat().st_mode & 0o777 == 0o700


def test_where_there_is_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "~")
    assert refused(Sqlite(), tmp_path, read) == "session/no-home"


def test_looking_makes_no_file(tmp_path: Path) -> None:
    async def look(store: SessionStore) -> object:
        return [await store.summaries(), await store.agents("s"), await store.delete("s")]

    assert using(Sqlite(path=Path("sessions.db")), tmp_path, look) == [[], {}, False]
    assert list(tmp_path.iterdir()) == []


def test_what_is_deleted_stands_nowhere_any_more(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"

    async def delete(store: SessionStore) -> dict[Path, bytes]:
        for number in range(50):
            await append(store, "s", f"{number}-hunter2-" + "x" * 1000)
        await append(store, "other", "1")
        await store.delete("s")
        return {file: file.read_bytes() for file in tmp_path.iterdir()}  # noqa: ASYNC240  (nothing else waits)

    left = using(Sqlite(path=path), tmp_path, delete)
    assert len(left) == 3, "the log beside it was looked at, too"
    assert not any(b"hunter2" in content for content in left.values())
    assert runs_of(Sqlite(path=path), tmp_path, "other") == ["1"]


@pytest.mark.parametrize("backend", [Memory(), Sqlite(path=Path("sessions.db"))])
def test_an_agent_is_forgotten_with_the_last_conversation_that_it_spoke_in(
    tmp_path: Path, backend: Memory | Sqlite
) -> None:
    async def delete(store: SessionStore) -> list[object]:
        await append(store, "one", "1")
        await append(store, "two", "1")
        await store.delete("one")
        left = [await store.agents("two")]
        await store.delete("two")
        await store.append("three", [], expected=0, digest=AGENT["digest"], declaration={"name": "another"})
        return [*left, await store.agents("three")]

    assert using(backend, tmp_path, delete) == [
        {AGENT["digest"]: AGENT["declaration"]},
        {AGENT["digest"]: {"name": "another"}},
    ]


def test_a_copy_is_whole(tmp_path: Path) -> None:
    """Once the agent is closed, the file alone holds everything."""
    filled(tmp_path / "sessions.db", "1", "2")
    (tmp_path / "copy").mkdir()
    shutil.copy(tmp_path / "sessions.db", tmp_path / "copy")
    assert runs_of(Sqlite(path=tmp_path / "copy/sessions.db"), tmp_path) == ["1", "2"]
