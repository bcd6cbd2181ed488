"""What a person meets at a terminal: questions about calls, and a chat."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import os, sys
os.open(os.ttyname(0), os.O_RDWR)  # the leader of a session that opens a terminal is controlled by it
from assembler.cli.main import main
sys.exit(main(sys.argv[1:]))
"""

PROMPT = r"\x1b\[0m>"
"""How the chat's prompt is drawn."""

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
def files(project: Any) -> Path:
    return project(FILES)


class Terminal:
    """A terminal with a program in it."""

    def __init__(self, descriptor: int, process: subprocess.Popen[bytes]) -> None:
        self._descriptor = descriptor
        self._process = process
        self.shown = ""
        self._seen = 0

    def type(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    def wait_for(self, pattern: str, seconds: float = 30) -> None:
        """Reads until a pattern was shown, after what the last wait found."""
        end = time.monotonic() + seconds
        while (found := re.compile(pattern).search(self.shown, self._seen)) is None:
            assert time.monotonic() < end, self.shown
            self._read(0.1)
        self._seen = found.end()

    def code(self, seconds: float = 30) -> int:
        """Reads to the end and returns the exit code."""
        end = time.monotonic() + seconds
        while self._process.poll() is None:
            assert time.monotonic() < end, self.shown
            self._read(0.1)
        self._read(0)
        return self._process.returncode

    def _read(self, seconds: float) -> None:
        if select.select([self._descriptor], [], [], seconds)[0]:
            try:
                data = os.read(self._descriptor, 65536)
            except OSError:  # nothing holds the other end any more
                time.sleep(seconds)
                return
            self.shown += data.decode("utf-8", "replace")
            if b"\x1b[6n" in data:  # a program that asks where the cursor is
                os.write(self._descriptor, b"\x1b[1;1R")


@contextmanager
def terminal(*arguments: str) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    try:
        yield Terminal(ours, process)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


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
        shown.wait_for(r"Allow it once\? \[y/N\]")
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
        shown.wait_for(r"Allow it once\? \[y/N\]")
        shown.type("n\n")
        assert shown.code() == 0
    assert "did not allow" in shown.shown


def test_an_interruption_at_a_question_ends_the_run() -> None:
    with terminal("run", "conf=agent", "-i", "greet") as shown:
        shown.wait_for(r"Allow it once\? \[y/N\]")
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
