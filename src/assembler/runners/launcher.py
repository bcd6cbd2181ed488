"""The helper between a runner and a script: starts it, holds it to its limits, and leaves nothing of it alive.

Not imported by the package: runners start it as a program, ``python -I -S -B launcher.py OPTIONS``, outside a sandbox
or as the first process of one. It is a process of its own since a host must neither fork with threads about (what
``preexec_fn`` does) nor become a subreaper, which would change whose children it has to reap. It imports the standard
library only, and little of it, since every run waits for it.

Options, each ``--name=value``:

``command``, ``status``, ``lifeline``
    Descriptors: a file with the script's command line, each part ended by a NUL byte; a pipe to report on; a pipe that
    the host holds open, and which becomes readable when the script has to go or the host is gone.
``limit``
    ``NAME:SOFT:HARD`` for ``setrlimit``, such as ``DATA:536870912:536870912``; may be repeated.
``user``
    User and group id that the script gets; the launcher keeps its own.
``grace``
    Seconds that what the script left running may go on after its end.

Reports, each a line: ``started``, then ``exit STATUS CPU`` or ``signal NUMBER CPU`` (processor seconds of the script
itself), or ``failed ERRNO`` where it could not be started.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
import time

_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_KILL_PAUSE = 0.005
"""Seconds between two rounds of killing."""

Options = dict[str, list[str]]


def main() -> None:
    """Runs the script to its end, reports how it ended, and kills what it left."""
    options = parse(sys.argv[1:])
    command, status, lifeline = (int(options[name][0]) for name in ("command", "status", "lifeline"))
    for descriptor in (command, status, lifeline):
        os.set_inheritable(descriptor, False)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    alarm = wake_on_child_end()
    os.set_blocking(status, False)
    # As the first process of a PID namespace it adopts orphans anyway, and the namespace dies with it.
    if os.getpid() == 1:
        # A script of the same user could take this process over, through /proc/1/mem; it shall gain nothing by that.
        limit(options)
    else:
        adopt_orphans()
    child, error = start(read_all(command).decode("utf-8", "surrogateescape").split("\0")[:-1], options)
    report(status, f"failed {error}" if error else "started")
    ended = Ended(child)
    alone = supervise(ended, alarm, lifeline, float(options["grace"][0]))
    if ended.line and not error:
        report(status, ended.line)
    if not alone and os.getpid() != 1:
        kill_descendants()


def parse(arguments: list[str]) -> Options:
    """The options with all values that each was given."""
    options: Options = {}
    for argument in arguments:
        name, _, value = argument.removeprefix("--").partition("=")
        options.setdefault(name, []).append(value)
    return options


def read_all(descriptor: int) -> bytes:
    """Everything up to the end of a file."""
    with open(descriptor, "rb", closefd=True) as file:
        return file.read()


def report(descriptor: int, line: str) -> None:
    """Tells the host, unless it is gone or a script has filled the pipe."""
    try:
        os.write(descriptor, line.encode() + b"\n")
    except (BrokenPipeError, BlockingIOError):
        return


def wake_on_child_end() -> int:
    """A descriptor that becomes readable whenever a child ended."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, note)
    return reading


def note(_number: int, _frame: object) -> None:
    """Handles a signal of which only the wake-up counts."""


def adopt_orphans() -> None:
    """Makes what a script detaches (``setsid``, double fork) this process's children, where it can be killed."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    # Without new privileges nothing below can change its user, so that this process may kill all of it.
    for option in (_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS):
        if libc.prctl(option, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), f"prctl {option}")


def start(argv: list[str], options: Options) -> tuple[int, int]:
    """Starts the script in a child; its process id, and the error number if that failed, else 0."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, int(read_all(reading) or b"0")
    try:
        # Python ignores these two, and a program inherits what is ignored.
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.umask(0o022)
        limit(options)
        for user in map(int, options.get("user", [])):
            become(user)
        os.execv(argv[0], argv)  # noqa: S606 - without a shell is the point
    except OSError as error:
        os.write(writing, str(error.errno).encode())
    finally:
        os._exit(127)


def limit(options: Options) -> None:
    """Gives up, for good, what the script is not to use."""
    for entry in options.get("limit", []):
        name, soft, hard = entry.split(":")
        kind = getattr(resource, f"RLIMIT_{name}")
        ceiling = resource.getrlimit(kind)[1]
        most = int(hard) if ceiling == resource.RLIM_INFINITY else min(int(hard), ceiling)
        resource.setrlimit(kind, (min(int(soft), most), most))


def become(user: int) -> None:
    """Changes to another user and its group, for good."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


class Ended:
    """How the script's own process ended, once it did.

    Args:
        pid: Its process id.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.line = ""

    def reap(self) -> bool:
        """Takes note of every child that ended; whether none is left."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return True
            if pid == 0:
                return False
            if pid == self.pid:
                cpu = usage.ru_utime + usage.ru_stime
                code = os.waitstatus_to_exitcode(status)
                self.line = f"exit {code} {cpu:.3f}" if code >= 0 else f"signal {-code} {cpu:.3f}"


def supervise(ended: Ended, alarm: int, lifeline: int, grace: float) -> bool:
    """Waits for the script's end and a little longer for what it left; whether nothing of it is left."""
    poll = select.poll()
    poll.register(alarm, select.POLLIN)
    poll.register(lifeline, select.POLLIN)
    deadline: float | None = None
    while True:
        if ended.reap():
            return True
        if ended.line and deadline is None:
            deadline = time.monotonic() + grace
        left = None if deadline is None else (deadline - time.monotonic()) * 1000
        if left is not None and left <= 0:
            return False
        ready = [descriptor for descriptor, _ in poll.poll(left)]
        if lifeline in ready:
            return False
        if alarm in ready:
            os.read(alarm, 4096)


def kill_descendants() -> None:
    """Kills every descendant, reaps it, and returns when none is left."""
    frozen: set[int] = set()
    # Frozen first: whoever is killed makes room for a fork bomb's next process, whoever is stopped does not.
    while fresh := descendants() - frozen:
        send(signal.SIGSTOP, fresh)
        frozen |= fresh
    left = Ended(0)
    while not left.reap():
        send(signal.SIGKILL, descendants())
        time.sleep(_KILL_PAUSE)


def send(number: signal.Signals, pids: set[int]) -> None:
    """Sends a signal to those that are still there."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def descendants() -> set[int]:
    """Process ids of all children, their children, and so on."""
    children: dict[int, list[int]] = {}
    with os.scandir("/proc") as entries:
        names = [entry.name for entry in entries]
    for name in names:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - pathlib costs start-up time
                    stat = file.read()
            except (FileNotFoundError, ProcessLookupError):
                continue
            # The name of the program, in parentheses, may hold anything; the parent's id is two fields after it.
            parent = int(stat[stat.rindex(b")") + 2 :].split()[1])
            children.setdefault(parent, []).append(int(name))
    found: set[int] = set()
    waiting = [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found.update(below)
        waiting.extend(below)
    return found


if __name__ == "__main__":
    main()
