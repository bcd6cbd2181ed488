"""What programs read where a command fails: the shape of its answer on standard output, the text on standard error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FILES = {
    "conf/agent.yaml": "defaults: [{model: ecoh}, _self_]\nlimits: {turn: 3}\n",
    "conf/model/echo.yaml": "kind: scripted\nturns: {echo: {text: hello}}\n",
}
TOLD: list[dict[str, Any]] = [
    {
        "code": "config/unknown-option",
        "severity": "error",
        "message": "`model` has no option `ecoh`",
        "where": {"file": "conf/agent.yaml", "line": 1, "column": 20, "override": None},
        "hint": "did you mean `echo`?",
    },
    {
        "code": "config/unknown-key",
        "severity": "error",
        "message": "there is no key `limits.turn`",
        "where": {"file": "conf/agent.yaml", "line": 2, "column": 10, "override": None},
        "hint": "did you mean `turns`?",
    },
    {
        "code": "config/bad-value",
        "severity": "error",
        "message": "`strict`: expected `require`, `prefer` or `never`",
        "where": {"file": None, "line": None, "column": None, "override": "override #1 `strict=nevr`"},
        "hint": "did you mean `never`?",
    },
]


@pytest.fixture(autouse=True)
def files(project: Any) -> Path:
    return project(FILES)


def assemble(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "assembler.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)


def by_code(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(told, key=lambda found: found["code"])


@pytest.mark.parametrize("arguments", [["run", "--json"], ["run", "-i", "x", "--json"]])
def test_a_run_that_cannot_begin_ends_with_the_event_of_its_result(arguments: list[str]) -> None:
    done = assemble(*arguments, "conf=agent", "strict=nevr")
    assert done.returncode == 2
    (line,) = done.stdout.splitlines()
    event = json.loads(line)
    assert by_code(event.pop("diagnostics")) == by_code(TOLD)
    assert event.pop("reason") in {found["message"] for found in TOLD}
    assert event == {
        "type": "result",
        "sequence_number": 0,
        "status": "failed",
        "output_text": "",
        "digest": "",
        "usage": {},
        "pending": [],
    }
    assert told_as_text(done.stderr)


@pytest.mark.parametrize(
    ("arguments", "nothing"),
    [
        (["skills", "list"], {"skills": []}),
        (["sessions", "list"], {"sessions": []}),
        (["sessions", "show", "ada"], {"name": None, "items": [], "agents": {}}),
        (["sessions", "delete", "ada"], {"deleted": None}),
    ],
)
def test_what_cannot_be_looked_at_answers_nothing(arguments: list[str], nothing: dict[str, Any]) -> None:
    done = assemble(*arguments, "conf=agent", "--json", "strict=nevr")
    assert done.returncode == 2
    found = json.loads(done.stdout)
    assert by_code(found.pop("diagnostics")) == by_code(TOLD)
    assert found == nothing
    assert told_as_text(done.stderr)


@pytest.mark.parametrize("arguments", [["run", "-i", "x"], ["skills", "list"]])
def test_whoever_did_not_ask_for_json_reads_text_alone(arguments: list[str]) -> None:
    done = assemble(*arguments, "conf=agent", "strict=nevr")
    assert (done.returncode, done.stdout) == (2, "")
    assert told_as_text(done.stderr)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["run", "--json"], "cli/no-conf"),
        (["run", "--json", "conf=agent", "conf=other"], "cli/two-confs"),
        (["run", "--json", "conf=agent", "--colour"], "cli/bad-option"),
        (["run", "--json", "conf=agnt"], "config/no-such-root"),
        (["skills", "list", "--json", "conf=agnt"], "config/no-such-root"),
        (["sessions", "list", "--json"], "cli/no-conf"),
    ],
)
def test_a_command_line_that_is_wrong_is_told_in_the_same_shape(arguments: list[str], code: str) -> None:
    done = assemble(*arguments)
    assert done.returncode == 2
    assert [found["code"] for found in json.loads(done.stdout)["diagnostics"]] == [code]


def told_as_text(text: str) -> bool:
    return all(found["message"] in text and found["hint"] in text for found in TOLD)
