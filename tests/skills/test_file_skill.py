"""A skill in a folder: what belongs to it, what names it, and that what was hashed is what is used."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from tests.skills.support import Listed, Write, in_run, named_pipe, skill_md

from assembler.digests import digest_tree
from assembler.errors import AssemblerError
from assembler.runners.base import ScriptResult
from assembler.scope import Scope
from assembler.skills import tree
from assembler.skills.file_skill import FileSkill
from assembler.skills.skill import Skill, SkillResource, SkillScript

FILES = {
    "SKILL.md": skill_md("demo", body="\nDo it.\r\n"),
    "references/table.csv": "a,b\r\n1,2\r\n",
    "assets/logo.png": b"\x89PNG\0",
    "assets/latin.txt": b"caf\xe9",
    "scripts/main.py": "print(1)\n",
    "scripts/data.json": "{}",
}

Demo = Callable[..., FileSkill]


@pytest.fixture
def demo(write: Write, find: Callable[..., Listed]) -> Demo:
    """Writes one skill and lists it."""

    def demo(files: dict[str, str | bytes] | None = None, *paths: str, **options: Any) -> FileSkill:
        write({f"demo/{path}": data for path, data in (FILES if files is None else files).items()})
        (skill,) = find(*paths, **options).skills
        assert isinstance(skill, FileSkill)
        return skill

    return demo


def do(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def names(things: Coroutine[Any, Any, Any]) -> list[str]:
    return [thing.name for thing in asyncio.run(things)]


async def resource(skill: Skill, name: str) -> SkillResource:
    return next(resource for resource in await skill.resources() if resource.name == name)


async def script(skill: Skill, name: str) -> SkillScript:
    return next(script for script in await skill.scripts() if script.name == name)


async def reading(skill: Skill, name: str) -> str | bytes:
    async with Scope() as scope:
        return await (await resource(skill, name)).read(in_run(scope))


def code(work: Coroutine[Any, Any, Any]) -> str:
    with pytest.raises(AssemblerError) as caught:
        asyncio.run(work)
    return caught.value.diagnostics[0].code


def counting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are opened from now on."""
    opened: list[str] = []
    real_open = os.open

    def counting_open(path: Any, *args: Any, **options: Any) -> int:
        opened.append(path)
        return real_open(path, *args, **options)

    monkeypatch.setattr(os, "open", counting_open)
    return opened


def test_listing_reads_the_skill_file_alone(demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
    demo()
    opened = counting(monkeypatch)
    skill = demo({})
    assert [Path(path).name for path in opened] == ["SKILL.md"]
    do(skill.content())
    assert len(opened) == 1 + len(FILES)


class TestContent:
    def test_its_files_are_resources_or_scripts(self, demo: Demo) -> None:
        skill = demo()
        assert do(skill.content()) == "Do it."
        listed = ["assets/latin.txt", "assets/logo.png", "references/table.csv", "scripts/data.json"]
        assert names(skill.resources()) == listed
        assert names(skill.scripts()) == ["scripts/main.py"]
        assert skill.findings == ()

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("references/table.csv", "a,b\r\n1,2\r\n"),
            ("assets/logo.png", b"\x89PNG\0"),
            ("assets/latin.txt", b"caf\xe9"),
            ("scripts/data.json", "{}"),
        ],
    )
    def test_a_resource_is_text_where_it_can_be(self, demo: Demo, name: str, content: str | bytes) -> None:
        assert do(reading(demo(), name)) == content

    def test_names_are_exact(self, demo: Demo) -> None:
        skill = demo({"SKILL.md": skill_md(), "a.txt": "small", "A.txt": "large", "sub/SKILL.md": "nested"})
        assert names(skill.resources()) == ["A.txt", "a.txt", "sub/SKILL.md"]
        assert do(reading(skill, "a.txt")) == "small"
        assert do(reading(skill, "A.txt")) == "large"

    def test_what_is_hidden_secret_or_of_tools_does_not_belong_to_it(self, demo: Demo) -> None:
        left_out = [".env", ".env.local", "sub/.env", ".git/config", "node_modules/x.js", "__pycache__/x.pyc"]
        left_out += ["server.pem", "SERVER.KEY", "id_rsa", "id_ed25519.pub", "scripts/__pycache__/main.pyc"]
        plain = demo({"SKILL.md": skill_md(), "scripts/main.py": ""})
        digest = do(plain.digest())
        skill = demo({"SKILL.md": skill_md(), "scripts/main.py": "", **dict.fromkeys(left_out, "secret")})
        assert names(skill.resources()) == []
        assert do(skill.digest()) == digest


