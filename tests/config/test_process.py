"""Composing is right from many threads at once, and leaves the process that it happens in as it was."""

from __future__ import annotations

import json
import logging
import os
import random
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from assembler import AssemblerError, assemble

FILES = {
    "conf/agent.yaml": """\
defaults: [{model: echo}, {env: null}, _self_]
limits: {turns: '${variables.n}'}
variables: {n: 1}
""",
    "conf/other.yaml": "defaults: [agent, _self_]\nname: other\nlimits: {tool_calls: 5}\n",
    "conf/broken.yaml": "defaults: [{model: ecoh}, _self_]\nlimits: {turn: 3}\n",
    "conf/model/echo.yaml": "kind: scripted\nturns: {echo: {text: hello}}\n",
    "conf/env/prod.yaml": "# @package _global_\nlimits: {turns: 7}\n",
}
BROKEN = ["conf/broken.yaml:1:20 `model` has no option `ecoh`", "conf/broken.yaml:2:10 there is no key `limits.turn`"]
NO_NUMBER = (
    "conf/agent.yaml:2:17 `limits.turns`: expected a whole number, found a text; "
    "`${{variables.n}}` is set at override #1 `variables.n=x{}`; it takes the place of conf/agent.yaml:3:16"
)
JOBS: list[tuple[str, Callable[[int], list[str]], Callable[[int], Any]]] = [
    ("agent", lambda n: [f"variables.n={n}"], lambda n: ("agent", n, 100)),
    ("other", lambda n: [f"limits.turns={n}", f"name=n{n}"], lambda n: (f"n{n}", n, 5)),
    ("other", lambda n: ["env=prod"], lambda n: ("other", 7, 5)),
    ("broken", lambda n: [], lambda n: BROKEN),
    (
        "agent",
        lambda n: [f"variables.n=x{n}"],
        lambda n: [NO_NUMBER.format(n)],
    ),
    ("agent", lambda n: [f"env=prod{n}"], lambda n: [f"override #1 `env=prod{n}` `env` has no option `prod{n}`"]),
]
"""A root, its overrides and what comes of it, for each number."""


def composed(conf: str, overrides: list[str], cwd: Path) -> Any:
    try:
        config = assemble(conf, overrides, cwd=cwd).config
    except AssemblerError as error:
        return [f"{found.where} {found.message}" for found in error.diagnostics]
    return (config.name, config.limits.turns, config.limits.tool_calls)


@pytest.mark.timeout(240)
def test_different_configurations_from_many_threads_at_once(project: Any) -> None:
    folder: Path = project(FILES)
    together = Barrier(32)

    def run(number: int) -> None:
        together.wait()
        for conf, overrides, expected in random.Random(number).sample(JOBS, 2):  # noqa: S311  an order, not a secret
            assert composed(conf, overrides(number), folder) == expected(number)

    with ThreadPoolExecutor(32) as pool:
        list(pool.map(run, range(1, 33)))


@pytest.mark.parametrize(("conf", "overrides"), [("agent", ["limits.turns=3"]), ("broken", ["name=a=b"])])
def test_a_running_program_is_left_as_it_was(project: Any, conf: str, overrides: list[str]) -> None:
    folder: Path = project(FILES)
    composed(conf, overrides, folder)  # what is imported when something is composed first stays imported
    before = state()
    composed(conf, overrides, folder)
    assert state() == before
    assert sorted(path.name for path in folder.iterdir()) == [".git", "conf"]


def state() -> dict[str, Any]:
    """What composing could change for others."""
    from hydra.core.singleton import Singleton
    from omegaconf.basecontainer import BaseContainer

    return {
        "cwd": Path.cwd(),
        "environment": dict(os.environ),
        "path": list(sys.path),
        "arguments": list(sys.argv),
        "modules": set(sys.modules),
        "loggers": {name: logger_state(name) for name in ("", *logging.root.manager.loggerDict)},
        "disabled": logging.root.manager.disable,
        "hydra": dict(Singleton._instances),
        "resolvers": dict(BaseContainer._resolvers),
        "random": random.getstate(),
    }


def logger_state(name: str) -> tuple[Any, ...]:
    logger = logging.getLogger(name)
    return logger.level, list(logger.handlers), logger.propagate, logger.disabled, list(logger.filters)


@pytest.mark.parametrize(("conf", "overrides"), [("agent", ["limits.turns=3"]), ("broken", ["name=a=b"])])
def test_a_fresh_program_is_left_as_it_was(
    project: Any,
    run_python: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
    conf: str,
    overrides: list[str],
) -> None:
    folder: Path = project(FILES)
    (folder / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(folder / "temporary"))
    program = f"""
import json, locale, logging, os, random, signal, sys, tempfile, threading, warnings

def state():
    root = logging.getLogger()
    return {{
        "cwd": os.getcwd(), "environment": dict(os.environ), "path": list(sys.path), "arguments": list(sys.argv),
        "logging": [root.level, len(root.handlers), logging.root.manager.disable, logging.getLevelName(root.level)],
        "threads": threading.active_count(), "locale": locale.setlocale(locale.LC_ALL),
        "signals": str([signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]),
        "hook": sys.excepthook is sys.__excepthook__, "warnings": len(warnings.filters),
        "temporary": os.listdir(tempfile.gettempdir()),
        "umask": os.umask(0o022), "files": sorted(os.listdir()), "recursion": sys.getrecursionlimit(),
    }}

os.umask(0o022)
before = state()
from assembler import AssemblerError, assemble
try:
    assemble({conf!r}, {overrides!r})
    print("right")
except AssemblerError:
    print("wrong")
after = state()
print(json.dumps([[key, before[key], after[key]] for key in before if before[key] != after[key]]))
"""
    said, changed = run_python(program).splitlines()
    assert said == ("wrong" if conf == "broken" else "right")
    assert json.loads(changed) == []
