"""How a script ended: what the launcher reported, and what that means for whoever called it."""

from __future__ import annotations

import os
import re
import signal
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from assembler.errors import AssemblerError, problem
from assembler.runners.base import ScriptLimits, Stopped

_REPORT = re.compile(r"(exit|signal|failed) (\d{1,3})(?: (\d{1,9}\.\d{3}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a script ended.

    Attributes:
        exit_code: Its exit status, if it ended by itself.
        stopped: What ended it early, or None.
        reason: The same as a sentence.
    """

    exit_code: int | None = None
    stopped: Stopped | None = None
    reason: str = ""


def stopped(why: Literal["timeout", "output"], limits: ScriptLimits) -> Ending:
    """The ending of a script that the host stopped."""
    if why == "timeout":
        return Ending(stopped=why, reason=f"stopped after {_seconds(limits.timeout)} (`limits.timeout`)")
    return Ending(stopped=why, reason=f"printed more than {limits.output_hard} bytes (`limits.output_hard`)")


def reported(report: str, limits: ScriptLimits) -> Ending | None:
    """The ending that the launcher reported; None where it never came to start the script.

    Args:
        report: What it wrote, as ``launcher.py`` describes.
        limits: What the script was allowed.

    Raises:
        AssemblerError: The script's interpreter cannot be executed (``runner/start-failed``).
    """
    lines = report.splitlines()
    if not lines:
        return None
    # A script that shares the launcher's user can write there, too, if only about itself.
    found = _REPORT.fullmatch(lines[-1])
    if found is None:
        return Ending(stopped="signal", reason="killed together with the process that watched over it")
    how, number, cpu = found[1], int(found[2]), float(found[3] or 0)
    if how == "failed":
        raise start_failed(os.strerror(number))
    if how == "exit":
        return Ending(exit_code=number)
    return _by_signal(number, cpu, limits)


def start_failed(reason: str) -> AssemblerError:
    """The error of a script that could not be started."""
    return problem(
        "runner/start-failed",
        f"the script could not be started: {reason}",
        hint="look whether its interpreter works here: `runner.interpreters`",
    )


def _by_signal(number: int, cpu: float, limits: ScriptLimits) -> Ending:
    # A script may ignore SIGXCPU; a second later the kernel kills it.
    if number == signal.SIGXCPU or (number == signal.SIGKILL and cpu >= limits.cpu.total_seconds()):
        return Ending(stopped="cpu", reason=f"used {_seconds(limits.cpu)} of processor time (`limits.cpu`)")
    if number == signal.SIGXFSZ:
        return Ending(stopped="signal", reason=f"wrote a file of more than {limits.file} bytes (`limits.file`)")
    names = {each.value: each.name for each in signal.Signals}
    return Ending(stopped="signal", reason=f"ended by {names.get(number, f'signal {number}')}")


def _seconds(duration: timedelta) -> str:
    return f"{duration.total_seconds():g} s"
