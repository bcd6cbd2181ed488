"""What the runners of local files have in common: their options, and what they make of a job before it runs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Protocol

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from assembler.errors import problem
from assembler.folders import repository_of
from assembler.modules import belongs_to
from assembler.powers import Power
from assembler.runners.arguments import ArgumentStyle, ScriptInput, map_arguments
from assembler.runners.base import Runner, ScriptJob, ScriptLimits, ScriptResult
from assembler.runners.interpreters import (
    DEFAULT_INTERPRETERS,
    OWN_PYTHON,
    Interpreter,
    Interpreters,
    find_interpreter,
    find_program,
)

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_OURS = {"HOME", "TMPDIR", "SKILL_DIR", "SCRATCH_DIR"}


def _checked_names(value: dict[str, str]) -> dict[str, str]:
    for name, text in value.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) or "\0" in text:
            raise PydanticCustomError("env", "`{name}` is not the name of a variable, or holds NUL", {"name": name})
        if name in _OURS:
            raise PydanticCustomError("env", "`{name}` is set by the runner", {"name": name})
    return value


@dataclass(frozen=True, slots=True)
class ScriptPlan:
    """A job that can run: everything looked up, nothing started.

    Attributes:
        job: What was asked for.
        interpreter: What runs the script.
        given: What it is started with.
        limits: What it may use.
        env: Variables that the configuration adds.
        cwd: Where it starts.
    """

    job: ScriptJob
    interpreter: Interpreter
    given: ScriptInput
    limits: ScriptLimits
    env: Mapping[str, str]
    cwd: Literal["scratch", "skill"]

    def argv(self, skill: str, arguments_file: str) -> list[str]:
        """The script's command line.

        Args:
            skill: Folder under which the script finds its skill.
            arguments_file: Path under which it finds its arguments, if it takes them from a file.
        """
        program = [str(self.interpreter.program), *self.interpreter.options, f"{skill}/{self.job.script}"]
        return [*program, *self.given.argv, *([] if self.given.file is None else [arguments_file])]

    def environment(self, *, skill: str, scratch: str, home: str, tmp: str, programs: str) -> dict[str, str]:
        """The script's whole environment: nothing of the host's own is in it.

        Args:
            skill: Folder of the skill.
            scratch: Folder that the script may write to.
            home: Its home, fresh for each run and outside of scratch.
            tmp: Its folder for temporary files.
            programs: Folder searched for programs before the system's.
        """
        return {
            "PATH": f"{programs}:{SYSTEM_PATH}",
            "LANG": "C.UTF-8",
            "PYTHONUTF8": "1",
            "PYTHONNOUSERSITE": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            **self.env,
            "HOME": home,
            "TMPDIR": tmp,
            "SKILL_DIR": skill,
            "SCRATCH_DIR": scratch,
        }


class Backend(Protocol):
    """One way to confine a script: a file of its own beside this one."""

    @property
    def name(self) -> str:
        """What it enforces by, as results and approvals show it."""
        ...

    @property
    def label(self) -> str:
        """What is tried, for whoever has to find out why it failed."""
        ...

    async def run(self, plan: ScriptPlan) -> ScriptResult:
        """Runs a script confined, or not at all.

        Raises:
            AssemblerError: It could not be started.
        """
        ...


class FileRunner(Runner):
    """Runs script files with interpreters of this machine."""

    interpreters: Interpreters = Field(default=DEFAULT_INTERPRETERS)
    """Programs by file extension, laid over the shipped ones: `{python}` for the Python that runs this, a name on
    PATH, or an absolute path; null takes an extension out."""
    arguments: ArgumentStyle = ArgumentStyle()
    """How a script gets its arguments."""
    cwd: Literal["scratch", "skill"] = "scratch"
    """Where a script starts: its temporary folder, or the skill's."""
    env: Annotated[dict[str, str], AfterValidator(_checked_names)] = {}
    """Variables that scripts get besides the runner's own, with their values; secrets have no place here."""

    def powers(self, base: Path) -> Iterable[Power]:
        """Starting other programs than the shipped interpreters, and setting variables for scripts."""
        for suffix, program in self.interpreters.items():
            found = find_program(program) if program != OWN_PYTHON else None
            path = Path(os.path.realpath(found)) if found is not None else None
            # A program finds what it runs beside itself.
            code = (path.parent,) if path is not None and belongs_to(path, repository_of(base)) else ()
            if code or DEFAULT_INTERPRETERS.get(suffix) != program:
                keys = (("interpreters", suffix),)
                yield Power("start", f"{path or program} for `{suffix}` scripts", keys, code=code)
        if self.env:
            yield Power("set", ", ".join(sorted(self.env)), (("env",),), binds=dict(self.env))

    def check(self, script: str) -> None:
        """Says before any run whether a script's file type has an interpreter here.

        Raises:
            AssemblerError: ``runner/no-interpreter``.
        """
        find_interpreter(script, self.interpreters)

    def plan(self, job: ScriptJob) -> ScriptPlan:
        """Looks up what a job needs.

        Raises:
            AssemblerError: This platform runs no scripts (``runner/unsupported``), there is no such script
                (``runner/no-script``), no interpreter (``runner/no-interpreter``), or the arguments cannot be mapped
                (``script/bad-arguments``).
        """
        if sys.platform != "linux":
            raise problem(
                "runner/unsupported",
                f"scripts cannot be run on `{sys.platform}`",
                hint="run the agent on Linux, for example in a container",
            )
        _find_script(job.skill_dir, job.script)
        interpreter = find_interpreter(job.script, self.interpreters)
        given = map_arguments(job.arguments, self.arguments)
        return ScriptPlan(job, interpreter, given, self.limits, self.env, self.cwd)


def _find_script(skill: Path, script: str) -> None:
    """Raises unless a script is a regular file inside its skill, wherever its links lead."""
    path = PurePosixPath(script)
    inside = bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\0" not in script
    if inside:
        real = (skill / path).resolve()
        inside = real.is_file() and real.is_relative_to(skill.resolve())
    if not inside:
        raise problem("runner/no-script", f"the skill has no script `{script}`", hint="use a path that the skill lists")
