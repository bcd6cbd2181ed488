"""`make run` and `make test` on a machine that has nothing yet: what they do where the set-up cannot go on."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .environments import ROOT

COMMANDS = ("sh", "dirname", "basename", "cat", "rm", "touch", "make", "sed", "awk", "pwd")
OLD_PYTHON = """#!/bin/sh
case $* in --version) echo Python 3.9.2 ;; *) exit 1 ;; esac
"""
BARE_PYTHON = """#!/bin/sh
case $* in *ensurepip* | '-m '*) exit 1 ;; esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What setting up reads of this checkout, in a folder with a space in its name."""
    folder = tmp_path / "a checkout"
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "scripts/dev/venv.sh"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder for PATH with make, a few commands and neither a Python nor uv."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in COMMANDS:
        command = shutil.which(name)
        assert command is not None, f"these tests need {name}"
        (folder / name).symlink_to(command)
    add(folder, "id", "#!/bin/sh\necho 1000\n")
    return folder


def add(machine: Path, name: str, script: str) -> None:
    path = machine / name
    path.write_text(script)
    path.chmod(0o755)


def make(checkout: Path, machine: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(machine), "HOME": str(machine)}
    return subprocess.run(
        ["make", *arguments], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What was printed, but for make's own closing line."""
    return [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("make: ***")]


@pytest.mark.parametrize("target", ["run", "test"])
@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        ({}, r"Python 3\.11 or later is needed, and found was none\. PYTHON=/path/to/python names another\."),
        ({"python3": OLD_PYTHON}, r"Python 3\.11 or later is needed, and found was Python 3\.9\.2\. PYTHON=\S+ .*"),
        (
            {"python3": BARE_PYTHON, "apt-get": "#!/bin/sh\n"},
            r"\S+/python3 cannot make .*: sudo apt-get install -y python3-venv",
        ),
        (
            {"python3": OLD_PYTHON, "python3.12": BARE_PYTHON, "apt-get": "#!/bin/sh\n"},
            r"\S+/python3\.12 cannot make .*: sudo apt-get install -y python3\.12-venv",
        ),
        (
            {"python3": BARE_PYTHON},
            r"\S+/python3 cannot make .* venv and ensurepip modules \(or uv\), then try again\.",
        ),
    ],
    ids=["no python", "old python", "no ensurepip", "no ensurepip in the newest", "no ensurepip and no apt"],
)
def test_what_cannot_be_mended_is_one_line(
    checkout: Path, machine: Path, commands: dict[str, str], expected: str, target: str
) -> None:
    for name, script in commands.items():
        add(machine, name, script)
    done = make(checkout, machine, target)
    assert done.returncode != 0
    (line,) = said(done)
    assert re.fullmatch(expected, line)
    assert not (checkout / ".venv").exists()


def test_an_environment_that_could_not_be_made_is_taken_away(checkout: Path, machine: Path) -> None:
    add(machine, "uv", "#!/bin/sh\nmkdir -p .venv/bin\necho no space left >&2\nexit 1\n")
    add(machine, "mkdir", f'#!/bin/sh\nexec {shutil.which("mkdir")} "$@"\n')
    done = make(checkout, machine, "run")
    assert done.returncode != 0
    assert said(done) == ["no space left"]
    assert not (checkout / ".venv").exists()


def set_up(checkout: Path, *stamps: str) -> None:
    """Makes the checkout look as one whose environment was set up at this path."""
    python = checkout / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch(0o755)
    (checkout / ".venv" / ".made-at").write_text(f"{checkout}\n")
    for stamp in stamps:
        (checkout / ".venv" / stamp).touch()


def would_set_up(checkout: Path, machine: Path, target: str) -> bool:
    done = make(checkout, machine, "--dry-run", target)
    assert done.returncode == 0, done.stderr
    return "venv.sh" in done.stdout


def test_what_is_set_up_is_not_set_up_again(checkout: Path, machine: Path) -> None:
    set_up(checkout, ".stamp", ".stamp-dev")
    assert not would_set_up(checkout, machine, "run")
    assert not would_set_up(checkout, machine, "test")


def test_running_does_not_wait_for_the_tools_of_development(checkout: Path, machine: Path) -> None:
    set_up(checkout, ".stamp")
    assert not would_set_up(checkout, machine, "run")
    assert would_set_up(checkout, machine, "test")


@pytest.mark.parametrize("changed", ["pyproject.toml", "constraints.txt"])
def test_new_dependencies_are_installed(checkout: Path, machine: Path, changed: str) -> None:
    set_up(checkout, ".stamp", ".stamp-dev")
    later = (checkout / ".venv" / ".stamp").stat().st_mtime + 10
    os.utime(checkout / changed, (later, later))
    assert would_set_up(checkout, machine, "run")
    assert would_set_up(checkout, machine, "test")


def test_a_checkout_that_was_moved_is_set_up_again(checkout: Path, machine: Path) -> None:
    set_up(checkout, ".stamp", ".stamp-dev")
    moved = checkout.rename(checkout.with_name("elsewhere"))
    assert would_set_up(moved, machine, "run")


def test_an_environment_whose_python_is_gone_is_set_up_again(checkout: Path, machine: Path) -> None:
    set_up(checkout, ".stamp", ".stamp-dev")
    (checkout / ".venv" / "bin" / "python").unlink()
    assert would_set_up(checkout, machine, "run")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ["-i", "How many kilometres is a 26.2 mile marathon?"]),
        (['Q=What\'s "5 $" in $(HOME)?'], ["-i", 'What\'s "5 $" in $(HOME)?']),
        (["Q=Why?", "ARGS=--json skills=csv"], ["-i", "Why?", "--json", "skills=csv"]),
    ],
)
def test_run_asks_the_quickstart(checkout: Path, machine: Path, arguments: list[str], expected: list[str]) -> None:
    set_up(checkout, ".stamp")
    add(checkout / ".venv" / "bin", "assemble", """#!/bin/sh\nprintf '%s\\n' "$@"\n""")
    done = make(checkout, machine, "run", *arguments)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["run", "conf=quickstart", "runner.isolation=prefer", *expected]


def test_help_lists_every_target(checkout: Path, machine: Path) -> None:
    done = make(checkout, machine)
    targets = re.findall(r"^([a-z-]+):", (checkout / "Makefile").read_text(), re.MULTILINE)
    assert {"run", "test", "lint", "types", "fmt", "bench", "docs", "wheel"} <= set(targets)
    assert re.findall(r"^ *make ([a-z-]+) ", done.stdout, re.MULTILINE) == targets
