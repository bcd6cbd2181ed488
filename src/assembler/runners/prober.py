"""Finds out, once a process, what really confines a script here: by running one that tries what it must not."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from assembler.errors import AssemblerError
from assembler.runners.arguments import ScriptInput
from assembler.runners.base import ScriptJob, ScriptLimits
from assembler.runners.bubblewrap import installed
from assembler.runners.interpreters import own_python
from assembler.runners.scripts import Backend, ScriptPlan

Candidates = Callable[[], tuple[Sequence[Backend], Sequence[str]]]
"""Backends to try, the best first, and why others are not there to be tried."""

_SCRIPT = """\
import errno, os, socket, sys

def works(action):
    try:
        action()
    except OSError:
        return False
    return True

def socket_is_denied(family):
    try:
        socket.socket(family).close()
    except OSError as error:
        return error.errno == errno.EAFNOSUPPORT
    return False

def no_privileges():
    lines = open("/proc/self/status").read().splitlines()
    status = dict(line.split(":\\t", 1) for line in lines if ":\\t" in line)
    return int(status["CapEff"], 16) == 0 and int(status["CapPrm"], 16) == 0 and status["NoNewPrivs"] == "1"

checks = {
    "its own skill cannot be read": works(lambda: open(__file__).read()),
    "scratch cannot be written": works(lambda: open("written", "w").close()),
    "a file outside can be read": not works(lambda: open(sys.argv[1]).read()),
    "the skill can be written": not works(lambda: open(os.path.dirname(__file__) + "/written", "w").close()),
    "a network socket can be opened": socket_is_denied(socket.AF_INET),
    "a UNIX socket can be opened": socket_is_denied(socket.AF_UNIX),
    "it has privileges": no_privileges(),
}
print("; ".join(problem for problem, fine in checks.items() if not fine) or "confined")
"""

_LIMITS = ScriptLimits(timeout=timedelta(seconds=10))


@dataclass(frozen=True, slots=True)
class Found:
    """What a machine offers.

    Attributes:
        backend: What confines; None for nothing.
        failures: What was tried before it and how each failed, a sentence each.
    """

    backend: Backend | None
    failures: tuple[str, ...]


class Prober:
    """Tries the backends of a machine, once.

    Args:
        candidates: What there is to try.
    """

    def __init__(self, candidates: Candidates) -> None:
        self._candidates = candidates
        self._lock = threading.Lock()
        self._found: Future[Found] | None = None

    async def find(self) -> Found:
        """The first backend that confines; whoever asks while it is being found out waits for the same answer."""
        with self._lock:
            if self._found is None:
                self._found = Future()
                self._found.set_running_or_notify_cancel()
                # A thread and a loop of its own: the answer outlives the task and the loop that asked first.
                threading.Thread(target=self._probe, args=(self._found,), name="assembler-probe", daemon=True).start()
            found = self._found
        return await asyncio.wrap_future(found)

    def _probe(self, answer: Future[Found]) -> None:
        try:
            answer.set_result(asyncio.run(self._try_all()))
        except BaseException as error:  # noqa: BLE001 - goes to whoever waits
            answer.set_exception(error)

    async def _try_all(self) -> Found:
        backends, missing = self._candidates()
        failures = list(missing)
        for backend in backends:
            failure = await _failure(backend)
            if failure is None:
                return Found(backend, tuple(failures))
            failures.append(f"{backend.label}: {failure}")
        return Found(None, tuple(failures))


async def _failure(backend: Backend) -> str | None:
    """What a backend fails to deny or to allow; None for nothing."""
    with tempfile.TemporaryDirectory(prefix="assembler-probe-") as name:
        plan = _probe_plan(Path(name))
        try:
            result = await backend.run(plan)
        except AssemblerError as error:
            return error.diagnostics[0].message
        except OSError as error:
            return str(error)
    if result.exit_code == 0 and result.stdout.strip() == "confined":
        return None
    return " ".join((result.stdout or result.stderr).split()) or result.reason or f"exit status {result.exit_code}"


def _probe_plan(folder: Path) -> ScriptPlan:
    secret, skill = folder / "secret", folder / "skill"
    secret.write_text("not to be read")
    secret.chmod(0o644)
    skill.mkdir()
    (skill / "probe.py").write_text(_SCRIPT)
    job = ScriptJob(skill, "probe.py")
    return ScriptPlan(job, own_python(), ScriptInput((str(secret),)), _LIMITS, {}, "scratch")


MACHINE = Prober(installed)
"""What this machine offers."""
