"""`assemble run` as a user calls it: a process, its two outputs and its exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

SKILL = "---\nname: greet\ndescription: Greets people.\n---\nRun scripts/hello.py.\n"
SCRIPTED = """\
kind: scripted
turns:
  load: {when: {input: greet, skill: greet}, calls: [{tool: load_skill, arguments: {skill_name: greet}}]}
  run:
    when: {input: greet, skill: greet}
    calls: [{tool: run_skill_script, arguments: {skill_name: greet, script_name: scripts/hello.py}}]
    text: "{{ outputs | last }}"
  slow:
    when: {input: slow, skill: greet}
    calls: [{tool: run_skill_script, arguments: {skill_name: greet, script_name: scripts/slow.py}}]
  echo: {text: "You said: {{ input }}"}
"""
FILES = {
    "conf/agent.yaml": """\
defaults: [{model: scripted}, {skills: greet}, {runner: subprocess}, {approval: unattended}, _self_]
""",
    "conf/model/scripted.yaml": SCRIPTED,
    "conf/skills/greet.yaml": "sources: {greet: {kind: files, paths: [skills]}}\n",
    "skills/greet/SKILL.md": SKILL,
    "skills/greet/scripts/hello.py": "print('hello from the script')\n",
    "skills/greet/scripts/slow.py": "import time\nprint('started', flush=True)\ntime.sleep(60)\n",
}


@pytest.fixture(autouse=True)
def files(project: Any, agree: Any) -> Path:
    folder = project(FILES)
    agree("agent")
    return folder


def assemble(*arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "assembler.cli.main", *arguments]
    stdin: Any = {"input": given} if given is not None else {"stdin": subprocess.DEVNULL}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **stdin)


def test_the_answer_alone_is_on_standard_output() -> None:
    done = assemble("run", "conf=agent", "-i", "greet me")
    assert (done.returncode, done.stdout) == (0, "hello from the script\n")
    lines = done.stderr.splitlines()
    assert any("skill greet loaded" in line and "ms" in line for line in lines)
    assert any("script greet/scripts/hello.py done" in line and "isolation: none" in line for line in lines)
    assert "completed" in lines[-1]
    assert "sha256:" in lines[-1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "conf=agent", "-i", "a=b"],
        ["run", "agent", "-i", "a=b"],
        ["run", "-i", "a=b", "conf=agent"],
        ["run", "conf=agent", "--input", "a=b", "limits.turns=3"],
        ["run", "-i", "a=b", "limits.turns=3", "conf=conf/agent.yaml"],
        ["run", "limits.turns=3", "-i", "a=b", "agent", "name=z"],
        ["run", "agent", "-i=a=b", "--debug"],
        ["--debug", "run", "agent", "-i", "a=b"],
        ["run", "-i", "a=b", "--", "agent", "limits.turns=3"],
    ],
)
def test_overrides_stand_anywhere(arguments: list[str]) -> None:
    done = assemble(*arguments)
    assert (done.returncode, done.stdout) == (0, "You said: a=b\n"), done.stderr


def test_a_root_can_be_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSEMBLE_CONF", "agent")
    assert assemble("run", "-i", "x").stdout == "You said: x\n"


def test_standard_input_is_the_input() -> None:
    assert assemble("run", "conf=agent", given="héllo").stdout == "You said: héllo\n"
    assert assemble("run", "conf=agent", "-i", "-", given="dash").stdout == "You said: dash\n"


def test_files_without_text_are_one_run_over_them(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x")
    (tmp_path / "b.csv").write_text("x")
    done = assemble("run", "conf=agent", "--file", "a.csv", "--file", "b.csv")
    assert done.stdout == "You said: [files: inputs/a.csv, inputs/b.csv]\n"


def test_a_project_is_found_from_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep/er").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep/er")
    assert assemble("run", "conf=agent", "-i", "greet").stdout == "hello from the script\n"


def test_json_is_one_event_a_line_and_the_last_is_the_result() -> None:
    done = assemble("run", "conf=agent", "--json", "-i", "greet")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert {"assembler.skill.loaded", "assembler.tool.started", "assembler.tool.finished"} <= {
        e["type"] for e in events
    }
    last = events[-1]
    assert (last["type"], last["status"], last["output_text"]) == ("result", "completed", "hello from the script")
    assert last["digest"].startswith("sha256:")
    assert "usage" in last


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ([], 0, ""),
        (["rn"], 2, "did you mean `run`?"),
        (["run"], 2, "no configuration is named"),
        (["run", "conf=agnt", "-i", "x"], 2, "did you mean `agent`?"),
        (["run", "conf=agent", "agent", "-i", "x"], 2, "several configurations"),
        (["run", "conf=agent", "env=prdo", "-i", "x"], 2, "config/unknown-option"),
        (["run", "conf=agent", "limit.turns=1", "-i", "x"], 2, "did you mean `limits`?"),
        (["run", "conf=agent", "-i", ""], 2, "run/no-input"),
        (["run", "conf=agent", "--file", "nowhere.csv"], 2, "run/no-such-file"),
        (["run", "conf=agent", "--fil", "x"], 2, "unrecognized arguments"),
        (["run", "conf=agent", "-i", "x", "-i", "y"], 2, "given twice"),
        (["run", "conf=agent", "-i", "-40F"], 2, "-i=-40F"),
        (["run", "conf=agent", "--limits.turns=5", "-i", "x"], 2, "overrides have no dashes"),
        (["run", "conf=agent", "env:prod", "-i", "x"], 2, "an override is `key=value`"),
        (["run", "conf=agent", "limits.turns=1", "-i", "greet"], 1, "limits.turns=1"),
        (["run", "conf=agent", "approval=ask_everything", "-i", "greet"], 4, "waits for approval: load_skill {"),
        (["run", "conf=agent", "approval=ask_everything", "--json", "-i", "greet"], 4, ""),
        (["skills", "lst", "conf=agent"], 2, "did you mean `list`?"),
        (["skills", "list", "conf=agent", "skills=nope"], 2, "config/unknown-option"),
    ],
)
def test_exit_codes_and_what_is_told(arguments: list[str], code: int, told: str) -> None:
    done = assemble(*arguments)
    assert done.returncode == code, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments", [["--help"], ["run", "--help"], ["skills", "--help"], ["skills", "list", "--help"]]
)
def test_help_has_examples(arguments: list[str]) -> None:
    done = assemble(*arguments)
    assert done.returncode == 0
    assert "examples:" in done.stdout
    assert "assemble " in done.stdout


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 130)])
def test_an_interruption_ends_the_script_too(number: signal.Signals, code: int) -> None:
    command = [sys.executable, "-m", "assembler.cli.main", "run", "conf=agent", "--json", "-i", "slow"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if json.loads(line)["type"] == "assembler.tool.started":
            break
    _wait_for(lambda: bool(_scripts()))
    os.kill(process.pid, number)
    rest, errors = process.communicate(timeout=30)
    assert process.returncode == code
    assert json.loads(rest.splitlines()[-1])["status"] == "cancelled"
    assert "Traceback" not in errors
    _wait_for(lambda: not _scripts())


def _scripts() -> list[int]:
    """Processes that run the slow script of this test's project."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue  # it ended meanwhile
            if b"scripts/slow.py" in line:
                found.append(int(entry.name))
    return found


