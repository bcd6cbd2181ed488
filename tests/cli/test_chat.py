"""A chat at a terminal: its inputs, its commands, and every way in which it ends."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cli.pseudo_terminal import Terminal, terminal

pytestmark = pytest.mark.slow

PROMPT = r"\x1b\[0m>"
"""How the prompt is drawn."""

LINE = r"(?:\n|\x1b\[\?2004l)"
"""How a line begins, also the first one after an input."""

FILES = {
    "conf/agent.yaml": """\
defaults: [{model: scripted}, {skills: greet}, {runner: subprocess}, {approval: unattended}, _self_]
""",
    "conf/model/scripted.yaml": """\
kind: scripted
turns:
  slow:
    when: {input: slow}
    calls: [{tool: run_skill_script, arguments: {skill_name: greet, script_name: scripts/slow.py}}]
    text: "never"
  echo: {text: "You said: {{ input | tojson }} with {{ files | join(' and ') }}."}
""",
    "conf/skills/greet.yaml": "sources: {greet: {kind: files, paths: [skills]}}\n",
    "skills/greet/SKILL.md": "---\nname: greet\ndescription: >-\n  Greets people \u202e"
    + 20 * " politely"
    + "\n---\nHi.\n",
    "skills/greet/scripts/slow.py": """\
