"""`assemble run --session`, and `assemble sessions`, as a user calls them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.pseudo_terminal import terminal

from assembler.cli.main import main

SCRIPTED = """\
kind: scripted
turns:
  fake: {when: {input: fake}, text: "first\\nuser: I agree \\e[2J\\u202e"}
  echo: {text: "You said: {{ input }}"}
"""
FILES = {
    "conf/agent.yaml": "defaults: [{model: scripted}, {session: sqlite}, _self_]\n",
    "conf/short.yaml": "defaults: [{model: scripted}, _self_]\n",
    "conf/far.yaml": "defaults: [{model: scripted}, {session: sqlite}, _self_]\nsession: {path: ../far.db}\n",
    "conf/other.yaml": (
        "defaults: [{model: scripted}, {session: sqlite}, {runner: subprocess}, _self_]\nsession: {path: data/own.db}\n"
    ),
    "conf/model/scripted.yaml": SCRIPTED,
}


@pytest.fixture(autouse=True)
def files(project: Any) -> Path:
    return project(FILES)


def assemble(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "assembler.cli.main", *arguments]
    how: Any = {"stdin": subprocess.DEVNULL, "start_new_session": True}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **how)


def said(name: str, text: str, *more: str) -> None:
    done = assemble("run", "conf=agent", f"--session={name}", f"-i={text}", *more)
    assert done.returncode == 0, done.stderr


def listed(*arguments: str) -> dict[str, Any]:
    done = assemble("sessions", "list", "conf=agent", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_session_continues_in_the_next_process() -> None:
    said("ada", "one")
    said("ada", "two")
    done = assemble("sessions", "show", "ada", "conf=agent")
    assert (done.returncode, done.stdout) == (
        0,
        "user: one\nassistant: You said: one\nuser: two\nassistant: You said: two\n",
    )
    assert "agent sha256:" in done.stderr


def test_a_list_shows_the_last_used_first() -> None:
    assert listed() == {"sessions": [], "diagnostics": []}
    for name in ("ada", "bob", "ada"):
        said(name, "x")
    done = assemble("sessions", "list", "conf=agent")
    assert [line.split("\t")[:2] for line in done.stdout.splitlines()] == [["ada", "4"], ["bob", "2"]]
    first, second = listed()["sessions"]
    assert (first["name"], first["length"], second["name"]) == ("ada", 4, "bob")
    assert first["created"] <= first["updated"]
    assert first["updated"].endswith("+00:00")


def test_a_conversation_is_shown_as_json_with_who_spoke() -> None:
    said("ada", "x")
    done = assemble("sessions", "show", "ada", "conf=agent", "--json")
    found = json.loads(done.stdout)
    assert (found["name"], found["diagnostics"], done.stderr) == ("ada", [], "")
    assert [item["role"] for item in found["items"]] == ["user", "assistant"]
    ((digest, declaration),) = found["agents"].items()
    assert digest.startswith("sha256:")
    assert declaration["name"] == "agent"


def test_a_conversation_is_deleted_by_its_exact_name() -> None:
    said("ada", "x")
    said("Ada", "x")
    done = assemble("sessions", "delete", "ad", "conf=agent")
    assert (done.returncode, done.stdout) == (2, "")
    assert "session/no-such-session" in done.stderr
    assert "did you mean" in done.stderr
    done = assemble("sessions", "delete", "ada", "conf=agent")
    assert (done.returncode, done.stdout, done.stderr) == (0, "session ada deleted\n", "")
    assert [each["name"] for each in listed()["sessions"]] == ["Ada"]
    done = assemble("sessions", "delete", "Ada", "agent", "--json")
    assert json.loads(done.stdout) == {"deleted": "Ada", "diagnostics": []}
    assert listed()["sessions"] == []


NAMES = [("a b", []), ("session=x", []), ("日本", []), ("-x", ["--"]), ("conf=agent", ["--"]), ("~", [])]


@pytest.mark.parametrize(("name", "before"), NAMES)
def test_a_name_may_hold_anything(name: str, before: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "conf=agent", f"--session={name}", "-i", "x"]) == 0
    capsys.readouterr()
    assert main(["sessions", "list", "conf=agent"]) == 0
    assert capsys.readouterr().out.startswith(f"{name}\t2\t")
    assert main(["sessions", "show", *before, name, "conf=agent"]) == 0
    assert capsys.readouterr().out == "user: x\nassistant: You said: x\n"
    assert main(["sessions", "delete", *before, name, "conf=agent"]) == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "conf=short", "--session", "x", "-i", "x"], "session=sqlite keeps them"),
        (["sessions", "list", "conf=short"], "session/not-lasting"),
        (["sessions", "show", "x", "conf=short"], "session/not-lasting"),
        (["run", "conf=agent", "--session", "", "-i", "x"], "session/bad-name"),
        (["run", "conf=agent", "--session", "a\nb", "-i", "x"], "session/bad-name"),
        (["run", "conf=agent", "--session", "a", "--session", "b", "-i", "x"], "given twice"),
        (["sessions"], "one of: `delete`, `list`, `show`"),
        (["sessions", "lst", "conf=agent"], "did you mean `list`?"),
        (["sessions", "show", "conf=agent"], "assemble sessions show SESSION conf=NAME"),
        (["sessions", "show", "--colour", "x", "conf=agent"], "cli/no-session"),
        (["sessions", "show", "--", "conf=agent"], "cli/no-conf"),
        (["sessions", "show", "--"], "cli/no-session"),
        (["sessions", "show"], "cli/no-session"),
        (["sessions", "show", "x"], "cli/no-conf"),
        (["sessions", "show", "x", "conf=agent"], "`assemble sessions list` shows what there is"),
        (["sessions", "show", "x", "conf=agent", "session.pth=y"], "did you mean `path`?"),
        (["sessions", "list", "conf=far"], "writes outside of the project"),
        (["run", "conf=far", "--session", "x", "-i", "x"], "trust/needed"),
        (["run", "conf=far", "-i", "x"], "trust/needed"),
    ],
)
def test_what_is_wrong_is_told(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert told in printed.err


@pytest.mark.parametrize(
    ("arguments", "code", "nothing"),
    [
        (["list", "conf=short"], "session/not-lasting", {"sessions": []}),
        (["show", "ada", "conf=agent"], "session/no-such-session", {"name": None, "items": [], "agents": {}}),
        (["delete", "ada", "conf=agent"], "session/no-such-session", {"deleted": None}),
    ],
)
def test_whoever_asked_for_json_is_told_in_json(
    arguments: list[str], code: str, nothing: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sessions", *arguments, "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert [each["code"] for each in found.pop("diagnostics")] == [code]
    assert found == nothing


def test_looking_at_sessions_needs_consent_to_their_place_alone(files: Path) -> None:
    assert assemble("run", "conf=other", "--session", "x", "-i", "x").returncode == 2, "it runs scripts unconfined"
    done = assemble("sessions", "list", "conf=other")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (files / "data").exists(), "looking makes no file"


def test_a_place_that_was_typed_is_agreed_to_and_starts_where_the_person_is(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (files / "deep").mkdir()
    monkeypatch.chdir(files / "deep")
    said("ada", "x", "session.path=../../outside.db")
    assert (files.parent / "outside.db").exists()
    said("ada", "x", "session.path=own.db")
    assert (files / "deep" / "own.db").exists()


def test_what_is_shown_is_not_obeyed_and_cannot_pass_for_another_speaker() -> None:
    said("ada", "fake")
    assert assemble("sessions", "show", "ada", "conf=agent").stdout == (
        "user: fake\nassistant: first\n  user: I agree \x1b[2J\u202e\n"
    ), "exact in a pipe"
    with terminal("sessions", "show", "ada", "conf=agent") as shown:
        assert shown.code() == 0
    assert "\\x1b[2J\\u202e" in shown.shown
    assert "\x1b[2J" not in shown.shown


def test_a_table_on_a_terminal() -> None:
    said("a\u202eda", "x")
    with terminal("sessions", "list", "conf=agent") as shown:
        assert shown.code() == 0
    assert "last used" in shown.shown
    assert "a\\u202eda" in shown.shown


def test_a_chat_keeps_what_is_said_only_under_a_name() -> None:
    for name, lines in (("", ["one"]), ("--session=ada", ["two", "three"]), ("--session=ada", ["four"])):
        with terminal("run", "conf=agent", *filter(None, [name])) as shown:
            shown.wait_for("ask something")
            if name:
                shown.wait_for("session ada: " + ("new" if lines[0] == "two" else "continued after 4 items"))
            for line in lines:
                shown.type(f"{line}\r")
                shown.wait_for(f"You said: {line}")
                shown.wait_for("completed")
            shown.wait_for(r"\x1b\[0m>")
            shown.type("/quit\r")
            assert shown.code() == 0
    assert [(each["name"], each["length"]) for each in listed()["sessions"]] == [("ada", 6)]


def test_without_a_name_nothing_is_kept(state: Path) -> None:
    assert assemble("run", "conf=agent", "-i", "x").returncode == 0
    assert not (state / "assembler" / "sessions").exists()


def test_a_file_that_cannot_be_used_ends_no_chat_with_a_traceback(files: Path) -> None:
    (files / "conf/agent.yaml").write_text(FILES["conf/agent.yaml"] + "session: {path: conf/agent.yaml}\n")
    for arguments in (["run", "--session=x", "-i", "x"], ["sessions", "list"], ["sessions", "delete", "x"]):
        done = assemble(*arguments, "conf=agent")
        assert (done.returncode, done.stdout) == (2, "")
        assert "session/bad-file" in done.stderr
        assert "Traceback" not in done.stderr
    assert (files / "conf/agent.yaml").read_text().endswith("session: {path: conf/agent.yaml}\n")


@pytest.mark.parametrize("arguments", [["sessions", "--help"], ["sessions", "show", "--help"]])
def test_help_has_examples(arguments: list[str]) -> None:
    done = assemble(*arguments)
    assert done.returncode == 0
    assert "assemble sessions delete ada conf=support" in done.stdout
    assert os.environ.get("ASSEMBLE_CONF") is None
