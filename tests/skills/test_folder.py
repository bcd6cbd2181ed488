"""A skill's folder that changes: what was hashed is what is read and run."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.skills.support import (
    FILES,
    Demo,
    Write,
    code,
    do,
    in_run,
    reading,
    running,
    script,
    skill_md,
)

from assembler.digests import digest_tree
from assembler.errors import AssemblerError
from assembler.runners.base import ScriptResult
from assembler.scope import Scope
from assembler.skills import tree
from assembler.skills.file_skill import FileSkill
from assembler.skills.skill import Skill


class TestChange:
    def test_nothing_has_changed_at_first(self, demo: Demo) -> None:
        skill = demo()
        assert skill.changed() is False
        do(skill.digest())
        assert skill.changed() is False

    @pytest.mark.parametrize("path", ["SKILL.md", "scripts/main.py", "references/table.csv", "new.txt"])
    def test_a_change_is_seen_in_what_was_read(self, demo: Demo, write: Write, path: str) -> None:
        listed, read = demo(), demo({})
        do(read.digest())
        write({f"demo/{path}": "changed"})
        assert read.changed() is True
        assert listed.changed() is (path == "SKILL.md")

    def test_a_file_or_skill_that_is_gone_is_a_change(self, demo: Demo, tmp_path: Path) -> None:
        skill = demo()
        do(skill.digest())
        (tmp_path / "demo/assets/logo.png").unlink()
        assert skill.changed() is True
        (tmp_path / "demo").rename(tmp_path / "gone")
        assert skill.changed() is True
        assert code(skill.content()) == "skills/unreadable"

    def test_what_could_not_be_read_is_looked_at_again(self, demo: Demo, write: Write) -> None:
        skill = demo()
        write({"demo/large.bin": b"x" * (tree.MAX_BYTES + 1)})
        assert skill.changed() is False
        assert code(skill.digest()) == "skills/too-large"
        assert skill.changed() is True
        write({"demo/large.bin": b"x"})
        do(skill.digest())
        assert skill.changed() is False

    @pytest.mark.parametrize("use", [FileSkill.content, FileSkill.digest, FileSkill.resources, FileSkill.scripts])
    def test_another_skill_file_than_the_listed_one_is_not_used(self, demo: Demo, write: Write, use: Any) -> None:
        skill = demo()
        write({"demo/SKILL.md": skill_md("demo", "Does something else.")})
        assert code(use(skill)) == "skills/changed"

    def test_other_files_than_the_hashed_ones_are_not_used(self, demo: Demo, write: Write) -> None:
        skill = demo()
        do(skill.digest())
        write({"demo/scripts/main.py": "import os"})
        assert code(skill.content()) == "skills/changed"

    def test_what_was_loaded_stays_as_it_was(self, demo: Demo, write: Write, tmp_path: Path) -> None:
        skill = demo()
        do(skill.content())
        digest = do(skill.digest())
        write({"demo/SKILL.md": "other", "demo/references/table.csv": "other", "demo/scripts/main.py": "other"})
        (tmp_path / "demo/assets/latin.txt").unlink()
        assert do(skill.content()) == "Do it."
        assert do(reading(skill, "references/table.csv")) == "a,b\r\n1,2\r\n"
        assert do(reading(skill, "assets/latin.txt")) == b"caf\xe9"
        assert do(running(skill)).stdout == "print(1)\n"
        assert do(skill.digest()) == digest

    def test_what_changes_while_it_is_read_is_read_again(
        self, demo: Demo, write: Write, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        skill = demo({"SKILL.md": skill_md(), "a.txt": "old", "b.txt": "old"})
        monkeypatch.setattr(
            tree, "read_file", changing(tree.read_file, "b.txt", lambda: write({"demo/a.txt": "newer"}))
        )
        digest = do(skill.digest())
        assert digest == digest_tree({"SKILL.md": skill_md().encode(), "a.txt": b"newer", "b.txt": b"old"})

    def test_what_changes_all_the_time_is_refused(
        self, demo: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        skill = demo({"SKILL.md": skill_md(), "log.txt": ""})

        def grow() -> None:
            with (tmp_path / "demo/log.txt").open("a") as log:
                log.write("x")

        monkeypatch.setattr(tree, "read_file", changing(tree.read_file, "log.txt", grow, times=100))
        assert code(skill.digest()) == "skills/changed"


def changing(read_file: Any, name: str, change: Callable[[], object], times: int = 1) -> Any:
    """Reads a file, and changes another thing when it does so for the first times."""
    left = [times]

    def read(real: str, most: int) -> Any:
        if real.endswith(name) and left[0]:
            left[0] -= 1
            change()
        return read_file(real, most)

    return read


def modes(folder: Path) -> dict[str, int]:
    """Permissions of everything in a folder, and of itself."""
    return {str(path.relative_to(folder)): path.stat().st_mode & 0o777 for path in (folder, *folder.rglob("*"))}


class TestRunning:
    def test_a_script_runs_in_a_private_copy_of_its_skill(self, demo: Demo, tmp_path: Path) -> None:
        skill = demo()

        async def run() -> Path:
            async with Scope() as scope:
                first = await (await script(skill, "scripts/main.py")).run(None, in_run(scope))
                second = await (await script(skill, "scripts/main.py")).run(None, in_run(scope))
                assert isinstance(first, ScriptResult)
                assert first == second
                copy = Path(first.stderr)
                folders = dict.fromkeys([".", "assets", "references", "scripts"], 0o755)
                assert modes(copy) == {**dict.fromkeys(FILES, 0o444), **folders}
                return copy

        mask = os.umask(0o077)
        try:
            copy = asyncio.run(run())
        finally:
            os.umask(mask)
        assert not copy.is_relative_to(tmp_path / "demo")
        assert not copy.exists()

    def test_only_hashed_files_are_in_the_copy(self, demo: Demo, write: Write) -> None:
        skill = demo({"SKILL.md": skill_md(), "scripts/main.py": ""})
        do(skill.content())
        write({"demo/scripts/__pycache__/main.cpython-311.pyc": "evil", "demo/scripts/late.py": "evil", "demo/.x": ""})

        async def run() -> list[str]:
            async with Scope() as scope:
                result = await (await script(skill, "scripts/main.py")).run(None, in_run(scope))
                assert isinstance(result, ScriptResult)
                return sorted(modes(Path(result.stderr)))

        assert do(run()) == [".", "SKILL.md", "scripts", "scripts/main.py"]

    def test_equal_skills_share_a_copy_and_scopes_do_not(self, demo: Demo) -> None:
        one, two = demo(), demo({})

        async def where(skill: Skill, scope: Scope) -> str:
            result = await (await script(skill, "scripts/main.py")).run(None, in_run(scope))
            assert isinstance(result, ScriptResult)
            return result.stderr

        async def run() -> None:
            async with Scope() as scope, Scope() as other:
                places = await asyncio.gather(*(where(skill, scope) for skill in (one, two, one, two)))
                assert len(set(places)) == 1
                assert await where(one, other) not in places

        asyncio.run(run())

    def test_a_cancelled_run_leaves_nothing(self, demo: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        skill = demo({"SKILL.md": skill_md(), "scripts/main.py": ""})
        do(skill.content())
        writing, cancelled = threading.Event(), threading.Event()
        write_bytes = Path.write_bytes

        def slowly(self: Path, data: bytes) -> int:
            writing.set()
            assert cancelled.wait(10)
            return write_bytes(self, data)

        async def run() -> None:
            async with Scope() as scope:
                task = asyncio.create_task((await script(skill, "scripts/main.py")).run(None, in_run(scope)))
                assert await asyncio.to_thread(writing.wait, 10)
                task.cancel()
                await asyncio.sleep(0.02)
                assert not task.done()
                cancelled.set()
                with pytest.raises(asyncio.CancelledError):
                    await task

        monkeypatch.setattr(Path, "write_bytes", slowly)
        asyncio.run(run())
        assert list(tmp_path.glob("assembler-*")) == []

    @pytest.mark.parametrize("lost", [".", "..", "scripts/main.py", "references"])
    def test_a_copy_that_was_cleaned_away_is_made_again(
        self, demo: Demo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        skill = demo()

        async def run() -> None:
            async with Scope() as scope:
                main = await script(skill, "scripts/main.py")
                first = await main.run(None, in_run(scope))
                assert isinstance(first, ScriptResult)
                gone = (Path(first.stderr) / lost).resolve()
                shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
                results = await asyncio.gather(*(main.run(None, in_run(scope)) for _ in range(3)))
                for again in results:
                    assert isinstance(again, ScriptResult)
                    assert sorted(modes(Path(again.stderr))) == sorted([*FILES, ".", "assets", "references", "scripts"])

        asyncio.run(run())
        assert list(tmp_path.glob("assembler-*")) == []

    def test_a_folder_of_somebody_else_is_no_copy(self, demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
        skill = demo()

        async def run() -> None:
            async with Scope() as scope:
                main = await script(skill, "scripts/main.py")
                first = await main.run(None, in_run(scope))
                monkeypatch.setattr(os, "geteuid", lambda: 4321)
                second = await main.run(None, in_run(scope))
                assert isinstance(first, ScriptResult)
                assert isinstance(second, ScriptResult)
                assert first.stderr != second.stderr

        asyncio.run(run())

    def test_a_script_of_a_closed_agent_does_not_run(self, demo: Demo) -> None:
        skill = demo()

        async def run() -> None:
            async with Scope() as scope:
                main = await script(skill, "scripts/main.py")
            await main.run(None, in_run(scope))

        assert code(run()) == "agent/not-open"

    def test_a_scope_that_is_entered_again_gets_a_new_copy(self, demo: Demo) -> None:
        skill = demo()

        async def run() -> list[str]:
            scope, texts = Scope(), list[str]()
            for _ in range(2):
                async with scope:
                    result = await (await script(skill, "scripts/main.py")).run(None, in_run(scope))
                    assert isinstance(result, ScriptResult)
                    texts.append(result.stdout)
            return texts

        assert do(run()) == ["print(1)\n"] * 2

    def test_a_full_disk_is_told_and_can_be_tried_again(self, demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
        skill = demo()
        write_bytes, written = Path.write_bytes, list[str]()

        def full(self: Path, data: bytes) -> int:
            written.append(self.name)
            if len(written) == 3:
                raise OSError(28, "No space left on device")
            return write_bytes(self, data)

        async def run() -> str:
            async with Scope() as scope:
                main = await script(skill, "scripts/main.py")
                with pytest.raises(AssemblerError, match="No space left on device") as caught:
                    await main.run(None, in_run(scope))
                assert caught.value.diagnostics[0].code == "skills/no-copy"
                result = await main.run(None, in_run(scope))
                assert isinstance(result, ScriptResult)
                return result.stdout

        monkeypatch.setattr(Path, "write_bytes", full)
        assert do(run()) == "print(1)\n"
