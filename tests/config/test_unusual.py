"""Configurations that are right and look unusual: nothing is told, and what they say counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from assembler import AgentConfig, assemble

MODEL = "kind: scripted\nturns: {echo: {text: hello}}\n"
BASE = {
    "conf/agent.yaml": "defaults: [{model: echo}, _self_]\n",
    "conf/model/echo.yaml": MODEL,
    "conf/skills/units.yaml": "sources: {units: {kind: files, paths: [skills]}}\n",
    "conf/runner/plain.yaml": "kind: subprocess\n",
}
Expected = Callable[[AgentConfig], object]

ROOTS: dict[str, tuple[str, Expected, object]] = {
    "anchors, aliases and merge keys": (
        """\
defaults: [{model: echo}, _self_]
skills:
  decorators:
    hide: &hide {kind: filter, exclude: &names [internal-*, draft-*]}
    again: {<<: *hide, order: 5}
    third: {kind: filter, include: *names}
""",
        lambda config: [getattr(each, "order", None) for each in config.skills.decorators.values()],
        [0, 0, 5],
    ),
    "a merge key with several mappings": (
        """\
defaults: [{model: echo}, _self_]
runner:
  limits:
    <<: [{timeout: 1s}, {timeout: 2s, cpu: 3s}]
    memory: 64MiB
""",
        lambda config: (config.runner.limits.timeout, config.runner.limits.cpu),
        (timedelta(seconds=1), timedelta(seconds=3)),
    ),
    "flow style throughout": (
        '{"defaults": [{"model": "echo"}, "_self_"], "limits": {"turns": 3, "timeout": "2m"}, "name": "flow"}\n',
        lambda config: (config.name, config.limits.turns),
        ("flow", 3),
    ),
    "quoted keys": (
        "\"defaults\": [{'model': echo}, _self_]\n'limits': {\"turns\": 3}\n",
        lambda config: config.limits.turns,
        3,
    ),
    "words that YAML would read as something else, quoted": (
        "defaults: [{model: echo}, _self_]\nname: 'off'\nvariables: {'no': Norway, '1': one, \"null\": none}\n",
        lambda config: (config.name, config.variables),
        ("off", {"no": "Norway", "1": "one", "null": "none"}),
    ),
    "names in any script": (
        """\
defaults: [{model: echo}, _self_]
name: Über-Agent
variables: {größe: 5, 名前: x}
skills: {sources: {données: {kind: files, paths: [compétences]}}}
""",
        lambda config: (config.name, *config.variables, *config.skills.sources),
        ("Über-Agent", "größe", "名前", "données"),
    ),
    "a byte order mark and Windows line ends": (
        "\ufeffdefaults: [{model: echo}, _self_]\r\ndescription: |\r\n  two\r\n  lines\r\nlimits: {turns: 3}\r\n",
        lambda config: (config.description, config.limits.turns),
        ("two\nlines\n", 3),
    ),
    "comments and empty lines everywhere": (
        "\n# first\n\n# second\ndefaults: # which\n  # what answers\n  - model: echo\n\n  - _self_\n# last\n",
        lambda config: config.model.kind,
        "scripted",
    ),
    "the marks of one document": (
        "%YAML 1.1\n---\ndefaults: [{model: echo}, _self_]\nname: one\n...\n",
        lambda config: config.name,
        "one",
    ),
    "block texts with an escaped interpolation": (
        """\
defaults: [{model: echo}, _self_]
description: >-
  costs $5,
  not \\${price}
instructions: |2-
    indented, {{ a }} and \\${b}
variables: {a: x}
""",
        lambda config: (config.description, config.instructions),
        ("costs $5, not ${price}", "  indented, {{ a }} and ${b}"),
    ),
    "interpolations between rooms": (
        "defaults: [{model: echo}, _self_]\nname: ${variables.who}-${runner.kind}\nvariables: {who: '${model.kind}'}\n",
        lambda config: config.name,
        "scripted-sandbox",
    ),
    "an interpolation of a whole mapping, and of one within it": (
        """\
