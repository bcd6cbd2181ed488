"""A skill in a folder: what belongs to it, what names it, and what it refuses to read."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.skills.support import (
    FILES,
    Demo,
    Listed,
    Write,
    code,
    do,
    named_pipe,
    names,
    reading,
    skill_md,
)

from assembler.digests import digest_tree
from assembler.skills import tree


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
