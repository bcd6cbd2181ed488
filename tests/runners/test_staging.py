"""The folder of one run: what is put into it, and that it goes away whatever it became."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

import pytest

from assembler.errors import AssemblerError
from assembler.folders import remove_tree
from assembler.runners.staging import copy_inputs, copy_skill, run_folder


def test_a_run_folder_is_private_and_goes() -> None:
    async def use() -> Path:
        async with run_folder() as folder:
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            return folder

    assert not asyncio.run(use()).exists()


def test_a_folder_that_cannot_be_removed_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async def use() -> None:
        async with run_folder() as folder:
            remove_tree(folder)

    asyncio.run(use())
    assert "could not be removed" in caplog.text


def test_any_tree_is_removed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "kept").mkdir(parents=True)
    tree = tmp_path / "tree"
    (tree / "a" / "a" / "b").mkdir(parents=True)
    (tree / "a" / "file").write_text("x")
    (tree / "a" / "folder").symlink_to(outside)
    (tree / "dangling").symlink_to("nowhere")
    os.mkfifo(tree / "pipe")
    (tree / "a" / "a").chmod(0)
    (tree / "a").chmod(0)
    tree.chmod(0o500)
    remove_tree(tree)
    assert not tree.exists()
    assert (outside / "kept").is_dir()


def test_a_link_is_not_taken_for_a_folder(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        remove_tree(tmp_path / "link")
    assert (tmp_path / "outside" / "kept").exists()


def test_a_skill_is_copied_for_everybody_to_read(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "scripts").mkdir(parents=True)
    (source / "scripts" / "run.sh").write_text("x")
    (source / "scripts" / "run.sh").chmod(0o700)
    (source / "SKILL.md").write_text("y")
    (source / "SKILL.md").chmod(0o600)
    (source / "link").symlink_to("SKILL.md")
    (source / "folder").symlink_to("scripts")
    source.chmod(0o700)
    copy = tmp_path / "copy"
    copy_skill(source, copy)
    modes = {
        str(path.relative_to(copy)): oct(path.lstat().st_mode & 0o777)
        for path in copy.rglob("*")
        if not path.is_symlink()
    }
    assert modes == {"scripts": "0o555", "scripts/run.sh": "0o555", "SKILL.md": "0o444"}
    assert (copy / "link").readlink() == Path("SKILL.md")
    assert (copy / "folder").readlink() == Path("scripts")
    remove_tree(copy)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/a", "a\0b"])
def test_input_names_are_plain(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(AssemblerError) as caught:
        copy_inputs([(name, tmp_path / "file")], tmp_path / "inputs")
    assert caught.value.diagnostics[0].code == "runner/bad-input"


def test_input_names_are_unique_and_inputs_are_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(AssemblerError, match="two input files are called `a`"):
        copy_inputs([("a", tmp_path / "file"), ("a", tmp_path / "file")], tmp_path / "one")
    for source in (tmp_path, tmp_path / "missing"):
        with pytest.raises(AssemblerError, match="not a regular file"):
            copy_inputs([("a", source)], tmp_path / f"to-{source.name}")
