"""Ways around consent: what is agreed to covers what it says, and nothing else comes with it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assembler import AssemblerError, assemble
from assembler.config.consent import NotAgreed, Terms
from assembler.config.gate import DeclaredGate
from assembler.config.load import load

ECHO = "kind: scripted\nturns: {echo: {text: 'You said: {{ input }}'}}\n"
ROOT = "defaults: [{model: echo}, _self_]\n"
UNCONFINED = "defaults: [{model: echo}, {runner: subprocess}, {approval: unattended}, _self_]\n"
SKILL = "---\nname: greet\ndescription: Greets.\n---\n"
CODE = """
from pathlib import Path
from assembler.powers import reads
from assembler.skills.sources.base import SkillSource
from assembler.skills.sources.files import FilesSource

class Notes(SkillSource):
    folder: Path = Path("notes")
    def powers(self, base):
        return reads(self.folder, base, ("folder",))
    async def list_skills(self, context):
        return []

class Mine(FilesSource): ...

def add(left: int, right: int) -> int:
    return left + right

def keeps(skill) -> bool:
    return True
"""
OPENAI = "model: {kind: openai, name: x, base_url: 'BASE'}\ninstructions: {file: /etc/hostname}\n"


@pytest.fixture(autouse=True)
def base(project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project beside other things."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    project({"project/conf/model/echo.yaml": ECHO, "project/mine.py": CODE, "project/conf/agent.yaml": ROOT})
    monkeypatch.chdir(folder)
    return folder


def write(base: Path, name: str, text: str) -> Path:
    file = base / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
    return file


def declare(base: Path, text: str, name: str = "conf/agent.yaml") -> None:
    write(base, name, text)


def asked(*overrides: str, conf: str = "agent", **terms: Any) -> list[str]:
    """What keeps an agent from being opened, in order."""
    try:
        DeclaredGate(load(conf, overrides, terms=Terms(**terms))).admit()
    except NotAgreed as error:
        return [found.message.rpartition(", which")[0].removeprefix("it ") for found in error.diagnostics]
    return []


def shown(*overrides: str) -> list[str]:
    return [str(demand.power) for demand in load("agent", overrides).consent().demands]


RULES = "approval: {{default: ask, rules: {{{}}}}}\nrunner: {{kind: subprocess}}\n"
CAREFUL = "careful: {tools: [run_skill_script], action: ask}"
FREE = "free: {tools: [run_skill_script], action: allow}"


def test_the_order_of_rules_is_part_of_what_is_agreed_to(base: Path, agree: Callable[..., None]) -> None:
    declare(base, ROOT + RULES.format(f"{CAREFUL}, {FREE}"))
    agree("agent")
    assert asked() == []
    declare(base, ROOT + RULES.format(f"{FREE}, {CAREFUL}"))
    assert asked() == ["runs scripts unasked that nothing isolates"]


def test_scripts_that_run_unconfined_are_agreed_to_as_they_are_named(base: Path, agree: Callable[..., None]) -> None:
    text = ROOT + "scripts: {one: {skills: [NAME], runner: {kind: subprocess}}}\n"
    declare(base, text.replace("NAME", "greet"))
    agree("agent")
    declare(base, text.replace("NAME", "'*'"))
    assert asked() == ["runs scripts without isolation"]


IMPORT = "skills: {sources: {own: {kind: python, target: 'mine:Notes'}}}\n"


def test_code_of_the_project_needs_no_place_on_the_path_and_takes_none_before(
    base: Path, agree: Callable[..., None]
) -> None:
    declare(base, ROOT + IMPORT)
    assert asked() == ["imports and runs the Python code mine:Notes"]
    assert str(base) not in sys.path
    agree("agent")
    try:
        assert asked() == []
        assert sys.path[-1] == str(base)
    finally:
        forget(base)


def forget(base: Path) -> None:
    sys.path[:] = [entry for entry in sys.path if entry != str(base)]
    for name in [name for name, module in sys.modules.items() if str(base) in str(getattr(module, "__file__", ""))]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("helper.py", "x = 1"),
        ("pkg/__init__.py", ""),
        (".vendor/late.py", "x = 1"),
        ("__pycache__/impl.py", "x = 1"),
        ("node_modules/late.py", "x = 1"),
        ("lib/old.pyc", "bytecode"),
        ("env/late.py", "x = 1"),
    ],
)
def test_all_code_that_the_project_could_import_is_looked_at(
    base: Path, agree: Callable[..., None], file: str, text: str
) -> None:
    write(base, "env/pyvenv.cfg", "")
    declare(base, ROOT + IMPORT)
    agree("agent")
    write(base, file, text)
    (found,) = [demand for demand in load("agent").consent().demands if demand.standing == "open"]
    assert f"`{file}` changed since" in load("agent").consent().change(found)


def test_a_link_to_code_elsewhere_counts_by_where_it_leads(base: Path, agree: Callable[..., None]) -> None:
    for name in ("one", "two"):
        write(base.parent, f"{name}/late.py", "")
    (base / "vend").symlink_to(base.parent / "one")
    declare(base, ROOT + IMPORT)
    agree("agent")
    (base / "vend").unlink()
    (base / "vend").symlink_to(base.parent / "two")
    assert asked() == ["imports and runs the Python code mine:Notes"]


def test_code_of_the_repository_around_a_project_is_looked_at(base: Path, agree: Callable[..., None]) -> None:
    write(base, "app/conf/model/echo.yaml", ECHO)
    declare(base, ROOT + IMPORT, "app/conf/agent.yaml")
    conf = "app/conf/agent.yaml"
    agree(conf)
    write(base, "mine.py", CODE + "print('evil')")
    consent = load(conf).consent()
    assert [consent.change(demand) for demand in consent.demands] == ["`../mine.py` changed since"]


def test_what_loaded_code_asks_for_is_asked_about_before_it_does_it(base: Path, agree: Callable[..., None]) -> None:
    (base / "notes").mkdir()
    declare(base, ROOT + IMPORT.replace("'mine:Notes'", "'mine:Notes', options: {folder: ../private}"))
    agree("agent")
    try:
        with pytest.raises(NotAgreed) as caught:
            DeclaredGate(load("agent")).admit()
        assert [found.message for found in caught.value.diagnostics] == [
            f"it reads outside of the project {base.parent / 'private'}, which nobody agreed to"
        ]
        caught.value.consent.agree()
        assert asked() == []
        token = caught.value.consent.token
        assert token.count("sha256:") == 2
    finally:
        forget(base)


@pytest.mark.parametrize("target", ["assembler.skills.sources.files:FilesSource", "assembler.folders:remove_tree"])
def test_what_assembler_itself_has_is_named_by_its_kind(base: Path, target: str) -> None:
    declare(base, ROOT + f"skills: {{sources: {{own: {{kind: python, target: '{target}'}}}}}}\n")
    with pytest.raises(AssemblerError, match="component/bad-target"):
        load("agent")


FUNCTION = "skills: {sources: {inline: {skills: {sums: {description: Adds., scripts: {add: {target: 'mine:add'}}}}}}}\n"


def test_functions_that_run_unasked_are_a_power_of_their_own(base: Path, agree: Callable[..., None]) -> None:
    declare(base, ROOT + FUNCTION)
    agree("agent")
    declare(base, ROOT + FUNCTION + "approval: {default: allow}\n")
    assert asked() == ["runs Python code unasked, which nothing isolates"]


def test_a_function_is_agreed_to_for_its_place(base: Path, agree: Callable[..., None]) -> None:
    declare(base, ROOT + FUNCTION.replace("mine:add", "mine:keeps"))
    agree("agent")
    declare(base, ROOT + "skills: {decorators: {f: {kind: filter, predicate: {target: 'mine:keeps'}}}}\n")
    assert asked() == ["imports and runs the Python code mine:keeps"]


def test_the_scripts_of_any_source_are_looked_at(base: Path, agree: Callable[..., None]) -> None:
    write(base, "skills/greet/SKILL.md", SKILL)
    declare(
        base, UNCONFINED + "skills: {sources: {own: {kind: python, target: 'mine:Mine', options: {paths: [skills]}}}}"
    )
    agree("agent")
    write(base, "skills/greet/scripts/run.sh", "echo evil")
    assert "runs scripts unasked that nothing isolates" in [
        str(demand.power) for demand in load("agent").consent().demands if demand.standing == "open"
    ]


def test_a_typed_target_brings_no_options_of_a_file(base: Path) -> None:
    declare(base, ROOT + "skills: {sources: {own: {kind: python, target: 'a:B', options: {x: 1}}}}\n")
    assert asked("skills.sources.own.target=mine:Notes", is_typed=True) == [
        "imports and runs the Python code mine:Notes"
    ]


def test_a_typed_path_that_leads_elsewhere_is_typed_by_name_only(base: Path) -> None:
    (base / "notes.md").symlink_to("/etc/hostname")
    assert asked("instructions.file=notes.md", is_typed=True) == ["reads outside of the project /etc/hostname"]
    assert asked("instructions.file=/etc/hostname", is_typed=True) == []


def test_where_the_conversation_goes_belongs_to_what_is_read(base: Path, agree: Callable[..., None]) -> None:
    declare(base, OPENAI.replace("BASE", "http://127.0.0.1:1/v1"))
    agree("agent")
    assert asked() == []
    declare(base, OPENAI.replace("BASE", "https://api.openai.com/v1"))
    assert asked() == ["sends the conversation to https://api.openai.com"]
    declare(base, OPENAI.replace("BASE", "https://api.openai.com/v1").partition("instructions")[0])
    assert asked() == [], "by itself that is what everybody knows"


def test_a_file_in_a_home_does_not_make_the_home_a_project(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for home in (base, base / "deeper"):
        monkeypatch.setenv("HOME", str(home))
        write(base, "lone.yaml", "model: {kind: scripted, turns: {a: {text: b}}}\ninstructions: {file: .ssh/id_rsa}\n")
        assert asked(conf="lone.yaml") == [f"reads outside of the project {base}/.ssh/id_rsa"]


def test_an_interpreter_of_the_project_is_a_program_of_the_project(
    base: Path, agree: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    bash = write(base, "node_modules/.bin/bash", "#!/bin/sh\n")
    bash.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bash.parent}:{os.environ['PATH']}")
    assert asked() == [f"starts {bash} for `.sh` scripts"]
    agree("agent")
    write(base, "node_modules/.bin/lib.sh", "evil")
    assert asked() == [f"starts {bash} for `.sh` scripts"]


def test_the_file_of_a_secret_is_the_one_that_a_link_leads_to(base: Path, agree: Callable[..., None]) -> None:
    text = "model: {kind: openai, name: x, api_key: '${secret:file,KEY}'}\n".replace("KEY", str(base / "key"))
    (base / "key").symlink_to("/etc/hostname")
    declare(base, text)
    agree("agent")
    (base / "key").unlink()
    (base / "key").symlink_to("/etc/shadow")
    assert asked() == ["sends the secret file '/etc/shadow' to https://api.openai.com"]


@pytest.mark.parametrize("path", ["loop", "loop/x", "a\\0b", "/proc/self", "locked/x", "x" * 5000])
def test_paths_that_no_file_can_have_are_no_trap(base: Path, path: str) -> None:
    (base / "loop").symlink_to(base / "loop")
    (base / "locked").mkdir(mode=0)
    declare(base, UNCONFINED + f'skills: {{sources: {{own: {{kind: files, paths: ["{path}"]}}}}}}\n')
    assert asked()[0] == "runs scripts without isolation"
    declare(base, ROOT + f'instructions: {{file: "{path}"}}\n')
    with pytest.raises(AssemblerError):
        assemble("agent").run_sync("hi")


def test_an_open_agent_takes_over_no_script_that_nobody_agreed_to(base: Path, agree: Callable[..., None]) -> None:
    write(base, "skills/greet/SKILL.md", SKILL)
    script = write(base, "skills/greet/scripts/run.sh", "echo good")
    declare(base, UNCONFINED + "skills: {sources: {own: {kind: files, paths: [skills]}}}\n")
    agree("agent")

    async def run() -> str:
        async with assemble("agent") as agent:
            assert (await agent.run("hi")).status == "completed"
            script.write_text("echo evil")
            with pytest.raises(NotAgreed) as caught:
                await agent.run("hi")
            caught.value.consent.agree()
            return (await agent.run("hi")).status

    assert asyncio.run(run()) == "completed"


def test_an_open_agent_reads_no_file_that_nobody_agreed_to(base: Path) -> None:
    write(base, "notes.md", "inside")
    declare(base, ROOT + "instructions: {file: notes.md}\n")

    async def run() -> None:
        async with assemble("agent") as agent:
            (base / "notes.md").unlink()
            (base / "notes.md").symlink_to("/etc/hostname")
            with pytest.raises(NotAgreed):
                await agent.run("hi")

    asyncio.run(run())


def test_where_nobody_has_a_home_what_needs_no_consent_goes_on(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert asked() == []
    assert asked("runner=subprocess") == ["runs scripts without isolation"]
    assert asked("runner=subprocess", everything=True) == []
    with pytest.raises(AssemblerError, match="trust/not-kept"):
        load("agent", ["runner=subprocess"]).consent().agree()


def test_a_function_that_never_ends_does_not_keep_the_process(base: Path) -> None:
    write(base, "slow.py", "import time\ndef add() -> int:\n    time.sleep(60)\n    return 1\n")
    turns = "{{call: {{calls: [{}], text: done}}}}".format(
        "{tool: run_skill_script, arguments: {skill_name: sums, script_name: add}}"
    )
    root = f"model: {{kind: scripted, turns: {turns}}}\napproval: {{default: allow}}\nlimits: {{timeout: 500ms}}\n"
    declare(base, root + FUNCTION.replace("mine:add", "slow:add"))
    command = [sys.executable, "-m", "assembler.cli.main", "run", "conf=agent", "-i", "x", "--trust-module", "slow"]
    digest = json.loads(
        subprocess.run(
            [sys.executable, "-m", "assembler.cli.main", "trust", "conf=agent", "--json", "--trust-module", "slow"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )["digest"]
    done = subprocess.run([*command, "--trust", digest], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, "limits.timeout" in done.stderr) == (1, True), done.stderr


@pytest.mark.parametrize(
    "option", [["--trust", "x"], ["--trust", "sha256:ab"], ["--trust", ""], ["--trust-module", "fr.py/x"]]
)
def test_what_is_no_digest_and_no_module_is_told(option: list[str]) -> None:
    command = [sys.executable, "-m", "assembler.cli.main", "run", "conf=agent", "-i", "x", *option]
    done = subprocess.run(command, capture_output=True, text=True, check=False, start_new_session=True)
    assert (done.returncode, "cli/bad-option" in done.stderr) == (2, True)
