"""`assemble trust`, and what the other commands do before somebody agreed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.pseudo_terminal import terminal

FILES = {
    "conf/agent.yaml": "defaults: [{model: echo}, {runner: subprocess}, _self_]\ninstructions: {file: /etc/hostname}\n",
    "conf/model/echo.yaml": "kind: scripted\nturns: {echo: {text: 'You said: {{ input }}'}}\n",
    "conf/far.yaml": "defaults: [{model: echo}, _self_]\nskills: {sources: {far: {kind: files, paths: [/opt]}}}\n",
    "conf/plain.yaml": "defaults: [{model: echo}]\n",
}
READS = "reads outside of the project /etc/hostname"
RUNS = "runs scripts without isolation"


@pytest.fixture(autouse=True)
def files(project: Any) -> Path:
    return project(FILES)


def assemble(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "assembler.cli.main", *arguments]
    # Without a terminal: nobody is there to be asked.
    how: Any = {"stdin": subprocess.DEVNULL, "start_new_session": True}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **how)


def shown(*arguments: str) -> dict[str, Any]:
    done = assemble("trust", "conf=agent", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_without_consent_nothing_runs_and_the_powers_are_listed() -> None:
    for command in (["run", "-i", "hi"], ["run", "--json", "-i", "hi"], ["trust"]):
        done = assemble(*command, "conf=agent")
        assert done.returncode == 2
        assert "You said" not in done.stdout
        assert f"conf/agent.yaml:2:22: error: it {READS}, which nobody agreed to [trust/needed]" in done.stderr
        assert f"it {RUNS}, which nobody agreed to" in done.stderr


def test_a_listing_of_skills_needs_what_the_skills_ask_for_alone() -> None:
    assert assemble("skills", "list", "conf=agent").returncode == 0
    done = assemble("skills", "list", "conf=far")
    assert (done.returncode, done.stdout) == (2, "")
    assert "reads outside of the project /opt" in done.stderr


def test_what_is_asked_for_is_shown_with_its_digest(files: Path) -> None:
    done = assemble("trust", "conf=agent", "--show")
    assert done.returncode == 0
    assert f"NEW     it {RUNS}" in done.stdout
    assert f"NEW     it {READS}" in done.stdout
    assert "conf/agent.yaml:2:22" in done.stdout
    found = shown()
    assert f"digest {found['digest']}" in done.stdout
    assert found["project"] == str(files)
    assert [(power["action"], power["standing"]) for power in found["powers"]] == [("run", "open"), ("read", "open")]
    assert found["powers"][1]["target"] == "/etc/hostname"
    assert found["powers"][1]["where"] == {"file": "conf/agent.yaml", "line": 2, "column": 22, "override": None}
    assert assemble("run", "conf=agent", "-i", "hi").returncode == 2, "showing agrees to nothing"


def test_a_configuration_without_powers_says_so() -> None:
    done = assemble("trust", "conf=plain", "--show")
    assert (done.returncode, done.stderr) == (0, "")
    assert "asks for nothing that needs consent" in done.stdout
    assert assemble("trust", "conf=plain").returncode == 0


def test_a_digest_agrees_once() -> None:
    digest = shown()["digest"]
    done = assemble("run", "conf=agent", "-i", "hi", "--trust", digest)
    assert (done.returncode, done.stdout) == (0, "You said: hi\n")
    assert assemble("run", "conf=agent", "-i", "hi").returncode == 2
    done = assemble("run", "conf=far", "-i", "hi", "--trust", digest)
    assert done.returncode == 2
    assert "trust/other-digest" in done.stderr


def test_trust_without_a_digest_is_no_consent() -> None:
    done = assemble("run", "conf=agent", "-i", "hi", "--trust")
    assert done.returncode == 2
    assert "expected one argument" in done.stderr


def test_trust_with_a_digest_remembers_it() -> None:
    assert assemble("trust", "conf=agent", "--trust", shown()["digest"]).returncode == 0
    done = assemble("run", "conf=agent", "-i", "hi")
    assert (done.returncode, done.stdout) == (0, "You said: hi\n")
    assert {power["standing"] for power in shown()["powers"]} == {"agreed"}


def test_what_was_agreed_to_can_be_revoked() -> None:
    assert assemble("trust", "conf=agent", "--trust", shown()["digest"]).returncode == 0
    done = assemble("trust", "conf=agent", "--revoke")
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 agreement forgotten" in done.stdout
    assert assemble("run", "conf=agent", "-i", "hi").returncode == 2
    assert "0 agreements forgotten" in assemble("trust", "conf=agent", "--revoke").stdout


def test_revoking_needs_no_configuration_that_is_right(files: Path) -> None:
    (files / "conf/agent.yaml").write_text("broken: [")
    assert assemble("trust", "conf=agent", "--revoke").returncode == 0


def test_what_is_typed_is_agreed_to_and_printed() -> None:
    done = assemble("run", "conf=plain", "runner=subprocess", "-i", "hi")
    assert (done.returncode, done.stdout) == (0, "You said: hi\n")
    assert f"agreed to by typing it: {RUNS}" in done.stderr


def test_a_python_package_is_trusted_by_name(files: Path) -> None:
    (files / "conf/python.yaml").write_text(
        "defaults: [{model: echo}, _self_]\nskills: {sources: {own: {kind: python, target: 'no_such_package.x:Y'}}}\n"
    )
    done = assemble("run", "conf=python", "-i", "hi")
    assert done.returncode == 2
    assert "imports and runs the Python code no_such_package.x:Y" in done.stderr
    done = assemble("run", "conf=python", "-i", "hi", "--trust-module", "no_such_package")
    assert done.returncode == 2
    assert "python/no-such-module" in done.stderr
    assert "trust/needed" not in done.stderr
    done = assemble("run", "conf=python", "-i", "hi", "--trust-module", "no_such")
    assert "trust/needed" in done.stderr


MINE = """\
from assembler.skills.inline import InlineSkill
from assembler.skills.sources.base import SkillSource

