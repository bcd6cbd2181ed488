"""The runner without isolation: a script runs with the rights of whoever started the agent."""

from __future__ import annotations

from pathlib import Path

from assembler.runners.base import UNCONFINED, Confinement, ScriptJob, ScriptResult
from assembler.runners.interpreters import own_python
from assembler.runners.process import LAUNCHER, Command, resources, run_process
from assembler.runners.scripts import FileRunner, ScriptPlan
from assembler.runners.staging import copy_inputs, copy_skill, run_folder, stage


class Subprocess(FileRunner, kind="subprocess"):
    """Runs scripts as plain subprocesses: with your rights, your files and your network.

    They still get a clean environment, a private copy of their skill, limits on time, processor time, memory, file size
    and output, and are killed with everything that they started. Limits on `processes` and on `scratch` as a whole need
    isolation; a script that sets out to do harm needs it, too, since it may kill what watches over it.
    """

    @property
    def unconfined_by(self) -> str:
        """Its kind."""
        return "kind"

    async def confinement(self) -> Confinement:
        """Nothing, by choice."""
        return Confinement(UNCONFINED, "`runner=subprocess` asks for no isolation")

    async def run(self, job: ScriptJob) -> ScriptResult:
        """Runs a script to its end, kills whatever it left behind, and returns what it printed.

        Raises:
            AssemblerError: As `FileRunner.plan`, or it could not be started (``runner/start-failed``).
        """
        return await run_unconfined(self.plan(job))


async def run_unconfined(plan: ScriptPlan) -> ScriptResult:
    """Runs a script in a private folder, with nothing between it and the machine.

    Args:
        plan: What to run.

    Raises:
        AssemblerError: It could not be started (``runner/start-failed``), or an input cannot be read
            (``runner/bad-input``).
    """
    async with run_folder() as folder:
        await stage(lambda: _stage(plan, folder))
        skill, scratch, python = folder / "skill", folder / "scratch", own_python()
        env = plan.environment(
            skill=str(skill),
            scratch=str(scratch),
            home=str(folder / "home"),
            tmp=str(folder / "tmp"),
            programs=str(folder / "bin"),
        )
        command = Command(
            argv=plan.argv(str(skill), str(folder / "arguments.json")),
            env=env,
            limits=plan.limits,
            python=str(python.program),
            launcher=str(LAUNCHER),
            resources=resources(plan.limits),
            stdin=plan.given.stdin,
            cwd=skill if plan.cwd == "skill" else scratch,
        )
        return await run_process(command, UNCONFINED)


def _stage(plan: ScriptPlan, folder: Path) -> None:
    for name in ("scratch", "home", "tmp", "bin"):
        (folder / name).mkdir()
    for name in ("python", "python3"):
        (folder / "bin" / name).symlink_to(own_python().program)
    copy_skill(plan.job.skill_dir, folder / "skill")
    if plan.job.files:
        copy_inputs(plan.job.files, folder / "scratch" / "inputs")
    if plan.given.file is not None:
        (folder / "arguments.json").write_bytes(plan.given.file)
