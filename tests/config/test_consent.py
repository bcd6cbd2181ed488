"""Nothing that was not agreed to happens; what was agreed to is bound to what it was."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assembler import AssemblerError, assemble
from assembler.config.agreements import Agreements
from assembler.config.consent import NotAgreed, Terms
from assembler.config.gate import DeclaredGate
from assembler.config.load import load

NEEDED = "trust/needed"
ECHO = "kind: scripted\nturns: {echo: {text: 'You said: {{ input }}'}}\n"
FILES = {
    "conf/agent.yaml": """\
defaults: [{model: echo}, {runner: subprocess}, {approval: unattended}, _self_, {env: null}]
skills: {sources: {own: {kind: files, paths: [skills]}}}
""",
    "conf/model/echo.yaml": ECHO,
    "conf/model/far.yaml": "kind: openai\nname: x\nbase_url: https://far.example/v1\n",
    "conf/env/reading.yaml": "# @package _global_\ninstructions: {file: ../notes.md}\n",
    "conf/env/variable.yaml": "# @package _global_\nallow_env: {COMPANY: true}\nvariables: {c: '${oc.env:COMPANY}'}\n",
    "conf/env/anywhere.yaml": "# @package _global_\nallow_env: {URL: true}\nmodel: {base_url: '${oc.env:URL}'}\n",
    "skills/greet/SKILL.md": "---\nname: greet\ndescription: Greets.\n---\n",
    "skills/greet/scripts/hello.py": "print('hello')\n",
}


@pytest.fixture(autouse=True)
def files(project: Any, tmp_path: Path) -> Path:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "notes.md").write_text("notes")
    for name, text in FILES.items():
        project({f"project/{name}": text})
    return tmp_path / "project"


@pytest.fixture(autouse=True)
def inside(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)


def refused(*overrides: str, terms: Terms = Terms()) -> list[str]:  # noqa: B008  (a value)
    """The codes of what keeps an agent from being opened; none if nothing does."""
    try:
        DeclaredGate(load("agent", overrides, terms=terms)).admit()
    except AssemblerError as error:
        return [diagnostic.code for diagnostic in error.diagnostics]
    return []


def messages(*overrides: str) -> list[str]:
    with pytest.raises(NotAgreed) as caught:
        DeclaredGate(load("agent", overrides)).admit()
    return [diagnostic.message for diagnostic in caught.value.diagnostics]


def test_an_agent_opens_only_after_consent(agree: Callable[..., None]) -> None:
    with pytest.raises(AssemblerError) as caught:
        assemble("agent").run_sync("hi")
    first, found = caught.value.diagnostics
    assert [first.code, found.code] == ["trust/needed"] * 2
    assert "runs scripts without isolation" in first.message
    assert "runs scripts unasked that nothing isolates" in found.message
    assert str(found.where) == "preset runner/subprocess.yaml:2:7"
    assert "assemble trust conf=agent" in found.hint
    assert "--trust sha256:" in found.hint
    agree("agent")
    assert assemble("agent").run_sync("hi").output_text == "You said: hi"
    assert assemble("agent", ["runner=sandbox"]).run_sync("hi").status == "completed"


def test_everything_that_is_asked_for_is_told_at_once() -> None:
    assert refused("model=far", "env=reading") == [NEEDED] * 4


def test_trust_in_python_is_for_this_agent_alone() -> None:
    assert assemble("agent", trust=True).run_sync("hi").status == "completed"
    assert refused() == [NEEDED] * 2


def test_a_declaration_in_python_needs_no_consent() -> None:
    config = load("agent", terms=Terms(everything=True)).config
    assert assemble(config).run_sync("hi").status == "completed"


def test_fewer_powers_than_agreed_to_are_no_question(agree: Callable[..., None]) -> None:
    agree("agent", "model=far", "env=reading")
    assert refused("model=far") == refused("env=reading") == refused() == []


def test_two_agreements_do_not_add_up(agree: Callable[..., None]) -> None:
    agree("agent", "model=far")
    agree("agent", "env=reading")
    assert refused("model=far", "env=reading") == [NEEDED]


def test_another_project_with_the_same_words_is_another_one(
    agree: Callable[..., None], files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agree("agent")
    copy = files.parent / "copy"
    shutil.copytree(files, copy)
    monkeypatch.chdir(copy)
    assert refused() == [NEEDED] * 2


def test_a_project_is_the_same_through_a_link(
    agree: Callable[..., None], files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agree("agent")
    (files.parent / "link").symlink_to(files)
    monkeypatch.chdir(files.parent / "link")
    assert refused() == []


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda folder: (folder / "scripts/hello.py").write_text("evil"), "`skills/greet/scripts/hello.py` changed"),
        (lambda folder: (folder / "scripts/more.py").write_text("evil"), "`skills/greet/scripts/more.py` changed"),
        (lambda folder: (folder / "scripts/hello.py").unlink(), "`skills/greet/scripts/hello.py` changed"),
        (lambda folder: (folder / "SKILL.md").write_text(FILES["skills/greet/SKILL.md"] + "x"), "SKILL.md` changed"),
        (lambda folder: (folder / "scripts/out").symlink_to("/etc"), "`skills/greet/scripts/out` changed"),
        (lambda folder: (folder / "scripts/again").symlink_to(folder), ""),
        (lambda folder: (folder / "scripts/__pycache__").mkdir(), ""),
        (lambda folder: (folder / ".git").mkdir(), ""),
    ],
)
def test_a_change_of_what_would_execute_asks_again(
    agree: Callable[..., None], files: Path, change: Callable[[Path], object], named: str
) -> None:
    agree("agent")
    change(files / "skills/greet")
    if not named:
        assert refused() == []
        return
    (message,) = messages()
    assert named in message
    assert refused() == ["trust/changed"]
    agree("agent")
    assert refused() == []


def test_a_change_of_what_a_power_is_bound_to_asks_again(agree: Callable[..., None]) -> None:
    agree("agent")
    (message,) = messages("approval.rules.x={skills: [a], action: deny}")
    assert "under other settings" in message


def test_a_pipe_among_the_code_holds_nothing_up(agree: Callable[..., None], files: Path) -> None:
    import os

    os.mkfifo(files / "skills/greet/scripts/pipe.py")
    agree("agent")
    assert refused() == []


def test_more_code_than_anybody_looks_at_is_refused(files: Path) -> None:
    with (files / "skills/greet/huge.bin").open("wb") as huge:
        huge.truncate(2**30)
    assert refused() == ["trust/too-large"]


def test_a_digest_agrees_to_just_that(files: Path) -> None:
    digest = load("agent").consent().token
    terms = Terms(digests=frozenset({digest}))
    assert refused(terms=terms) == []
    assert refused() == [NEEDED] * 2
    assert refused("model=far", terms=terms) == ["trust/other-digest", *[NEEDED] * 3]
    (files / "skills/greet/scripts/hello.py").write_text("evil")
    assert refused(terms=terms) == ["trust/other-digest", *[NEEDED] * 2]


def test_what_a_person_types_is_agreed_to() -> None:
    typed = Terms(is_typed=True)
    assert refused("runner.isolation=prefer", "runner=sandbox", terms=typed) == []
    assert refused("runner=subprocess", terms=typed) == []
    assert refused("runner=sandbox", "model=far", terms=typed) == ["trust/needed"]
    url = "model.base_url=https://other.example/v1"
    assert refused("runner=sandbox", "model=far", url, terms=typed) == []
    assert refused("runner=sandbox", "model=openai", "model.name=x", url, terms=typed) == []
    assert refused("runner=sandbox", "instructions={file: ../notes.md}", terms=typed) == []
    assert refused("runner=sandbox", "instructions.file=../notes.md", terms=typed) == []


@pytest.mark.parametrize(
    "overrides",
    [
        ["+variables.url=https://far.example/v1", "model.base_url=${variables.url}", "model=openai", "model.name=x"],
        ["model=openai", "model.name=x", "model.api_key=${secret:file,/etc/passwd}"],
        ["model=far", "model.api_key=${secret:file,/etc/passwd}"],
    ],
)
def test_what_is_typed_by_name_only_is_not_agreed_to(overrides: list[str]) -> None:
    assert "trust/needed" in refused("runner=sandbox", *overrides, terms=Terms(is_typed=True))


def test_an_option_of_the_project_is_not_what_its_name_says(files: Path) -> None:
    (files / "conf/runner").mkdir()
    (files / "conf/runner/quick.yaml").write_text("kind: subprocess\n")
    assert refused("runner=quick", terms=Terms(is_typed=True)) == [NEEDED] * 2


def test_a_secret_of_the_project_goes_nowhere_that_was_typed_for_it(files: Path) -> None:
    (files / "conf/model/near.yaml").write_text(
        "kind: openai\nname: x\nbase_url: http://127.0.0.1:1/v1\napi_key: ${secret:file,/etc/passwd}\n"
    )
    typed = ["runner=sandbox", "model=near", "model.base_url=https://mine.example/v1"]
    assert refused(*typed, terms=Terms(is_typed=True)) == ["trust/needed"]


def test_in_python_overrides_are_not_typed_by_a_person() -> None:
    assert refused("runner.isolation=prefer", "runner=sandbox") == [NEEDED] * 2


# Variables


def test_a_variable_is_read_after_consent_only(agree: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPANY", "Acme")
    with pytest.raises(NotAgreed) as caught:
        load("agent", ["env=variable"])
    assert sorted(found.message for found in caught.value.diagnostics) == [
        "it reads the environment variable COMPANY, which nobody agreed to",
        "it runs scripts unasked that nothing isolates, which nobody agreed to",
        "it runs scripts without isolation, which nobody agreed to",
    ]
    assert "Acme" not in str(caught.value)
    caught.value.consent.agree()
    assert load("agent", ["env=variable"]).config.variables == {"c": "Acme"}
    assert refused("env=variable") == []


def test_what_hangs_on_a_variable_is_asked_about_once_it_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("URL", "https://evil.example/v1")
    overrides = ["env=anywhere", "model=far"]
    with pytest.raises(NotAgreed) as first:
        load("agent", overrides)
    assert not any("evil.example" in found.message for found in first.value.diagnostics)
    first.value.consent.agree()
    with pytest.raises(NotAgreed) as second:
        DeclaredGate(load("agent", overrides)).admit()
    assert any("https://evil.example" in found.message for found in second.value.diagnostics)
    token = second.value.consent.token
    second.value.consent.agree()
    assert refused(*overrides) == []
    Agreements(Path.cwd()).revoke()
    # One token agrees to both: to what has to be known first, and to what is known then.
    assert refused(*overrides, terms=Terms(digests=frozenset(token.split("+")))) == []
    monkeypatch.setenv("URL", "https://other.example/v1")
    assert "trust/needed" in refused(*overrides, terms=Terms(digests=frozenset(token.split("+"))))


def test_other_mistakes_are_told_before_variables_are_asked_about() -> None:
    assert refused("env=variable", "limits.turns=soon") == ["config/bad-value"]


# The record


def record(state: Path) -> Path:
    (file,) = (state / "assembler" / "trust").glob("[!.]*.json")
    return file


def test_the_record_is_its_owners_alone(agree: Callable[..., None], state: Path) -> None:
    agree("agent")
    assert stat.S_IMODE(record(state).stat().st_mode) == 0o600
    assert stat.S_IMODE(record(state).parent.stat().st_mode) == 0o700
    assert json.loads(record(state).read_text())["project"] == str(Path.cwd())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.chmod(0o666),
        lambda file: file.write_text("no JSON"),
        lambda file: file.write_text("[" * 100_000),
        lambda file: file.write_text('{"version": 1}'),
        lambda file: file.write_text('{"version": 1, "project": "/", "agreements": []}'),
        lambda file: file.write_bytes(b"\xff"),
        lambda file: (file.rename(file.with_suffix(".x")), file.symlink_to(file.with_suffix(".x"))),
        lambda file: (file.unlink(), file.mkdir()),
    ],
)
def test_a_record_that_cannot_be_ours_counts_for_nothing(
    agree: Callable[..., None], state: Path, spoil: Callable[[Path], object]
) -> None:
    agree("agent")
    spoil(record(state))
    assert refused() == ["trust/bad-record"]


def test_a_record_of_another_project_counts_for_nothing(agree: Callable[..., None], state: Path, files: Path) -> None:
    agree("agent")
    mine = record(state)
    shutil.copytree(files, files.parent / "copy")
    other = Agreements(files.parent / "copy")
    other.add([])
    (theirs,) = set(mine.parent.glob("[!.]*.json")) - {mine}
    theirs.write_text(mine.read_text())
    with pytest.raises(AssemblerError, match="trust/bad-record"):
        other.read()


def test_a_state_folder_that_cannot_be_written_is_told(
    agree: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(AssemblerError, match=r"trust/(not-kept|bad-record)"):
        agree("agent")


def test_agreeing_in_several_processes_loses_nothing(files: Path) -> None:
    program = """
import sys
from pathlib import Path
from assembler.config.agreements import Agreements
for number in range(10):
    Agreements(Path.cwd()).add([{"action": "read", "target": f"{sys.argv[1]}-{number}"}])
"""
    running = [subprocess.Popen([sys.executable, "-c", program, str(number)]) for number in range(4)]
    assert [process.wait(60) for process in running] == [0] * 4
    agreements = Agreements(files)
    threads = [threading.Thread(target=agreements.add, args=([{"action": "x", "target": str(n)}],)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(agreements.read()) == 48
    assert agreements.revoke() == 48
    assert agreements.read() == []
