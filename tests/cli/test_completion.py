"""Completion: what each shell would offer, and a real bash that does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assembler.cli.completion import SCRIPTS, candidates

FILES = {
    "conf/agent.yaml": "",
    "conf/agile.yaml": "",
    "conf/env/dev.yaml": "",
    "conf/env/prod.yaml": "",
    "conf/skills/units.yaml": "",
    "conf/skills/csv.yaml": "",
}


@pytest.fixture(autouse=True)
def files(project: Any) -> Path:
    return project(FILES)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("assemble r", ["run"]),
        ("assemble ", ["completion", "run", "sessions", "skills", "trust"]),
        ("assemble skills ", ["list"]),
        ("assemble sessions ", ["delete", "list", "show"]),
        ("assemble run --se", ["--session"]),
        ("assemble completion f", ["fish"]),
        ("assemble run --j", ["--json"]),
        ("assemble run conf=ag", ["conf=agent", "conf=agile"]),
        ("assemble run con", ["conf="]),
        ("assemble run conf=agent con", []),
        ("assemble run conf=agent env=p", ["env=prod"]),
        ("assemble run conf=agent skills=[units,c", ["skills=[units,csv"]),
        (
            "assemble run conf=agent approval=",
            [f"approval={name}" for name in ("ask_everything", "ask_scripts", "read_only", "unattended")],
        ),
        ("assemble run conf=agent lim", ["limits."]),
        ("assemble run conf=agent limits.to", ["limits.tokens=", "limits.tool_calls=", "limits.tool_output="]),
        ("assemble run conf=agent skills.cata", ["skills.catalog."]),
        ("assemble run conf=agent nothing.a", []),
        ("assemble run conf=agent unknown=", []),
        ("assemble nothing", []),
    ],
)
def test_candidates(line: str, expected: list[str]) -> None:
    assert sorted(set(candidates(line))) == expected


def test_a_project_is_found_from_below(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (files / "deep").mkdir()
    monkeypatch.chdir(files / "deep")
    assert sorted(candidates("assemble run conf=")) == ["conf=agent", "conf=agile"]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH with an `assemble` that is this one."""
    program = tmp_path / "bin/assemble"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m assembler.cli.main "$@"\n')
    program.chmod(0o755)
    return f"{program.parent}:{os.environ['PATH']}"


@pytest.mark.parametrize(
    ("line", "word", "expected"),
    [
        ("assemble run conf=agent env=p", "p", "prod"),
        ("assemble ru", "ru", "run"),
        ("assemble run lim", "lim", "limits."),
    ],
)
def test_bash_is_given_what_follows_its_own_break(path: str, line: str, word: str, expected: str) -> None:
    environment = {**os.environ, "PATH": path, "COMP_LINE": line, "COMP_POINT": str(len(line))}
    command = ["assemble", "complete", "assemble", word, "before"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == f"{expected}\n"


@pytest.mark.parametrize("shell", SCRIPTS)
def test_each_shell_accepts_its_script(path: str, shell: str) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed here")
    prepare = "autoload -U compinit; compinit -u; " if shell == "zsh" else ""
    text = f'{prepare}eval "$(assemble completion {shell})"' if shell != "fish" else "assemble completion fish | source"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(
        [program, "-c", text], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_help_and_an_unknown_shell(path: str) -> None:
    environment = {**os.environ, "PATH": path}
    told = subprocess.run(
        ["assemble", "completion", "--help"], env=environment, capture_output=True, text=True, check=True
    )
    assert "examples:" in told.stdout
    wrong = subprocess.run(
        ["assemble", "completion", "bsh"], env=environment, capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2
    assert "did you mean `bash`?" in wrong.stderr