defaults: [{model: echo}, _self_]
limits: ${variables.presets.${variables.size}}
variables: {size: small, presets: {small: {turns: 3}, large: {turns: 30, tool_calls: '${.turns}'}}}
""",
        lambda config: (config.limits.turns, config.variables["presets"]["large"]["tool_calls"]),  # type: ignore[index, call-overload]
        (3, 30),
    ),
    "a default for what is not there": (
        "defaults: [{model: echo}, _self_]\nlimits: {turns: '${oc.select:variables.turns,4}'}\n",
        lambda config: config.limits.turns,
        4,
    ),
    "null for whatever may be null": (
        """\
defaults: [{model: echo}, _self_]
name: null
limits: null
skills: {sources: {a: null}, catalog: ~}
approval: {rules: {reading: null}}
""",
        lambda config: (config.name, config.limits.turns, config.skills.sources, config.approval.rules),
        ("agent", 20, {}, {}),
    ),
    "keys with dots and slashes": (
        "defaults: [{model: echo}, _self_]\nrunner: {interpreters: {.rb: ruby}}\nvariables: {a.b: 1, c/d: 2}\n",
        lambda config: (config.runner.interpreters[".rb"], config.variables),  # type: ignore[attr-defined]
        ("ruby", {"a.b": 1, "c/d": 2}),
    ),
    "no skills, asked for as a list": (
        "defaults: [{model: echo}, {skills: []}, {env: null}, _self_]\n",
        lambda config: dict(config.skills.sources),
        {},
    ),
    "numbers and durations in other forms": (
        """\