class TestDigest:
    def test_it_covers_paths_and_bytes(self, demo: Demo) -> None:
        files = {path: data if isinstance(data, bytes) else data.encode() for path, data in FILES.items()}
        assert do(demo().digest()) == digest_tree(files)

    def test_times_and_modes_do_not_count(self, demo: Demo, tmp_path: Path) -> None:
        digest = do(demo().digest())
        main = tmp_path / "demo/scripts/main.py"
        main.chmod(0o755)
        os.utime(main, (1, 1))
        assert do(demo().digest()) == digest

    @pytest.mark.parametrize("path", ["scripts/main.py", "assets/logo.png", "new.txt", "SKILL.md"])
    def test_every_file_counts(self, demo: Demo, path: str) -> None:
        digest = do(demo().digest())
        assert do(demo({path: skill_md("demo", "Other.")}).digest()) != digest

    def test_many_callers_of_many_loops_cause_one_reading(self, demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
        skill = demo()
        opened = counting(monkeypatch)

        async def many() -> None:
            await asyncio.gather(*(skill.digest() for _ in range(20)))

        threads = [threading.Thread(target=asyncio.run, args=(many(),)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(opened) == len(FILES)


class TestLimits:
    def test_too_many_files(self, demo: Demo) -> None:
        files = {f"f/{number}": "" for number in range(tree.MAX_FILES - 1)}
        skill = demo({"SKILL.md": skill_md(), **files})
        assert len(names(skill.resources())) == tree.MAX_FILES - 1
        skill = demo({"one-more": ""})
        assert code(skill.digest()) == code(skill.content()) == "skills/too-large"

    def test_too_many_bytes(self, demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
        head = skill_md()
        monkeypatch.setattr(tree, "MAX_BYTES", 1000)
        do(demo({"SKILL.md": head, "x": "x" * (1000 - len(head))}).digest())
        assert code(demo({"x": "x" * (1001 - len(head))}).digest()) == "skills/too-large"

    def test_too_many_levels(self, write: Write, find: Callable[..., Listed]) -> None:
        write({"demo/SKILL.md": skill_md(), f"demo/{'d/' * 40}x": "", "good/SKILL.md": skill_md("good")})
        found = find()
        assert (found.names, found.codes) == (["good"], ["skills/too-large"])


class TestLinks:
    def test_links_inside_the_searched_folder_are_read(self, write: Write, demo: Demo, tmp_path: Path) -> None:
        write({"shared/style.md": "shared", "demo/references/x.md": "x"})
        (tmp_path / "demo/style.md").symlink_to("../shared/style.md")
        (tmp_path / "demo/refs").symlink_to("references")
        skill = demo({"SKILL.md": skill_md()})
        assert names(skill.resources()) == ["references/x.md", "refs/x.md", "style.md"]
        assert do(reading(skill, "style.md")) == "shared"

    @pytest.mark.parametrize("target", ["../../outside.md", "/etc/passwd", "missing", ".env", "../../outside"])
    def test_other_links_are_told_and_not_read(self, write: Write, demo: Demo, tmp_path: Path, target: str) -> None:
        write({"outside.md": "", "outside/x": "", "skills/demo/.env": "secret"})
        write({"skills/demo/SKILL.md": skill_md()})
        (tmp_path / "skills/demo/link").symlink_to(target)
        skill = demo({}, "skills")
        assert names(skill.resources()) == []
        assert [(found.code, str(found.where)) for found in skill.findings] == [
            ("skills/link-refused", "skills/demo/link")
        ]

    def test_a_link_that_was_turned_outside_is_not_followed(self, write: Write, demo: Demo, tmp_path: Path) -> None:
        write({"demo/a.md": "inside", "secret": "secret"})
        link = tmp_path / "demo/link"
        link.symlink_to("a.md")
        skill = demo({"SKILL.md": skill_md()})
        do(skill.digest())
        link.unlink()
        link.symlink_to("/etc/hostname")
        assert code(reading(skill, "link")) == "skills/changed"

    def test_loops_end(self, demo: Demo, tmp_path: Path) -> None:
        demo({"SKILL.md": skill_md(), "a/x": "", "b/y": ""})
        for link, target in (
            ("demo/up", ".."),
            ("demo/a/loop", "../b"),
            ("demo/b/loop", "../a"),
            ("demo/self", "self"),
        ):
            (tmp_path / link).symlink_to(target)
        skill = demo({})
        assert names(skill.resources()) == ["a/loop/y", "a/x", "b/loop/x", "b/y"]
        assert sorted(found.code for found in skill.findings) == [
            "skills/link-loop",
            "skills/link-loop",
            "skills/link-loop",
            "skills/link-refused",
        ]

    def test_a_hard_link_to_a_file_elsewhere_is_told_and_not_read(
        self, write: Write, demo: Demo, tmp_path: Path
    ) -> None:
        write({"outside.txt": "secret", "demo/one.txt": "one"})
        (tmp_path / "demo/out.txt").hardlink_to(tmp_path / "outside.txt")
        (tmp_path / "demo/two.txt").hardlink_to(tmp_path / "demo/one.txt")
        skill = demo({"SKILL.md": skill_md()})
        assert names(skill.resources()) == ["one.txt", "two.txt"]
        assert [found.code for found in skill.findings] == ["skills/hard-link"]
        assert "out.txt" in names(demo({}, hard_links="allow").resources())

    def test_special_files_are_told(self, demo: Demo, tmp_path: Path) -> None:
        demo({"SKILL.md": skill_md()})
        (tmp_path / "demo/new\nline").touch()
        (tmp_path / "demo" / os.fsdecode(b"\xff")).touch()
        with named_pipe(tmp_path / "demo/pipe"):
            skill = demo({})
            assert names(skill.resources()) == []
        assert sorted(found.code for found in skill.findings) == [
            "skills/bad-file-name",
            "skills/bad-file-name",
            "skills/unreadable",
        ]


class TestChange:
    def test_nothing_has_changed_at_first(self, demo: Demo) -> None:
        skill = demo()
        assert do(skill.changed()) is False
        do(skill.digest())
        assert do(skill.changed()) is False

    @pytest.mark.parametrize("path", ["SKILL.md", "scripts/main.py", "references/table.csv", "new.txt"])
    def test_a_change_is_seen_in_what_was_read(self, demo: Demo, write: Write, path: str) -> None:
        listed, read = demo(), demo({})
        do(read.digest())
        write({f"demo/{path}": "changed"})
        assert do(read.changed()) is True
        assert do(listed.changed()) is (path == "SKILL.md")

    def test_a_file_or_skill_that_is_gone_is_a_change(self, demo: Demo, tmp_path: Path) -> None:
        skill = demo()
        do(skill.digest())
        (tmp_path / "demo/assets/logo.png").unlink()
        assert do(skill.changed()) is True
        (tmp_path / "demo").rename(tmp_path / "gone")
        assert do(skill.changed()) is True
        assert code(skill.content()) == "skills/unreadable"

    def test_many_are_asked_at_once(self, demo: Demo, write: Write) -> None:
        skills = [demo(), *(demo({}) for _ in range(19))]

        async def ask() -> list[bool]:
            return await asyncio.gather(*(skill.changed() for skill in skills))

        assert do(ask()) == [False] * 20
        write({"demo/SKILL.md": "changed"})
        assert do(ask()) == [True] * 20

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


async def running(skill: Skill, name: str = "scripts/main.py", arguments: Any = None) -> ScriptResult:
    async with Scope() as scope:
        result = await (await script(skill, name)).run(arguments, in_run(scope))
        assert isinstance(result, ScriptResult)
        return result


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
                await asyncio.sleep(0)
                cancelled.set()
                with pytest.raises(asyncio.CancelledError):
                    await task

        monkeypatch.setattr(Path, "write_bytes", slowly)
        asyncio.run(run())
        assert list(tmp_path.glob("assembler-*")) == []

    def test_a_full_disk_is_told(self, demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
        skill = demo()

        def full(*_: Any) -> int:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "write_bytes", full)
        assert code(running(skill)) == "skills/no-copy"
