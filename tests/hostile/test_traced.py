"""What the kernel sees of a project before consent: no other program, no connection, no file that is not its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.hostile.attacks import OBJECTS, POWERS, SERVERS, VARIABLES, Attack
from tests.hostile.test_before_consent import cloned
from tests.hostile.watching import PRIVATE, machine

STRACE = shutil.which("strace")
CALLS = "execve,execveat,connect,open,openat,openat2"


def can_trace() -> bool:
    """Whether this machine lets a process be traced; containers often do not."""
    return bool(STRACE) and subprocess.run([str(STRACE), "-o", "/dev/null", "true"], check=False).returncode == 0


@pytest.mark.skipif(not can_trace(), reason="strace is not there, or may trace nothing")
@pytest.mark.parametrize("attack", [OBJECTS[0], POWERS[0], POWERS[3], POWERS[9], SERVERS[1], VARIABLES[5]])
def test_the_kernel_sees_nothing_before_consent(attack: Attack, tmp_path: Path) -> None:
    on = machine(tmp_path / "machine")
    project = cloned(attack, on, "project")
    log = tmp_path / "log"
    command = [sys.executable, "-m", "assembler.cli.main", "run", "conf=agent", "-i", "hi"]
    done = subprocess.run(
        [str(STRACE), "-f", "-o", str(log), "-e", f"trace={CALLS}", *command],
        cwd=project,
        env=on.environment,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, attack.stopped in done.stderr) == (2, True), done.stderr
    seen = log.read_text("utf-8", "replace").splitlines()
    assert any("openat" in line and "agent.yaml" in line for line in seen), "nothing was traced"
    assert sum("execve" in line and "resumed" not in line for line in seen) == 1
    assert not [line for line in seen if "connect(" in line]
    private = [str(on.folder / path) for path in PRIVATE]
    assert not [line for line in seen if any(path in line for path in private)]
