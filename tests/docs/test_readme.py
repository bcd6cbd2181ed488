"""The first screen of the README: short, and true of what its two commands do."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from assembler.cli.main import COMMANDS

from .expected import difference
from .pages import PAGES, ROOT, Block, Page
from .test_examples import skip_without_isolation

README = Page.read(Path("README.md"))
FIRST_SCREEN = 45
"""Lines."""

CHECKS = {"ruff", "lint-imports", "pyright"}


def block_marked(name: str) -> Block:
    (found,) = [block for block in README.blocks if block.is_marked(name)]
    return found


def shown(command: str) -> str:
    """What the README says that a make target prints."""
    _, _, after = block_marked("make").text.partition(f"$ {command}\n")
    return after.partition("$ ")[0]


def environment() -> dict[str, str]:
    """This process's environment, without what would tell a command that it runs inside make or pytest."""
    ours = ("MAKE", "MFLAGS", "PYTEST_", "ASSEMBLE_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def recipe(*arguments: str) -> list[str]:
    """The commands of a make target."""
    return run(f"make --dry-run --no-print-directory {' '.join(arguments)}").splitlines()


def run(command: str, **variables: str) -> str:
    """What a command prints in this checkout, on both outputs."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        env=environment() | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=100,
    )
    return done.stdout


def test_the_first_screen_holds_a_configuration_both_commands_and_every_page() -> None:
    screen = "\n".join((ROOT / "README.md").read_text("utf-8").splitlines()[:FIRST_SCREEN])
    missing = [page for page in PAGES[1:] if f"({page})" not in screen]
    assert missing == []
    for command in ("$ make run\n", "$ make test\n"):
        assert command in screen


def test_its_configuration_is_short_and_shows_what_there_is() -> None:
    (block,) = [block for block in README.blocks if block.language == "yaml"]
    assert len(block.text.splitlines()) <= 12
    root = yaml.safe_load(block.text)
    assert {"defaults", "skills", "approval", "limits"} <= set(root)
    assert root["skills"]["decorators"]


def test_make_run_prints_what_it_says() -> None:
    skip_without_isolation()
    question = re.search(r"^Q := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert question is not None
    printed = run(recipe("run")[-1], Q=question[1])
    assert difference(shown("make run"), printed) == ""


@pytest.mark.slow
def test_make_test_runs_what_it_shows() -> None:
    programs = [Path(line.split()[0]).name for line in recipe("test")]
    assert [name for name in programs if name in CHECKS] == ["ruff", "ruff", "lint-imports", "pyright"]
    # Of the types and tests, which take long, a few tests are enough to see what is printed.
    quick = [line for line in recipe("lint") if Path(line.split()[0]).name in CHECKS]
    printed = "".join(run(line) for line in [*quick, recipe("test", "TESTS=tests/approval")[-1]])
    assert difference(shown("make test"), printed) == ""


def test_what_is_not_there_yet_is_not_there() -> None:
    status = (ROOT / "README.md").read_text("utf-8").partition("\n## Status\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"`assemble (\w+)`", status))
    assert named
    assert not named & set(COMMANDS)
