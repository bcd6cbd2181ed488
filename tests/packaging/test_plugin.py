"""The way in for others: a distribution that was only installed adds a kind, by the entry-point group of its room."""

import json
from pathlib import Path

import pytest

from .environments import ROOT, Environment, build_wheel, run, succeed

pytestmark = pytest.mark.slow

AGENT = """\
defaults:
  - model: echo
  - _self_
skills:
  sources:
    greetings: {languages: [de, fr]}
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed distributions that holds the plug-in alone."""
    folder = tmp_path_factory.mktemp("plugin")
    wheel = build_wheel(ROOT / "tests" / "plugin", folder / "dist")
    Environment.install_into(folder / "site", wheel)
    return folder / "site"


@pytest.fixture
def greeting_project(echo: Path) -> Path:
    (echo / "conf" / "agent.yaml").write_text(AGENT)
    return echo


def test_its_kind_can_be_named(installed: Environment, greeting_project: Path, plugin: Path) -> None:
    command = [installed.assemble, "skills", "list", "--json", "conf=agent"]
    listed = json.loads(succeed(command, greeting_project, PYTHONPATH=str(plugin)))
    found = [(skill["name"], skill["source"]) for skill in listed["skills"]]
    assert found == [("greet-de", "greetings"), ("greet-fr", "greetings")]
    assert listed["diagnostics"] == []


def test_an_agent_runs_with_it(installed: Environment, greeting_project: Path, plugin: Path) -> None:
    command = [installed.assemble, "run", "conf=agent", "-i", "good morning"]
    assert succeed(command, greeting_project, PYTHONPATH=str(plugin)) == "You said: good morning\n"


def test_its_options_are_checked_as_ours_are(installed: Environment, greeting_project: Path, plugin: Path) -> None:
    command = [installed.assemble, "run", "conf=agent", "skills.sources.greetings.langauges=[de]", "-i", "x"]
    done = run(command, greeting_project, PYTHONPATH=str(plugin))
    assert done.returncode == 2
    assert "languages" in done.stderr


def test_without_it_the_kind_is_unknown(installed: Environment, greeting_project: Path) -> None:
    done = run([installed.assemble, "run", "conf=agent", "-i", "x"], greeting_project)
    assert done.returncode == 2
    assert "greetings" in done.stderr
    assert "Traceback" not in done.stderr
