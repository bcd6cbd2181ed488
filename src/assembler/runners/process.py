"""Spawn, cap, kill: one run of a script as a process tree, under the eyes of an event loop that never blocks.

The host starts the launcher (``launcher.py``), inside a sandbox or not, and talks to it over three descriptors. It
reads what the script prints into bounded memory, and ends the tree over the lifeline: at a time-out, at too much
output, at a cancellation, and, since the kernel closes it then, at its own death.
"""

from __future__ import annotations

import asyncio
import math
import os
import signal
import subprocess
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assembler.runners.base import ScriptLimits, ScriptResult
from assembler.runners.capture import Capture
from assembler.runners.endings import reported, start_failed, stopped
from assembler.waiting import wait_through

LAUNCHER = Path(__file__).with_name("launcher.py")

GRACE = 0.25
"""Seconds that what a script left running, and what its pipes still hold, may take after its end."""

_PATIENCE = 10.0
"""Seconds that the launcher has to end the tree before it is killed itself; usually it takes a few milliseconds."""

_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Command:
    """What to run and how it is held.

    Attributes:
        argv: Program, options, script and arguments, as the launcher sees them.
        env: The whole environment of the first process.
        limits: What the script may use.
        python: Interpreter of the launcher, as the launcher's process sees it.
        launcher: The launcher's file, likewise.
        resources: Limits for ``setrlimit``, by the name without ``RLIMIT_``: soft and hard.
        prefix: What stands before the launcher: the program that makes a sandbox, and its options.
        descriptors: What that program is handed.
        stdin: What the script reads; None for nothing.
        cwd: Where the first process starts; None for where the host is.
        user: User and group id that the launcher gives the script; None for its own.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    limits: ScriptLimits
    python: str
    launcher: str
    resources: Mapping[str, tuple[int, int]]
    prefix: Sequence[str] = ()
    descriptors: Sequence[int] = ()
    stdin: bytes | None = None
    cwd: Path | None = None
    user: int | None = None


def resources(limits: ScriptLimits) -> dict[str, tuple[int, int]]:
    """The limits that hold for each process, whatever confines it.

    RLIMIT_DATA instead of RLIMIT_AS, under which node cannot start; the hard limit of processor time lies above the
    soft one, so that the first to come is SIGXCPU, which tells itself apart.
    """
    cpu = max(1, math.ceil(limits.cpu.total_seconds()))
    return {
        "DATA": (limits.memory, limits.memory),
        "CPU": (cpu, cpu + 1),
        "FSIZE": (limits.file, limits.file),
        "NOFILE": (256, 256),
        "CORE": (0, 0),
    }


async def run_process(command: Command, isolation: str) -> ScriptResult:
    """Runs a command to its end, and kills whatever it left behind.

    Cancelling kills the whole tree before the cancellation goes on.

    Args:
        command: What to run.
        isolation: What confines it, for the result.

    Raises:
        AssemblerError: It could not be started (``runner/start-failed``).
    """
    with ExitStack() as stack:
        spawning = asyncio.get_running_loop().run_in_executor(None, _spawn, command, stack)
        cancelled: asyncio.CancelledError | None = None
        try:
            await wait_through(spawning)
        except asyncio.CancelledError as error:
            if spawning.exception() is not None:
                raise
            cancelled = error
        run = _Run(spawning.result(), command.limits)
        if cancelled is not None:
            run.kill()
        await wait_through(run.finished, on_cancel=run.kill)
        if cancelled is not None:
            raise cancelled
        return run.result(isolation)


@contextmanager
def file_of(data: bytes) -> Generator[int]:
    """A descriptor of a nameless file that holds some bytes, at its beginning; closed on leaving."""
    descriptor = os.memfd_create("assembler")
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True)
class _Spawned:
    """The first process of a tree, and our ends of what leads to it; all closed by the stack that they were given."""

    process: subprocess.Popen[bytes]
    pidfd: int
    stdout: int
    stderr: int
    status: int
    lifeline: int
    began: float


def _spawn(command: Command, stack: ExitStack) -> _Spawned:
    """Starts a command; runs in a thread, as starting takes milliseconds and more on a busy machine."""
    began = time.monotonic()
    with ExitStack() as theirs:
        our_stdout, stdout = _pipe(stack, theirs)
        our_stderr, stderr = _pipe(stack, theirs)
        our_status, status = _pipe(stack, theirs)
        lifeline, our_lifeline = _pipe(theirs, stack)
        for ours in (our_stdout, our_stderr, our_status, our_lifeline):
            os.set_blocking(ours, False)
        argv = theirs.enter_context(file_of(b"".join(os.fsencode(word) + b"\0" for word in command.argv)))
        stdin = subprocess.DEVNULL if command.stdin is None else theirs.enter_context(file_of(command.stdin))
        options = {"command": argv, "status": status, "lifeline": lifeline, "grace": GRACE}
        if command.user is not None:
            options["user"] = command.user
        limits = [f"--limit={name}:{soft}:{hard}" for name, (soft, hard) in command.resources.items()]
        launch = [command.python, "-I", "-S", "-B", command.launcher]
        try:
            if command.user is not None:
                # The script may open them again by name: `echo careful > /dev/stderr`.
                for writing in (stdout, stderr):
                    os.fchown(writing, command.user, command.user)
            process = subprocess.Popen(  # noqa: S603 - no shell, and a program from a resolved path
                [*command.prefix, *launch, *(f"--{name}={value}" for name, value in options.items()), *limits],
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(argv, status, lifeline, *command.descriptors),
                env=command.env,
                cwd=command.cwd,
                start_new_session=True,
            )
        except OSError as error:
            raise start_failed(error.strerror or type(error).__name__) from error
        stack.callback(_end, process, our_lifeline)
    pidfd = os.pidfd_open(process.pid)
    stack.callback(os.close, pidfd)
    return _Spawned(process, pidfd, our_stdout, our_stderr, our_status, our_lifeline, began)


class _Run:
    """A running command. Everything happens in callbacks of the loop, so that no cancellation can interrupt it.

    Args:
        spawned: Its first process, and our ends of its pipes.
        limits: What it may use.
    """

    def __init__(self, spawned: _Spawned, limits: ScriptLimits) -> None:
        self._loop = asyncio.get_running_loop()
        self.finished: asyncio.Future[None] = self._loop.create_future()
        self._spawned = spawned
        self._process = spawned.process
        self._limits = limits
        self._stopped: Literal["timeout", "output"] | None = None
        self._killed = False
        self._seconds = 0.0
        self._captures = {pipe: Capture(limits.output) for pipe in (spawned.stdout, spawned.stderr)}
        self._open = set(self._captures)
        for descriptor in self._open:
            self._loop.add_reader(descriptor, self._read, descriptor)
        self._loop.add_reader(spawned.pidfd, self._on_exit)
        self._timer = self._loop.call_later(limits.timeout.total_seconds(), self._on_timeout)

    def kill(self) -> None:
        """Ends the tree, unless it has ended or is about to."""
        if self._killed or self._process.returncode is not None:
            return
        self._killed = True
        self._timer.cancel()
        with suppress(BrokenPipeError):  # the launcher has just ended; its exit is the next thing to be seen
            os.write(self._spawned.lifeline, b"x")
        # A script that shares the launcher's user may have stopped it.
        self._process.send_signal(signal.SIGCONT)
        self._timer = self._loop.call_later(_PATIENCE, self._process.kill)

    def _stop(self, why: Literal["timeout", "output"]) -> None:
        if not self._killed:
            self._stopped = why
            self.kill()

    def _on_timeout(self) -> None:
        self._stop("timeout")

    def _read(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, _CHUNK)
        except BlockingIOError:
            return
        if not data:
            self._close(descriptor)
            return
        self._captures[descriptor].add(data)
        if sum(capture.total for capture in self._captures.values()) > self._limits.output_hard:
            # Nothing more is read, so that what still prints soon stands still.
            self._stop_reading()
            self._stop("output")

    def _close(self, descriptor: int) -> None:
        self._loop.remove_reader(descriptor)
        self._open.discard(descriptor)
        if not self._open and self._process.returncode is not None:
            self._finish()

    def _on_exit(self) -> None:
        self._loop.remove_reader(self._spawned.pidfd)
        self._timer.cancel()
        self._process.wait()
        self._seconds = time.monotonic() - self._spawned.began
        if self._open:
            # What the pipes still hold is read; their end is not waited for, as somebody may have been handed them.
            self._timer = self._loop.call_later(GRACE, self._finish)
        else:
            self._finish()

    def _stop_reading(self) -> None:
        for descriptor in self._open:
            self._loop.remove_reader(descriptor)
        self._open.clear()

    def _finish(self) -> None:
        self._timer.cancel()
        self._stop_reading()
        if not self.finished.done():
            self.finished.set_result(None)

    def result(self, isolation: str) -> ScriptResult:
        """What came of it, once it is finished.

        Raises:
            AssemblerError: It was not started (``runner/start-failed``).
        """
        stdout, stderr = (self._captures[pipe] for pipe in (self._spawned.stdout, self._spawned.stderr))
        ending = self._stopped and stopped(self._stopped, self._limits)
        if not ending:
            ending = reported(_read_available(self._spawned.status).decode("utf-8", "replace"), self._limits)
        if not ending:
            raise start_failed(stderr.text().strip() or "no reason was given")
        return ScriptResult(
            exit_code=ending.exit_code,
            stdout=stdout.text(),
            stderr=stderr.text(),
            stdout_bytes=stdout.total,
            stderr_bytes=stderr.total,
            seconds=self._seconds,
            isolation=isolation,
            stopped=ending.stopped,
            reason=ending.reason,
        )


def _pipe(reads: ExitStack, writes: ExitStack) -> tuple[int, int]:
    """A pipe whose ends are closed with one stack each."""
    reading, writing = os.pipe()
    reads.callback(os.close, reading)
    writes.callback(os.close, writing)
    return reading, writing


def _read_available(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except BlockingIOError:
        return b""


def _end(process: subprocess.Popen[bytes], lifeline: int) -> None:
    """Leaves nothing behind where a run broke off before anybody watched it."""
    if process.returncode is None:
        with suppress(BrokenPipeError):
            os.write(lifeline, b"x")
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