import os, pathlib, time
pathlib.Path({folder!r}, "pid").write_text(str(os.getpid()))
time.sleep(60)
""",
    "my data.csv": "a,b\n",
    "other.csv": "c\n",
}


@pytest.fixture(autouse=True)
def folder(project: Any, agree: Any) -> Path:
    folder = project(FILES)
    script = folder / "skills/greet/scripts/slow.py"
    script.write_text(script.read_text().format(folder=str(folder)))
    agree("agent")
    return folder


@contextmanager
def chat(*arguments: str, prompt: str = PROMPT, **env: str) -> Iterator[Terminal]:
    """A chat that waits for its first input; it never shows a traceback."""
    with terminal("run", "conf=agent", *arguments, **env) as shown:
        shown.wait_for("ask something.*")
        shown.wait_for(prompt)
        yield shown
    assert "Traceback" not in shown.shown


def quits(shown: Terminal, prompt: str = PROMPT) -> None:
    shown.wait_for(prompt)
    shown.type("/quit\r")
    assert shown.code() == 0


@pytest.mark.parametrize("word", ["/quit\r", "/exit\r", "\x04", "/qu\t\r"])
def test_a_chat_ends(word: str) -> None:
    with chat() as shown:
        shown.type(word)
        assert shown.code() == 0


INPUTS = (
    ("one\x1b\rtwo\r", r"one\\ntwo"),
    ("one\\\rtwo\r", r"one\\ntwo"),
    ("one\\\\\r", r"one\\\\\\\\"),
    ("ab\x02\\\r", r"a\\\\b"),  # a backslash before the cursor, and not at the end
    ("  /etc/hosts\r", r"/etc/hosts"),
    ("middle\x02\x04\r", "middl"),  # Ctrl-D within a line
)
"""What is typed, and what the agent is told."""


def test_inputs_reach_the_agent() -> None:
    with chat() as shown:
        for typed, said in INPUTS:
            shown.type(typed)
            shown.wait_for(f'You said: "{said}"')
            shown.wait_for(PROMPT)
        shown.type("/quit\r")
        assert shown.code() == 0


def test_pasted_lines_are_one_input() -> None:
    with chat() as shown:
        shown.paste("one\n/quit\nthree")
        shown.type("\r")
        shown.wait_for(r'You said: "one\\n/quit\\nthree"')
        quits(shown)


def test_the_history_is_kept() -> None:
    with chat() as shown:
        shown.type("hello\r")
        shown.wait_for('You said: "hello"')
        shown.wait_for(PROMPT)
        shown.type("\x1b[A\r")
        shown.wait_for('You said: "hello"')
        quits(shown)


def test_help_names_every_command_and_fits() -> None:
    with chat() as shown:
        shown.type("/help\r")
        shown.wait_for("  /help ")
        shown.wait_for("ends the chat.")
        for word in ("/files", "/skills", "/quit", "Alt-Enter", "Tab", "Ctrl-C"):
            assert word in shown.shown
        told = shown.shown[shown.shown.index("  /help ") :].partition("\x1b")[0]
        assert max(map(len, told.splitlines())) < 80
        quits(shown)


WRONG = (
    ("/skils", r"no command `/skils` \[cli/no-such-command\]\s+did you mean `/skills`\?\s+with a space before"),
    ("/", r"no command `/` .*\s+one of: `/exit`, `/files`"),
    ("/etc/hosts", r"no command `/etc/hosts`"),
    ("/quit now", r"`/quit` takes nothing \[cli/bad-argument\]"),
    ("/files nothing.csv", r"error: `nothing.csv` is not a file that can be read \[run/no-such-file\]"),
    ("/files conf", r"error: `conf` is not a file that can be read"),
    ("/files it's", r"error: `it's`: no closing quotation \[cli/bad-argument\]"),
    ("/files ~nobody-at-all/x", r"error: `~nobody-at-all/x` names the home of nobody"),
    ("/files other.csv skills/../conf/../other.csv", r"have the same name \[run/same-name\]"),
    ("/files a\u202eb", r"error: `a\\u202eb` is not a file"),
)
"""Commands that cannot be done, and what is told of them."""


def test_a_command_that_cannot_be_done_is_told_and_not_said() -> None:
    with chat() as shown:
        for typed, told in WRONG:
            shown.type(f"{typed}\r")
            shown.wait_for(told)
            shown.wait_for(PROMPT)
        shown.type("/files\r")
        shown.wait_for("no files")
        assert "You said" not in shown.shown
        quits(shown)


def test_files_are_handed_to_every_question(folder: Path) -> None:
    with chat() as shown:
        for typed in (r"my\ data.csv", '"my data.csv"', "m\t", "./my\t", f"{folder}/my\t"):
            shown.type(f"/files {typed}\r")
            shown.wait_for(LINE + r"  (\S+/)?my data.csv")
            shown.wait_for(PROMPT)
            for _ in range(2):
                shown.type("hello\r")
                shown.wait_for("with my data.csv\\.")
                shown.wait_for(PROMPT)
            shown.type("/files other.csv 'my data.csv'\r")
            shown.wait_for(r"my data.csv\s+other.csv")
            shown.wait_for(PROMPT)
            shown.type("/files clear\r")
            shown.wait_for("no files")
            shown.wait_for(PROMPT)
        shown.type("hello\r")
        shown.wait_for("with \\.")
        quits(shown)


def test_a_home_is_found(folder: Path, agree: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    agree("agent")
    with chat() as shown:
        shown.type("/files ~/oth\t\r")
        shown.wait_for(LINE + r"  /\S+/other.csv")
        quits(shown)


def test_tab_shows_what_there_is() -> None:
    with chat() as shown:
        shown.type("/files \t")
        shown.wait_for(r"conf/.*my\\ data.csv.*other.csv.*skills/")
        shown.type("o\t\r")
        shown.wait_for(LINE + r"  other.csv")
        quits(shown)


def test_a_file_that_vanishes_ends_nothing(folder: Path) -> None:
    with chat("--chat", "--file", "other.csv") as shown:
        shown.type("hello\r")
        shown.wait_for("with other.csv\\.")
        shown.wait_for(PROMPT)
        (folder / "other.csv").unlink()
        shown.type("hello\r")
        shown.wait_for(r"`other.csv` is not a file that can be read \[run/no-such-file\]")
        quits(shown)


def test_skills_are_listed_in_the_width_of_the_terminal() -> None:
    with chat() as shown:
        for columns in (80, 40):
            shown.resize(24, columns)
            shown.type("/skills\r")
            shown.wait_for(r"  greet  Greets people[^\r]*…\r")
            line = shown.shown[shown.shown.rindex("  greet  ") :].partition("\r")[0]
            assert len(line) == columns - 1
            assert r"\u202e" in line
            shown.wait_for(PROMPT)
        shown.type("/quit\r")
        assert shown.code() == 0


def test_skills_that_cannot_be_listed_are_told(folder: Path) -> None:
    with chat() as shown:
        (folder / "skills").rename(folder / "elsewhere")
        shown.type("/skills\r")
        shown.wait_for(r"error: .*\[")
        shown.type("hello\r")
        shown.wait_for(r"error: .*\[")
        (folder / "elsewhere").rename(folder / "skills")
        shown.type("hello\r")
        shown.wait_for("You said")
        quits(shown)


def test_a_window_that_is_resized_keeps_what_is_typed() -> None:
    with chat() as shown:
        shown.type("a long line of text")
        shown.wait_for("text")
        shown.resize(10, 12)
        shown.wait_for("text")
        shown.type("\r")
        shown.wait_for('You said: "a long line of text"')
        quits(shown)


def test_an_interruption_drops_what_is_typed_and_ends_the_chat_when_repeated() -> None:
    with chat() as shown:
        for _ in range(2):
            shown.type("\x03")
            shown.wait_for("Ctrl-C again ends the chat")
            shown.wait_for(PROMPT)
            shown.type("half a")
            shown.wait_for("half a")
            shown.type("\x03")
            shown.wait_for(PROMPT)
        shown.type("hello\r")
        shown.wait_for('You said: "hello"')
        shown.wait_for(PROMPT)
        shown.type("\x03")
        shown.wait_for("Ctrl-C again ends the chat")
        shown.wait_for(PROMPT)
        shown.type("\x03")
        assert shown.code() == 0


@pytest.mark.parametrize("keys", ["\x03", "\x03\x03"])
def test_an_interruption_stops_an_answer_and_its_script(keys: str, folder: Path) -> None:
    with chat() as shown:
        shown.type("slow\r")
        shown.wait_for("script greet/scripts/slow.py started")
        script = started(folder)
        shown.type(keys)
        shown.wait_for("cancelled")
        assert ended(script)
        shown.wait_for(PROMPT)
        shown.type("hello\r")
        shown.wait_for('You said: "hello"')
        quits(shown)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
@pytest.mark.parametrize("is_answering", [True, False])
def test_a_signal_ends_the_chat_and_its_script(number: int, is_answering: bool, folder: Path) -> None:
    with chat() as shown:
        script = 0
        if is_answering:
            shown.type("slow\r")
            script = started(folder)
        shown.signal(number)
        shown.signal(signal.SIGTERM)
        assert shown.code() == 130
        assert not script or ended(script)


@pytest.mark.parametrize("term", ["xterm", "dumb"])
@pytest.mark.parametrize("is_answering", [True, False])
def test_a_terminal_that_goes_away_ends_the_chat_and_its_script(is_answering: bool, term: str, folder: Path) -> None:
    with chat(prompt="[>]", TERM=term) as shown:
        script = 0
        if is_answering:
            shown.type("slow\r")
            script = started(folder)
        shown.hang_up()
        assert shown.code() == 130
        assert not script or ended(script)


@pytest.mark.parametrize("env", [{"TERM": "dumb"}, {"TERM": "vt100"}, {"NO_COLOR": "1"}, {"TERM": "xterm-256color"}])
def test_nothing_is_coloured(env: dict[str, str]) -> None:
    with chat(prompt="[>]", **env) as shown:
        shown.type("/files \t\x15" if env.get("TERM") != "dumb" else "")
        shown.type("hello\r")
        shown.wait_for('You said: "hello"')
        shown.wait_for("completed")
        shown.wait_for("[>]")
        if env.get("TERM") != "dumb":
            shown.type("\x12hel")  # what is found is marked
            shown.wait_for("hel")
            shown.type("\x07\x15")
        shown.type("/quit\r")
        assert shown.code() == 0
    styles = set(re.findall(r"\x1b\[([\d;]*)m", shown.shown))
    assert not {style for style in styles if re.search(r"(^|;)[349]\d", style)}
    if env.get("TERM") == "dumb":
        assert "\x1b" not in shown.shown
    assert "\x1b[6n" not in shown.shown


def test_a_dumb_terminal_edits_its_lines_itself() -> None:
    with chat(prompt="> ", TERM="dumb") as shown:
        shown.type("hellp\x7fo\\\r")
        shown.wait_for("\n  ")
        shown.type("wor\x04ld\r")  # Ctrl-D within a line ends nothing
        shown.wait_for(r'You said: "hello\\nworld"')
        shown.wait_for("> ")
        shown.type("dropped\x03")
        shown.wait_for("> ")
        shown.type("/skills\r")
        shown.wait_for("greet  Greets")
        shown.wait_for("> ")
        shown.type("\x04")
        assert shown.code() == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--chat", "-i", "x"], "`--chat` and `--input` exclude each other [cli/bad-option]"),
        (["--chat", "--json"], "a chat has no JSON output [run/no-input]"),
        (["--chat", "--file", "nothing.csv"], "`nothing.csv` is not a file that can be read [run/no-such-file]"),
    ],
)
def test_a_chat_that_cannot_begin(arguments: list[str], told: str) -> None:
    with terminal("run", "conf=agent", *arguments) as shown:
        assert shown.code() == 2
    assert told in shown.shown


def started(folder: Path) -> int:
    """The process of the script, once it runs."""
    end = time.monotonic() + 30
    while not (file := folder / "pid").exists() or not file.read_text():
        assert time.monotonic() < end
        time.sleep(0.02)
    return int(file.read_text())


def ended(process: int) -> bool:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False
