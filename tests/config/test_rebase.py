"""Paths in overrides resolve against the folder that the person stands in; those in files against the project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assembler import assemble

FILES = {
    "conf/agent.yaml": "skills: {sources: {own: {kind: files, paths: [skills]}}}\n",
    "conf/model/echo.yaml": "kind: scripted\nturns: {echo: {text: hello}}\n",
    "skills/own/SKILL.md": "---\nname: own\ndescription: The project's.\n---\n",
    "below/mine/mine/SKILL.md": "---\nname: mine\ndescription: Mine.\n---\n",
    "below/text.md": "From below.",
}


@pytest.fixture(autouse=True)
def files(project: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = project(FILES)
    monkeypatch.chdir(root / "below")
    return root


def paths(*overrides: str) -> dict[str, list[str]]:
    sources = assemble("agent", ["model=echo", *overrides]).config.skills.sources
    return {name: [str(path) for path in source.paths] for name, source in sources.items()}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("limits.turns=3", {"own": ["skills"]}),
        ("skills.sources.own.paths=[mine]", {"own": ["below/mine"]}),
        ("skills.sources.own.paths=[../skills, ./mine]", {"own": ["skills", "below/mine"]}),
        ("skills.sources.own={paths: [mine]}", {"own": ["below/mine"]}),
        ("skills.sources.more={kind: files, paths: [mine]}", {"own": ["skills"], "more": ["below/mine"]}),
        ("skills.sources.files={paths: [mine]}", {"own": ["skills"], "files": ["below/mine"]}),
        ("skills.sources.own.paths=['~/skills']", {"own": ["~/skills"]}),
        ("skills.sources.own.paths=[/srv/skills]", {"own": ["/srv/skills"]}),
    ],
)
def test_what_an_override_sets(override: str, expected: dict[str, list[str]]) -> None:
    assert paths(override) == expected


def test_a_path_that_leaves_the_project_is_absolute(files: Path) -> None:
    assert paths("skills.sources.own.paths=[../../elsewhere]") == {"own": [str(files.parent / "elsewhere")]}


def test_texts_in_files_of_their_own() -> None:
    result = assemble("agent", ["model=echo", "instructions={file: text.md}"]).run_sync("x")
    assert result.status == "completed"
    config = assemble("agent", ["model=echo", "instructions.file=text.md"]).config
    assert str(config.instructions.file) == "below/text.md"  # type: ignore[union-attr]


def test_the_digest_does_not_depend_on_where_one_stands(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = assemble("agent", ["model=echo", "skills.sources.own.paths=[mine]"]).config.digest
    monkeypatch.chdir(files)
    assert assemble("agent", ["model=echo", "skills.sources.own.paths=[below/mine]"]).config.digest == below
