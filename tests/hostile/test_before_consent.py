"""A project that somebody cloned does nothing before they agreed to it, whatever stands in it and whatever they run.

It imports nothing, starts nothing, connects to nobody, and reads nothing outside of itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.hostile.attacks import ATTACKS, BAIT, ECHO, ROOT, Attack
from tests.hostile.watching import CANARY, VARIABLES, Machine, Outcome, Visit, machine

pytestmark = pytest.mark.slow

MOST_SECONDS = 10
"""Processor time that a command may take, whatever a project holds; a second is usual on an idle machine."""

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What a terminal would obey instead of showing it."""


def commands(typed: Sequence[str] = ()) -> list[list[str]]:
    """Every command, about the root `agent`."""
    chosen = ["conf=agent", *typed]
    return [
        ["run", *chosen, "-i", "hi"],
        ["run", *chosen, "-i", "hi", "--json"],
        ["skills", "list", *chosen],
        ["skills", "list", *chosen, "--json"],
        ["trust", *chosen, "--show"],
        ["trust", *chosen, "--json"],
        ["trust", *chosen],
        ["complete", "assemble run "],
        ["complete", "assemble run conf="],
        ["complete", "assemble run conf=agent model="],
    ]


def cloned(attack: Attack, onto: Machine, name: str) -> Path:
    """A clone of a project that means harm."""
    project = onto.project(name, {"conf/agent.yaml": ROOT, "conf/model/echo.yaml": ECHO, **BAIT, **attack.files})
    for path in (*attack.links, *attack.pipes, *attack.huge):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).unlink(missing_ok=True)
    for path, target in attack.links.items():
        (project / path).symlink_to(target)
    for path in attack.pipes:
        os.mkfifo(project / path)
    for path in attack.huge:
        with (project / path).open("wb") as file:
            file.truncate(8 * 1024**3)
    return project


def assert_harmless(outcome: Outcome) -> None:
    """Nothing happened that nobody agreed to, and nothing was told that is not the project's."""
    assert outcome.did == [], outcome
    assert VARIABLES.keys().isdisjoint(outcome.variables), outcome
    assert CANARY not in outcome.stdout + outcome.stderr, outcome
    assert not OBEYED.search(outcome.stderr), outcome
    assert "[cli/" not in outcome.stderr, outcome
    assert outcome.seconds < MOST_SECONDS, outcome


@pytest.mark.parametrize("kind", ATTACKS)
def test_a_project_does_nothing_before_consent(kind: str, tmp_path: Path) -> None:
    """With the project on Python's path, which adds ways to be imported and takes none away."""
    on = machine(tmp_path / "machine")
    attacks = {cloned(attack, on, f"project{number}"): attack for number, attack in enumerate(ATTACKS[kind])}
    before = on.content()
    visits = [Visit(project, commands(attack.typed), is_on_path=True) for project, attack in attacks.items()]
    for outcome in on.watch(*visits):
        assert_harmless(outcome)
        if outcome.command[0] == "run" and "--json" not in outcome.command:
            stopped = attacks[outcome.project].stopped
            expected = ("", True) if stopped else ("You said: hi\n", False)
            assert (outcome.stdout, outcome.code != 0) == expected, outcome
            assert f"[{stopped}]" in outcome.stderr or not stopped, outcome
    assert on.content() == before
    assert [*on.state.iterdir()] == []
