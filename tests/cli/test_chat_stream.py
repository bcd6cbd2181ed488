"""What a chat shows of an answer while it comes, from a server that sends it in pieces."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cli.pseudo_terminal import Terminal, terminal
from tests.models.chat import calling, chunk, piece, sent, text
from tests.models.loopback import Broken, Loopback, serve

from assembler.cli import chat_turn

pytestmark = pytest.mark.slow

PROMPT = r"\x1b\[0m>"

FILES = {
    "conf/agent.yaml": """\
defaults: [{model: openai_chat}, {skills: greet}, {runner: subprocess}, {approval: ask_scripts}, _self_]
""",
    "conf/skills/greet.yaml": "sources: {greet: {kind: files, paths: [skills]}}\n",
    "skills/greet/SKILL.md": "---\nname: greet\ndescription: Greets people.\n---\nRun scripts/hello.py.\n",
    "skills/greet/scripts/hello.py": "import sys\nprint('hello', *sys.argv[1:])\nsys.exit('bad' in sys.argv)\n",
}


@pytest.fixture(autouse=True)
def folder(project: Any) -> Path:
    return project(FILES)


@contextmanager
def chat(agree: Any, *answers: Any) -> Iterator[tuple[Terminal, Loopback]]:
    """A chat with a server that answers like this, at its first prompt."""
    with serve(answers) as server:
        overrides = (f"model.base_url={server.url}", "model.api_key=null", "model.name=m", "model.retries=0")
        agree("agent", *overrides)
        with terminal("run", "conf=agent", *overrides) as shown:
            shown.wait_for(PROMPT)
            yield shown, server
    assert "Traceback" not in shown.shown


def quits(shown: Terminal) -> None:
    shown.wait_for(PROMPT)
    shown.type("/quit\r")
    assert shown.code() == 0


def script(*arguments: str, call_id: str = "call_1", said: str = "") -> bytes:
    """An answer that says something and calls the script."""
    called = {"skill_name": "greet", "script_name": "scripts/hello.py", "arguments": json.dumps(arguments)}
    wanted = piece(0, call_id, "run_skill_script", json.dumps(called))
    return sent(chunk({"content": said}), calling(wanted), chunk({}, "tool_calls"))


SAID = (
    (("\x1b", "]52;c;", "aGk=", "\x07", "x"), r"\x1b]52;c;aGk=\x07x"),
    (("\x1b[", "2J", "\x9b", "2J"), r"\x1b[2J\x9b2J"),
    (("a\u202e", "b\u2066"), r"a\u202eb\u2066"),
    (("one\r", "\ntwo\r", "three"), "one\r\ntwo\\rthree"),
    (("one\r",), "one\\r"),
    (("tab\tand\n", "\n", "lines\n"), "tab\tand\r\n\r\nlines"),
)
"""Pieces of an answer, and how it is shown."""


def test_what_a_model_says_is_shown_and_not_obeyed(agree: Any) -> None:
    with chat(agree, *(text(*pieces) for pieces, _ in SAID)) as (shown, _):
        for _, shown_as in SAID:
            shown.type("hello\r")
            shown.wait_for(re.escape(f"{shown_as}\r\n  completed"))
            shown.wait_for(PROMPT)
        shown.type("/quit\r")
        assert shown.code() == 0


@pytest.mark.parametrize("kind", ["content", "refusal"])
def test_text_is_shown_as_it_comes(kind: str, agree: Any) -> None:
    begun = sent(chunk({kind: "first"}), end="")
    with chat(agree, {begun: 60.0}, text("again")) as (shown, _):
        shown.type("hello\r")
        shown.wait_for("first")
        shown.type("\x03")
        shown.wait_for(r"\n  cancelled")  # on a line of its own
        shown.wait_for(PROMPT)
        shown.type("hello\r")
        shown.wait_for("again")
        quits(shown)


ENDS = (
    (Broken(sent(chunk({"content": "half"}), end="")), r"half\r\nerror: .*\[model/cut\]"),
    ((401, {}, {"error": {"message": "no \x1b[2J"}}), r"error: .*\[model/\w+\]"),
    (sent(chunk({"refusal": "I will not"}), chunk({}, "stop")), r"I will not\r\n  completed"),
    (sent(chunk({"content": "cut"}), chunk({}, "length")), r"cut\r\n  limit: "),
)
"""Answers that end in their own ways, and what is told of them."""


def test_however_an_answer_ends_the_chat_goes_on(agree: Any) -> None:
    with chat(agree, *(answer for answer, _ in ENDS), text("again")) as (shown, _):
        for _, told in ENDS:
            shown.type("hello\r")
            shown.wait_for(told)
            shown.wait_for(PROMPT)
        assert "\x1b[2J" not in shown.shown
        shown.type("hello\r")
        shown.wait_for(r"again\r\n  completed")
        quits(shown)


def test_a_server_that_is_not_there_is_told(agree: Any) -> None:
    with serve([]) as server:
        gone = server.url
    overrides = (f"model.base_url={gone}", "model.api_key=null", "model.name=m", "model.retries=0")
    agree("agent", *overrides)
    with terminal("run", "conf=agent", *overrides) as shown:
        shown.wait_for(PROMPT)
        shown.type("hello\r")
        shown.wait_for(r"error: .*\[model/unreachable\]")
        quits(shown)


def test_thinking_is_told_once(agree: Any) -> None:
    thoughts = [chunk({"reasoning_content": thought}) for thought in ("let", " me", " see")]
    answer = sent(*thoughts, chunk({"content": "Yes."}), chunk({}, "stop"))
    with chat(agree, answer, answer) as (shown, _):
        for _ in range(2):
            shown.type("hello\r")
            shown.wait_for(r"  thinking \.\.\.\r\nYes\.\r\n  completed")
            shown.wait_for(PROMPT)
        assert "let me see" not in shown.shown
        assert shown.shown.count("thinking") == 2
        shown.type("/quit\r")
        assert shown.code() == 0


def test_silence_is_told(agree: Any) -> None:
    seconds = chat_turn.PATIENCE + 1
    with chat(agree, {b": nothing yet\n\n": seconds, text("Yes."): 0.0}) as (shown, _):
        shown.type("hello\r")
        shown.wait_for(r"  waiting \.\.\.\r\nYes\.\r\n  completed")
        quits(shown)


def test_silence_within_a_line_does_not_break_it(agree: Any) -> None:
    seconds = chat_turn.PATIENCE + 1
    drip: Mapping[bytes, float] = {
        sent(chunk({"content": "one"}), end=""): seconds,
        sent(chunk({"content": " line"}), chunk({}, "stop")): 0.0,
    }
    with chat(agree, drip) as (shown, _):
        shown.type("hello\r")
        shown.wait_for(r"one line\r\n  completed")
        quits(shown)


def test_everything_said_and_done_stands_in_its_order(agree: Any) -> None:
    with chat(agree, script("Ada", said="Let me see."), text("Done.")) as (shown, _):
        shown.type("hello\r")
        shown.wait_for(r"Let me see\.\r\nThe agent asks")
        shown.wait_for(r"\[y/N\] ")
        shown.type("y\r")
        shown.wait_for(
            r"y\r\n  script greet/scripts/hello.py started\r\n"
            r"  script greet/scripts/hello.py done \([^)]*, isolation: none\)\r\nDone\.\r\n  completed"
        )
        quits(shown)


def test_a_script_that_fails_is_told(agree: Any) -> None:
    with chat(agree, script("bad"), text("Sorry.")) as (shown, _):
        shown.type("hello\r")
        shown.wait_for(r"\[y/N\] ")
        shown.type("y\r")
        shown.wait_for(r"  script greet/scripts/hello.py failed \([^)]*, isolation: none\)\r\nSorry\.")
        quits(shown)


DENIALS = (
    ("n\r", "error: the user did not allow this call"),
    ("\r", "error: the user did not allow this call"),
    ("no, ask Bob first\r", "error: the user did not allow this call: ask Bob first"),
    ("not before noon\r", "error: the user did not allow this call: not before noon"),
    ("\x04", "error: the user did not allow this call"),
)
"""What is typed at a question, and what the model is told."""


def test_a_denial_tells_the_model_why(agree: Any) -> None:
    answers = [each for n, _ in enumerate(DENIALS) for each in (script(call_id=f"call_{n}"), text("Well."))]
    with chat(agree, *answers) as (shown, server):
        for typed, told in DENIALS:
            shown.type("hello\r")
            shown.wait_for(r"\[y/N\] ")
            shown.type(typed)
            shown.wait_for(r"Well\.")
            assert outputs(server)[-1] == told
            shown.wait_for(PROMPT)
        shown.type("/quit\r")
        assert shown.code() == 0


def test_what_was_typed_before_a_question_does_not_answer_it(agree: Any) -> None:
    wait = {sent(chunk({"content": "Wait"}), end=""): 1.0, script(): 0.0}
    with chat(agree, wait, text("Well.")) as (shown, server):
        shown.type("hello\r")
        shown.wait_for("Wait")
        shown.type("y\r")
        shown.wait_for(r"\[y/N\] ")
        shown.type("n\r")
        shown.wait_for(r"Well\.")
        assert outputs(server) == ["error: the user did not allow this call"]


def test_an_interruption_at_a_question_cancels_the_run_and_leaves_a_conversation(agree: Any) -> None:
    with chat(agree, script(), text("Back.")) as (shown, server):
        shown.type("hello\r")
        shown.wait_for(r"\[y/N\] ")
        shown.type("y\x03")
        shown.wait_for(r"\n  cancelled")
        shown.wait_for(PROMPT)
        shown.type("again\x1b\rand again\r")  # the prompt works as before
        shown.wait_for(r"Back\.")
        assert [each["role"] for each in server.requests[1]["messages"]][-4:] == ["user", "assistant", "tool", "user"]
        assert outputs(server) == ["not run: the run was cancelled"]
        assert server.requests[1]["messages"][-1]["content"] == "again\nand again"
        quits(shown)


def test_nothing_is_told_between_a_question_and_its_answer(agree: Any) -> None:
    """Two calls: the first runs while the second is asked about."""
    called = {"skill_name": "greet", "script_name": "scripts/hello.py"}
    both = (piece(n, f"call_{n}", "run_skill_script", json.dumps(called)) for n in range(2))
    with chat(agree, sent(calling(*both), chunk({}, "tool_calls")), text("Done.")) as (shown, _):
        shown.type("hello\r")
        shown.wait_for(r"\[y/N\] ")
        shown.type("y\r")
        shown.wait_for(r"\[y/N\] ")
        before = shown.shown
        shown.wait_a_moment()
        assert shown.shown == before
        shown.type("y\r")
        shown.wait_for(r"Done\.")
        assert shown.shown.count("hello.py done") == 2
        quits(shown)


def outputs(server: Loopback) -> list[str]:
    """What the last request says of the calls."""
    return [each["content"] for each in server.requests[-1]["messages"] if each["role"] == "tool"]
