"""The benchmark runs; what it measures is nothing that a test on a busy machine could judge."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FIGURES = {
    "start": ["start to ready agent", "start to first answer", "assemble --help"],
    "discovery": ["list 1000 skills", "list 1000 skills, cached"],
    "runs": [
        "20 runs, Responses",
        "20 runs, Chat Completions",
        "20 runs, Responses, streamed",
        "20 runs, Chat Completions, streamed",
        "20 runs, Responses, 1000 skills",
        "32 runs at once, Responses",
        "32 runs at once, Chat Completions",
    ],
    "sessions": ["add 50 runs to a session of 10 items"],
    "dispatch": ["a call of a tool"],
    "memory": ["memory of a ready agent", "1000 sessions of 10 messages"],
}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", [name for name in FIGURES if name != "memory"])  # which alone takes a minute
def test_every_figure_is_measured(name: str) -> None:
    command = [sys.executable, "-m", "bench", "--rounds", "1", name]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.stderr == ""
    assert ended.returncode == int("BROKEN" in ended.stdout)
    for figure in FIGURES[name]:
        assert any(line.startswith(figure) and "ratio" in line for line in ended.stdout.splitlines()), ended.stdout


def test_what_it_does_not_know_is_refused(capsys: Any) -> None:
    from bench.__main__ import main

    with pytest.raises(SystemExit):
        main(["strat"])
    assert "there is no strat" in capsys.readouterr().err


def test_a_limit_is_kept_from_one_side() -> None:
    from bench.measure import Figure, at_least, at_most

    slow, fast = Figure("x", 3, "y", 1, bound=at_most(2)), Figure("x", 3, "y", 1, bound=at_least(2), goal=at_least(4))
    assert (slow.holds, fast.holds) == (False, True)
    assert "at most 2: BROKEN" in str(slow)
    assert "at least 2: holds; goal at least 4: missed" in str(fast)
