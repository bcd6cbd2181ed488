"""Projects that tests write, and nothing of the machine that they run on."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from assembler.config.load import load

Project = Callable[[Mapping[str, str]], Path]


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of the test's own, so that nothing is agreed to that the test does not agree to."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


@pytest.fixture
def agree() -> Callable[..., None]:
    """Agrees to what a configuration asks for, as a person does with ``assemble trust``."""

    def agree(conf: str, *overrides: str) -> None:
        load(conf, overrides).consent().agree()

    return agree


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Writes files into an empty project, a repository of its own, and works there."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASSEMBLE_CONF", raising=False)

    def write(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        return tmp_path

    return write


ECHO = """\
kind: scripted
turns:
  echo: {text: "You said: {{ input }}"}
"""
"""A model that needs nothing."""


@pytest.fixture
def echo(project: Project) -> Path:
    """A project with one root, `agent`, whose model repeats what it hears."""
    return project({"conf/agent.yaml": "defaults: [{model: echo}, _self_]\n", "conf/model/echo.yaml": ECHO})


@pytest.fixture
def run_python() -> Callable[[str], str]:
    """Runs a program in a fresh interpreter, warnings as errors, and returns what it printed."""

    def run(program: str) -> str:
        command = [sys.executable, "-W", "error", "-c", program]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    return run