class Mine(SkillSource):
    async def list_skills(self, context):
        return [InlineSkill("mine", "From Python code.", source=context.name)]
"""


def test_code_of_the_project_is_agreed_to_by_its_bytes(files: Path) -> None:
    (files / "mine.py").write_text(MINE)
    (files / "helper.py").write_text("")
    (files / "conf/mine.yaml").write_text(
        "model: {kind: openai, name: x, base_url: 'https://far.example/v1'}\n"
        "skills: {sources: {own: {kind: python, target: 'mine:Mine'}, far: {kind: files, paths: [../elsewhere]}}}\n"
    )
    listing = ["skills", "list", "conf=mine"]
    done = assemble(*listing)
    assert done.returncode == 2
    for power in ("to https://far.example", "code mine:Mine", "project /"):
        assert power in done.stderr
    digest = json.loads(assemble("trust", "conf=mine", "--json").stdout)["digest"]
    assert assemble("trust", "conf=mine", "--trust", digest).returncode == 0
    done = assemble(*listing)
    assert (done.returncode, done.stdout.splitlines()[-1].split("\t")[0]) == (0, "mine"), done.stderr
    assert assemble(*listing).returncode == 0, "once"
    (files / "helper.py").write_text("print('evil')")
    done = assemble(*listing)
    assert (done.returncode, done.stdout) == (2, "")
    assert "mine:Mine, which was agreed to, but `helper.py` changed since [trust/changed]" in done.stderr
    assert "far.example" not in done.stderr, "what has not changed is not told again"


@pytest.mark.parametrize("answer", ["y", "yes", "Y"])
def test_a_person_is_shown_the_powers_and_agrees(answer: str) -> None:
    with terminal("run", "conf=agent", "-i", "hi") as shown:
        shown.wait_for(rf"NEW +it {RUNS}")
        shown.wait_for(f"it {READS}")
        shown.wait_for(r"do these 2 things from now on\? \[y/N\] ")
        shown.type(f"{answer}\n")
        shown.wait_for("You said: hi")
        assert shown.code() == 0
    assert assemble("run", "conf=agent", "-i", "hi").returncode == 0


@pytest.mark.parametrize("answer", ["n", "", "maybe", "y!"])
def test_anything_but_a_yes_is_a_no(answer: str) -> None:
    with terminal("run", "conf=agent", "-i", "hi") as shown:
        shown.wait_for(r"\[y/N\] ")
        shown.type(f"{answer}\n")
        shown.wait_for("trust/refused")
        assert shown.code() == 2
        assert "You said" not in shown.shown


def test_what_was_typed_before_the_question_does_not_answer_it() -> None:
    with terminal("trust", "conf=agent") as shown:
        shown.type("y\ny\n")
        shown.wait_for(r"\[y/N\] ")
        shown.type("n\n")
        assert shown.code() == 2
    assert assemble("run", "conf=agent", "-i", "hi").returncode == 2


def test_a_change_is_shown_when_it_is_asked_about_again(files: Path) -> None:
    (files / "conf/agent.yaml").write_text(
        "defaults: [{model: echo}, {runner: subprocess}, {approval: unattended}, _self_]\n"
        "skills: {sources: {own: {kind: files, paths: [skills]}}}\n"
    )
    (files / "skills/a").mkdir(parents=True)
    (files / "skills/a/SKILL.md").write_text("---\nname: a\ndescription: b\n---\n")
    with terminal("trust", "conf=agent") as shown:
        shown.wait_for(r"\[y/N\] ")
        shown.type("y\n")
        shown.wait_for("2 powers agreed to")
    (files / "skills/a/run.py").write_text("print()")
    with terminal("trust", "conf=agent") as shown:
        shown.wait_for(rf"agreed +it {RUNS}")
        shown.wait_for("NEW +it runs scripts unasked")
        shown.wait_for("agreed to before, but `skills/a/run.py` changed since")


def test_foreign_text_in_a_power_is_shown_and_not_obeyed(files: Path) -> None:
    (files / "conf/agent.yaml").write_text(
        'defaults: [{model: echo}, _self_]\ninstructions: {file: "/opt/\\nNEW fine\\e]0;title\\a\\e[2J\\u202Ex"}\n'
    )
    with terminal("run", "conf=agent", "-i", "hi") as shown:
        shown.wait_for(r"\[y/N\] ")
        assert "\nNEW fine" not in shown.shown
        assert "\x1b[2J" not in shown.shown
        assert "\x1b]0;" not in shown.shown
        assert "\u202e" not in shown.shown
