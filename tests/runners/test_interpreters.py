"""Which program runs a script."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from assembler.errors import AssemblerError
from assembler.runners.interpreters import find_interpreter, own_python
from assembler.runners.plain import Subprocess
from assembler.runners.sandbox import Sandbox


def test_python_is_the_real_base_interpreter() -> None:
    python = own_python()
    assert python.program.is_absolute()
    assert not python.program.is_symlink()
    assert python.program.samefile(os.path.realpath(sys.executable)) or sys.prefix != sys.base_prefix
    assert find_interpreter("scripts/A.PY", Sandbox().interpreters) == python


def test_a_name_is_found_on_path() -> None:
    bash = shutil.which("bash")
    assert bash is not None
    assert find_interpreter("x.sh", {".sh": "bash"}).program.samefile(bash)


def test_a_project_cannot_slip_its_own_program_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").write_text("#!/bin/sh\n")
    (tmp_path / "mine").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    with pytest.raises(AssemblerError):
        find_interpreter("x.sh", {".sh": "mine"})


def test_a_link_of_the_users_is_resolved_as_a_sandbox_does_not_have_it(tmp_path: Path) -> None:
    (tmp_path / "tool").symlink_to("/usr/bin/env")
    assert find_interpreter("x.t", {".t": str(tmp_path / "tool")}).program == Path("/usr/bin/env").resolve()


def test_libraries_beside_a_program_are_its_own_but_not_its_prefix(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "tool"
    for folder in ("bin", "lib", "share"):
        (tmp_path / folder).mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert find_interpreter("x.t", {".t": str(program)}).folders() == [tmp_path / "lib"]


@pytest.mark.parametrize(
    ("script", "message", "hint"),
    [
        ("run.rb", "`run.rb` has no interpreter: `runner.interpreters` knows `.js`, `.py`, `.sh`", '".rb": program'),
        ("run", "`run` has no interpreter", '".ext": program'),
        ("a.b/run", "has no interpreter", ".ext"),
    ],
)
def test_an_unknown_extension_names_the_map(script: str, message: str, hint: str) -> None:
    for runner in (Sandbox(), Subprocess()):
        with pytest.raises(AssemblerError) as caught:
            runner.check(script)
        diagnostic = caught.value.diagnostics[0]
        assert diagnostic.code == "runner/no-interpreter"
        assert message in diagnostic.message
        assert hint in diagnostic.hint


def test_a_missing_program_is_named() -> None:
    runner = Sandbox(interpreters={".rb": "no-such-ruby"})
    with pytest.raises(AssemblerError) as caught:
        runner.check("x.rb")
    assert "`no-such-ruby`, which is not installed" in caught.value.diagnostics[0].message
    runner.check("x.py")


def test_the_map_is_laid_over_the_shipped_one() -> None:
    runner = Sandbox.model_validate({"interpreters": {".rb": "ruby", ".js": None}})
    assert runner.interpreters == {".py": "{python}", ".sh": "bash", ".rb": "ruby"}
    again = runner.model_dump(exclude={"kind"})
    assert Sandbox.model_validate({name: again[name] for name in Sandbox.model_fields}).interpreters[".rb"] == "ruby"


@pytest.mark.parametrize(
    "value", [{"py": "x"}, {".PY": "x"}, {".tar.gz": "x"}, {".": "x"}, {".x": "bin/x"}, {".x": 3}, "x"]
)
def test_a_map_that_cannot_work_is_refused(value: Any) -> None:
    with pytest.raises(ValidationError):
        Sandbox.model_validate({"interpreters": value})
