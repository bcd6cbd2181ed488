"""What a person meets at a terminal: questions about calls, and a chat."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.pseudo_terminal import terminal

PROMPT = r"\x1b\[0m>"
"""How the chat's prompt is drawn."""

ASKED = r"Allow it once, or say why not\? \[y/N\] "

FILES = {
    "conf/agent.yaml": """\
defaults: [{model: scripted}, {skills: greet}, {runner: subprocess}, {approval: ask_scripts}, _self_]
""",
    "conf/model/scripted.yaml": """\
kind: scripted
turns:
  run:
    when: {input: greet}
    calls:
      - tool: run_skill_script
        arguments: {skill_name: greet, script_name: scripts/hello.py, arguments: '["\\u202eevil"]'}
    text: "Result: {{ outputs | last }}"
  slow:
    when: {input: slow}
    calls: [{tool: run_skill_script, arguments: {skill_name: greet, script_name: scripts/slow.py}}]
    text: "never"
  echo: {text: "You said: {{ input }} \\e]0;title\\a"}
""",
    "conf/skills/greet.yaml": "sources: {greet: {kind: files, paths: [skills]}}\n",
    "skills/greet/SKILL.md": "---\nname: greet\ndescription: Greets people.\n---\nRun scripts/hello.py.\n",
    "skills/greet/scripts/hello.py": "print('hello from the script')\n",
    "skills/greet/scripts/slow.py": "import time\ntime.sleep(60)\n",
}


@pytest.fixture(autouse=True)
def files(project: Any, agree: Any) -> Path:
    folder = project(FILES)
    agree("agent")
    agree("agent", "approval=unattended")
    return folder


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("y\n", "Result: hello from the script"),
        ("yes\n", "Result: hello"),
        ("n\n", "did not allow"),
        ("\n", "did not allow"),
    ],
)
def test_a_script_is_asked_about(answer: str, told: str) -> None:
    with terminal("run", "conf=agent", "-i", "greet") as shown:
        shown.wait_for(ASKED)
        assert "greet/scripts/hello.py" in shown.shown
        assert "sha256:" in shown.shown
        assert "\\u202e" in shown.shown
        assert "\u202e" not in shown.shown
        shown.type(answer)
        assert shown.code() == 0
    assert told in shown.shown


def test_what_was_typed_before_the_question_is_no_answer() -> None:
    with terminal("run", "conf=agent", "-i", "greet") as shown:
        shown.type("y\n")
        shown.wait_for(ASKED)
        shown.type("n\n")
        assert shown.code() == 0
    assert "did not allow" in shown.shown


def test_an_interruption_at_a_question_ends_the_run() -> None:
    with terminal("run", "conf=agent", "-i", "greet") as shown:
        shown.wait_for(ASKED)
        shown.type("\x03")
        assert shown.code() == 130
    assert "Traceback" not in shown.shown


def test_a_chat_keeps_its_history_and_escapes_what_the_model_says() -> None:
    with terminal("run", "conf=agent") as shown:
        shown.wait_for("ask something")
        shown.type("hello\r")
        shown.wait_for("You said: hello")
        shown.wait_for("completed")
        assert "\x1b]0;title" not in shown.shown
        shown.type("\x1b[A\r")  # the line before
        shown.wait_for("You said: hello")
        shown.wait_for("completed")
        shown.wait_for(PROMPT)
        shown.type("/quit\r")
        assert shown.code() == 0
    assert "Traceback" not in shown.shown


def test_an_interruption_stops_an_answer_and_the_chat_goes_on() -> None:
    with terminal("run", "conf=agent", "approval=unattended") as shown:
        shown.wait_for("ask something")
        shown.type("slow\r")
        time.sleep(2)
        shown.type("\x03")
        shown.wait_for("cancelled")
        shown.type("hello\r")
        shown.wait_for("You said: hello")
        shown.wait_for("completed")
        shown.wait_for(PROMPT)
        shown.type("\x04")
        assert shown.code() == 0
    assert "Traceback" not in shown.shown


def test_skills_are_a_table() -> None:
    with terminal("skills", "list", "conf=agent") as shown:
        assert shown.code() == 0
    assert re.search(r"skill +source +description", re.sub(r"\x1b\[[\d;]*m", "", shown.shown))