def _wait_for(condition: Any) -> None:
    for _ in range(200):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen within ten seconds")


def test_a_terminal_is_not_obeyed() -> None:
    from assembler.cli.output import printable

    assert printable("a\x1b]52;c;eA==\x07b\u202ec\r\nd\te\x9b") == "a\\x1b]52;c;eA==\\x07b\\u202ec\nd\te\\x9b"


def test_output_that_nobody_reads_is_no_traceback() -> None:
    command = f"{sys.executable} -m assembler.cli.main run conf=agent --json -i greet | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, check=False)  # noqa: S602
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("shell", "code", "told"),
    [
        ("{run} -i greet <&-", 0, "completed"),
        ("{run} <&-", 2, "run/no-input"),
        ("{run} -i greet >&-", 0, "completed"),
        ("{run} -i greet 2>&-", 0, ""),
        ("{run} -i greet >/dev/full", 1, "No space left"),
        ("mkdir gone && cd gone && rmdir ../gone && {run} -i greet", 1, "No such file"),
        ("LC_ALL=C {run} -i 'é'", 0, "completed"),
    ],
)
def test_whatever_the_shell_did_to_the_streams(shell: str, code: int, told: str) -> None:
    command = shell.format(run=f"{sys.executable} -m assembler.cli.main run conf=agent")
    env = {**os.environ, "PYTHONUNBUFFERED": ""}  # as in most shells: what cannot be written is kept for one more try
    done = subprocess.run(command, shell=True, env=env, capture_output=True, text=True, timeout=60, check=False)  # noqa: S602
    assert done.returncode == code, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_skills_list() -> None:
    done = assemble("skills", "list", "conf=agent")
    assert (done.returncode, done.stdout) == (0, "greet\tgreet\tGreets people.\n")
    found = json.loads(assemble("skills", "list", "conf=agent", "--json").stdout)
    (skill,) = found["skills"]
    assert skill["name"] == "greet"
    assert skill["path"] == "skills/greet/SKILL.md"
    assert skill["scripts"] == ["scripts/hello.py", "scripts/slow.py"]
    assert skill["digest"].startswith("sha256:")
    assert found["diagnostics"] == []


BROKEN = {
    "skills/latin/SKILL.md": None,
    "skills/no-description/SKILL.md": "---\nname: no-description\n---\nbody\n",
    "skills/bad-yaml/SKILL.md": "---\nname: [\n---\nbody\n",
}


def test_a_broken_skill_never_stops_the_others_and_is_told_once(tmp_path: Path, project: Any) -> None:
    project({name: text for name, text in BROKEN.items() if text is not None})
    (tmp_path / "skills/latin").mkdir()
    (tmp_path / "skills/latin/SKILL.md").write_bytes(b"---\nname: latin\ndescription: caf\xe9\n---\n")
    done = assemble("run", "conf=agent", "runner=subprocess", "-i", "greet")
    assert (done.returncode, done.stdout) == (0, "hello from the script\n")
    for name in BROKEN:
        assert done.stderr.count(name) == 1, done.stderr
