"""What a runner is: it runs one script file of a skill and says what came of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from assembler.components import Component, Config
from assembler.quantities import Duration, Size
from assembler.values import JSON

Stopped = Literal["timeout", "cpu", "output", "signal"]


class ScriptLimits(Config):
    """What one run of a script may use."""

    timeout: Duration = timedelta(seconds=30)
    """Time on the clock."""
    cpu: Duration = timedelta(seconds=20)
    """Processor time of each process."""
    memory: Size = 512 * 1024**2
    """Private memory of each process."""
    processes: Annotated[int, Field(ge=1)] = 64
    """Processes and threads at once."""
    output: Size = 64 * 1024
    """What is kept of standard output, and of standard error; the rest is counted and told."""
    output_hard: Size = 16 * 1024**2
    """Printing more than this ends the script."""
    file: Size = 64 * 1024**2
    """Size of a single file that it writes."""
    scratch: Size = 256 * 1024**2
    """Size of everything that it writes to its temporary folder."""


@dataclass(frozen=True, slots=True)
class ScriptJob:
    """One run of a script.

    Attributes:
        skill_dir: Private copy of the skill's hashed files; nobody writes to it.
        script: Path of the script from the skill's root, in POSIX form.
        arguments: The decoded JSON value that the model sent; None for none.
        files: Files handed to the run, by the name under which the script finds them in ``inputs/``.
    """

    skill_dir: Path
    script: str
    arguments: JSON = None
    files: Sequence[tuple[str, Path]] = ()


@dataclass(frozen=True, slots=True)
class ScriptResult:
    """What came of a run.

    Attributes:
        exit_code: Exit status; None if a limit or a signal ended it.
        stdout: What was kept of standard output, as UTF-8 with replacement characters.
        stderr: The same of standard error.
        stdout_bytes: How many bytes it printed in all.
        stderr_bytes: The same of standard error.
        seconds: Time on the clock.
        isolation: What confined it, such as ``bubblewrap+seccomp``; ``none`` where nothing did.
        stopped: What ended it early, or None.
        reason: A sentence for the model on what ended it early; empty where it ended by itself.
    """

    exit_code: int | None
    stdout: str
    stderr: str
    stdout_bytes: int
    stderr_bytes: int
    seconds: float
    isolation: str
    stopped: Stopped | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Confinement:
    """What confines the scripts of a runner.

    Attributes:
        name: Such as ``bubblewrap+seccomp``; ``none`` where nothing does.
        why: Why nothing does: what was tried and how it failed, or that it was asked for. Empty where something does.
    """

    name: str
    why: str = ""


UNCONFINED = "none"
"""Name of the confinement that is none."""


class Runner(Component, room="runner"):
    """Runs the script files of skills."""

    limits: ScriptLimits = ScriptLimits()
    """What one run may use."""

    @property
    def unconfined_by(self) -> str:
        """The option that lets scripts run with nothing that confines them; empty where none does."""
        return ""

    @abstractmethod
    async def confinement(self) -> Confinement:
        """What will confine a script, found out once a process by really trying it.

        Raises:
            AssemblerError: Nothing can, and the configuration requires it (``runner/no-isolation``).
        """

    @abstractmethod
    def check(self, script: str) -> None:
        """Says before any run whether a script's file type has an interpreter here.

        Raises:
            AssemblerError: ``runner/no-interpreter``.
        """

    @abstractmethod
    async def run(self, job: ScriptJob) -> ScriptResult:
        """Runs a script to its end, kills whatever it left behind, and returns what it printed.

        Cancelling the task that waits kills the script's whole process tree before the cancellation goes on.

        Raises:
            AssemblerError: It was not run: no isolation (``runner/no-isolation``), no interpreter
                (``runner/no-interpreter``), or arguments that cannot be mapped (``script/bad-arguments``).
        """
