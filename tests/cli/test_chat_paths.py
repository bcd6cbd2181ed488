"""Paths after a command of a chat: as typed, and as completed."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assembler.cli.chat_paths import completions, typed_paths

NAMES = st.text(
    st.characters(exclude_characters="/", exclude_categories=("C", "Z")) | st.just(" "), min_size=1, max_size=20
)


@given(name=NAMES.filter(lambda name: name.strip(".")), length=st.integers(0, 20))
def test_what_is_completed_is_the_file(name: str, length: int) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder, name)
        file.touch()
        begun, found = completions(f"other {folder}/")
        assert begun == ""
        assert found == ([] if name.startswith(".") else found)
        (whole,) = completions(f"{folder}/.")[1] if name.startswith(".") else found
        begun, found = completions(f"other {folder}/{whole[:length]}")
        if begun == whole[:length] and begun:  # not in the middle of an escape
            assert found == [whole]
        assert typed_paths(f"{folder}/{whole}") == [file]


@pytest.mark.parametrize(
    ("typed", "part", "found"),
    [
        ("", "", ["a\\ b.csv", "ab.csv", "folder/"]),
        ("a", "a", ["a\\ b.csv", "ab.csv"]),
        ("a\\ ", "a\\ ", ["a\\ b.csv"]),
        ("x a\\ ", "a\\ ", ["a\\ b.csv"]),
        (".", ".", [".hidden"]),
        ("folder/", "", ["in\\'s"]),
        ("./fol", "fol", ["folder/"]),
        ("'a", "", []),
        ('"a', "", []),
        ("nowhere/", "", []),
        ("ab.csv/", "", []),
        ("~nobody-at-all/", "", []),
    ],
)
def test_completions(typed: str, part: str, found: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    for name in ("a b.csv", "ab.csv", ".hidden", "folder/in's", "no\nline", "no\u202ebidi"):
        Path(name).touch()
    shown = completions(typed)
    assert shown[1] == found
    assert not found or shown[0] == part
