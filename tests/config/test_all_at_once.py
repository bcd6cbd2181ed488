"""Everything that is wrong is told at once, also what stops the composition; consequences are not told."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from assembler import AssemblerError, assemble

FILES = {
    "conf/agent.yaml": """\
defaults:
  - model: echo
  - skills: units
  - approval: ask_scrpts
  - _self_
  - env: null
description: ${variables.nothing}
instructions: ${variables.company} ${unknown.key}
variables: {company: Example Ltd}
limits:
  turn: 3
  timeout: soon
skills:
  decorators:
    hide: {kind: filtr}
""",
    "conf/model/echo.yaml": "kind: scripted\nturns: {echo: {text: hello}}\n",
    "conf/skills/units.yaml": "sources: {units: {kind: files, paths: [skills]}}\n",
    "conf/skills/broken.yaml": "sources: {units: [\n",
    "conf/env/prod.yaml": "# @package _global_\nlimits: {turns: 7}\n",
}


def told(conf: str, *overrides: str) -> list[tuple[str, str]]:
    with pytest.raises(AssemblerError) as caught:
        assemble(conf, overrides)
    return sorted((found.code, str(found.where)) for found in caught.value.diagnostics)


def test_unrelated_mistakes_of_every_kind_are_told_together(project: Any) -> None:
    project(FILES)
    assert told("agent", "env=prdo", "strict=yes", "name=a=b", "+limits=3") == [
        ("component/unknown-kind", "conf/agent.yaml:15:18"),
        ("config/bad-override", "override #3 `name=a=b`"),
        ("config/bad-value", "conf/agent.yaml:12:12"),
        ("config/bad-value", "override #2 `strict=yes`"),
        ("config/interpolation", "conf/agent.yaml:7:14"),
        ("config/interpolation", "conf/agent.yaml:8:15"),
        ("config/override", "override #4 `+limits=3`"),
        ("config/unknown-key", "conf/agent.yaml:11:3"),
        ("config/unknown-option", "conf/agent.yaml:4:15"),
        ("config/unknown-option", "override #1 `env=prdo`"),
    ]


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["model=ech"], [("config/unknown-option", "override #1 `model=ech`")]),
        (
            ["model=ech", "env=prdo"],
            [("config/unknown-option", "override #1 `model=ech`"), ("config/unknown-option", "override #2 `env=prdo`")],
        ),
        (["skills=broken"], [("config/bad-yaml", "conf/skills/broken.yaml:2:1")]),
        (
            ["skills=[units,broken]", "x=1"],
            [("config/bad-yaml", "conf/skills/broken.yaml:2:1"), ("config/unknown-key", "override #2 `x=1`")],
        ),
        (["model=ech", "name=${model.kind}"], [("config/unknown-option", "override #1 `model=ech`")]),
        (["limits.turns=3=4"], [("config/bad-override", "override #1 `limits.turns=3=4`")]),
        (["name=???"], [("config/missing-key", "override #1 `name=???`")]),
    ],
)
def test_a_consequence_is_not_told(project: Any, overrides: list[str], expected: list[tuple[str, str]]) -> None:
    good = "defaults: [{model: echo}, {skills: units}, _self_]\n"
    project({**FILES, "conf/agent.yaml": good})
    assert told("agent", *overrides) == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {"conf/agent.yaml": "defaults: [{modl: echo}, _self_]\nlimits: {turn: 1}\n"},
            [("config/unknown-key", "conf/agent.yaml:2:10"), ("config/unknown-option", "conf/agent.yaml:1:19")],
        ),
        (
            {"conf/model/gpt.yaml": "defaults: [opnai, _self_]\nkind: scripted\nturns: {a: {text: x}}\n"},
            [("config/unknown-option", "conf/model/gpt.yaml:1:12")],
        ),
        (
            {"conf/agent.yaml": "defaults: [_self_, {override /modl: echo}]\n"},
            [("config/unknown-option", "conf/agent.yaml:1:37")],
        ),
    ],
)
def test_defaults_lists_anywhere(project: Any, files: dict[str, str], expected: list[tuple[str, str]]) -> None:
    project({**FILES, "conf/agent.yaml": "defaults: [{model: gpt}, _self_]\n", **files})
    found = told("agent", *(["model=echo"] if "gpt" not in str(files) and "modl: echo}, " not in str(files) else []))
    assert found == expected


SIX = """\
defaults:
  - model: echo
  - approval: ask_scrpts
  - _self_
description: For ${variables.compny}.
variables: {company: Example Ltd}
limits:
  tmeout: 30s
  turns: many
skills:
  decorators:
    hide: {kind: filtr, exclude: [internal-*]}
"""
TOLD_OF_SIX = """\
conf/agent.yaml:3:15: error: `approval` has no option `ask_scrpts` [config/unknown-option]
  did you mean `ask_scripts`?
conf/agent.yaml:5:14: error: `description`: there is no key `variables.compny` [config/interpolation]
  did you mean `variables.company`?
conf/agent.yaml:8:3: error: there is no key `limits.tmeout` [config/unknown-key]
  did you mean `timeout`?
conf/agent.yaml:9:10: error: `limits.turns`: expected a whole number, found a text [config/bad-value]
conf/agent.yaml:12:18: error: `skills.decorators.hide`: `decorators` has no kind `filtr` [component/unknown-kind]
  did you mean `filter`?
override #1 `limits.tool_calls=[1`: error: not an override, which is KEY=VALUE or ~KEY [config/bad-override]
  quote a value that holds special characters, inside the shell's quotes: 'key="a=b, c"'
"""


def test_six_unrelated_mistakes_are_told_by_one_command(project: Any) -> None:
    project({**FILES, "conf/agent.yaml": SIX})
    command = [sys.executable, "-W", "error", "-m", "assembler.cli.main"]
    arguments = ["run", "conf=agent", "-i", "x", "limits.tool_calls=[1"]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert sorted(done.stderr.splitlines()) == sorted(TOLD_OF_SIX.splitlines())