defaults: [{model: echo}, _self_]
limits: {turns: 1_0, tool_calls: 0x10, timeout: 1.5, tool_output: '64 KiB'}
""",
        lambda config: (
            config.limits.turns,
            config.limits.tool_calls,
            config.limits.timeout,
            config.limits.tool_output,
        ),
        (10, 16, timedelta(seconds=1.5), 65536),
    ),
}
"""What stands in a root, what is looked at of the agent, and what it has to be."""


@pytest.mark.parametrize(("root", "looked_at", "expected"), ROOTS.values(), ids=ROOTS)
def test_an_unusual_root_is_right(project: Any, root: str, looked_at: Expected, expected: object) -> None:
    folder: Path = project(BASE)
    (folder / "conf/agent.yaml").write_bytes(root.encode())
    agent = assemble("agent")
    assert agent.diagnostics == ()
    assert looked_at(agent.config) == expected


FILES: dict[str, tuple[Mapping[str, str], list[str], Expected, object]] = {
    "an option of comments only": (
        {"conf/skills/none.yaml": "# nothing yet\n"},
        ["skills=none"],
        lambda config: dict(config.skills.sources),
        {},
    ),
    "an overlay with its package, and empty lines before it": (
        {"conf/env/prod.yaml": "\n#@package _global_\n# Production.\nlimits: {turns: 7}\n"},
        ["env=prod"],
        lambda config: config.limits.turns,
        7,
    ),
    "an overlay with a line that looks like one for Hydra": (
        {"conf/env/prod.yaml": "# @author: Jane Doe\n# @package _global_\nlimits: {turns: 7}\n"},
        ["env=prod"],
        lambda config: config.limits.turns,
        7,
    ),
    "a package that is the group's own": (
        {"conf/model/other.yaml": "# @package model\n" + MODEL},
        ["model=other"],
        lambda config: config.model.kind,
        "scripted",
    ),
    "groups within groups": (
        {"conf/model/test/fast.yaml": "# @package model\n" + MODEL},
        ["model=test/fast"],
        lambda config: config.model.kind,
        "scripted",
    ),
    "a group of the user's own under a key": (
        {
            "conf/agent.yaml": "defaults: [{model: echo}, {company@variables: acme}, _self_]\n",
            "conf/company/acme.yaml": "company: Acme\n",
        },
        [],
        lambda config: config.variables,
        {"company": "Acme"},
    ),
    "a root that extends a root that extends a root": (
        {
            "conf/base.yaml": "defaults: [{runner: plain}, _self_]\nlimits: {turns: 1, tool_calls: 1}\n",
            "conf/middle.yaml": "defaults: [base, _self_, {override runner: sandbox}]\nlimits: {turns: 2}\n",
            "conf/agent.yaml": "defaults: [middle, {model: echo}, _self_]\nname: last\n",
        },
        [],
        lambda config: (config.name, config.limits.turns, config.limits.tool_calls, config.runner.kind),
        ("last", 2, 1, "sandbox"),
    ),
    "an option that need not be there": (
        {"conf/agent.yaml": "defaults: [{model: echo}, {optional skills: mine}, _self_]\n"},
        [],
        lambda config: dict(config.skills.sources),
        {},
    ),
    "a choice that follows another one": (
        {
            "conf/agent.yaml": "defaults: [{model: echo}, {skills: '${model}'}, _self_]\n",
            "conf/skills/echo.yaml": "sources: {e: {kind: files, paths: [s]}}\n",
        },
        [],
        lambda config: list(config.skills.sources),
        ["e"],
    ),
    "overrides that clear": (
        {
            "conf/agent.yaml": "defaults: [{model: echo}, {skills: units}, _self_]\nname: a\nlimits: {turns: 3}\n"
            "variables: {a: 1, b: 2}\n"
        },
        ["name=null", "~limits", "~skills", "~variables.a", "approval.rules=null"],
        lambda config: (config.name, config.limits.turns, dict(config.skills.sources), config.variables),
        ("agent", 20, {}, {"b": 2}),
    ),
    "overrides with mappings, quotes and dots in keys": (
        {},
        [
            "runner.interpreters={.rb: ruby}",
            "'description=\"a=b, c: \\'d\\'\"'".strip("'"),
            "variables={a.b: 1}",
            "skills=[]",
            "+variables.empty=''",
        ],
        lambda config: (config.runner.interpreters[".rb"], config.description, config.variables),  # type: ignore[attr-defined]
        ("ruby", "a=b, c: \\'d\\'", {"a.b": 1, "empty": ""}),
    ),
    "one element of a list": (
        {},
        ["skills=units", "skills.sources.units.paths.0=more"],
        lambda config: [str(path) for path in config.skills.sources["units"].paths],  # type: ignore[attr-defined]
        ["more"],
    ),
}
"""Files, overrides, what is looked at of the agent, and what it has to be."""


@pytest.mark.parametrize(("files", "overrides", "looked_at", "expected"), FILES.values(), ids=FILES)
def test_unusual_files_and_overrides_are_right(
    project: Any, files: Mapping[str, str], overrides: list[str], looked_at: Expected, expected: object
) -> None:
    project({**BASE, **files})
    agent = assemble("agent", overrides)
    assert agent.diagnostics == ()
    assert looked_at(agent.config) == expected


@pytest.mark.parametrize("folder", ["plain", "with space", "naïve 名", "it's $HOME", "conf"])
def test_a_root_by_its_path_outside_of_any_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    home = tmp_path / folder
    (home / "model").mkdir(parents=True)
    (home / "model/écho.yaml").write_text(MODEL, "utf-8")
    (home / "my agent.yaml").write_text("defaults: [{model: écho}, _self_]\nlimits: {turns: 3}\n", "utf-8")
    monkeypatch.chdir("/")
    agent = assemble(home / "my agent.yaml", ["limits.tool_calls=4"])
    assert agent.diagnostics == ()
    assert (agent.config.name, agent.config.limits.turns, agent.config.limits.tool_calls) == ("my agent", 3, 4)
