"""The runner that confines what it runs, or does not run it."""

from __future__ import annotations

from typing import Literal

from assembler.errors import AssemblerError, problem
from assembler.runners.base import UNCONFINED, Confinement, ScriptJob, ScriptResult
from assembler.runners.plain import run_unconfined
from assembler.runners.prober import MACHINE, Found, Prober
from assembler.runners.scripts import FileRunner


class Sandbox(FileRunner, kind="sandbox"):
    """Runs scripts in a sandbox: they read their interpreter and skill, write a temporary folder, and reach nothing.

    Needs bubblewrap, the system's or the one of the extra `sandbox`, and a kernel that lets it create namespaces.
    """

    isolation: Literal["require", "prefer"] = "require"
    """What to do where nothing can confine a script: refuse to run it, or run it unconfined and say so."""

    @property
    def unconfined_by(self) -> str:
        """`isolation`, where it is only preferred."""
        return "isolation" if self.isolation == "prefer" else ""

    def prober(self) -> Prober:
        """What finds out how scripts can be confined; one for the whole machine, unless a subclass brings its own."""
        return MACHINE

    async def confinement(self) -> Confinement:
        """What will confine a script, found out once a process by really trying it.

        Raises:
            AssemblerError: Nothing can, and the configuration requires it (``runner/no-isolation``).
        """
        found = await self._found()
        if found.backend is not None:
            return Confinement(found.backend.name)
        return Confinement(UNCONFINED, "; ".join(found.failures))

    async def run(self, job: ScriptJob) -> ScriptResult:
        """Runs a script to its end, kills whatever it left behind, and returns what it printed.

        Raises:
            AssemblerError: As `FileRunner.plan`; or nothing confines scripts here (``runner/no-isolation``), it could
                not be started (``runner/start-failed``), or an input cannot be read (``runner/bad-input``).
        """
        plan = self.plan(job)
        found = await self._found()
        return await (run_unconfined(plan) if found.backend is None else found.backend.run(plan))

    async def _found(self) -> Found:
        found = await self.prober().find()
        if found.backend is None and self.isolation == "require":
            raise _no_isolation(found.failures)
        return found


def _no_isolation(failures: tuple[str, ...]) -> AssemblerError:
    tried = "; ".join(failures) or "there is nothing to try"
    return problem(
        "runner/no-isolation",
        f"no script was run, since nothing on this machine confines it: {tried}",
        hint="install bubblewrap or the extra `assembler[sandbox]`, and allow user namespaces; or run scripts with "
        "your own rights: `runner=subprocess`, or `runner.isolation=prefer` to do so only where there is no isolation",
    )
