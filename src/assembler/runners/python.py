"""A runner that is written in Python."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from assembler.python.parts import PythonPart
from assembler.runners.base import Confinement, Runner, ScriptJob, ScriptLimits, ScriptResult


class PythonRunner(PythonPart, Runner, kind="python"):
    """A Python object that runs scripts: a subclass of `Runner`, or an instance of one. Its limits are its own."""

    @model_validator(mode="after")
    def _has_no_limits(self) -> Self:
        if self.limits != ScriptLimits():
            message = "the limits of a runner in Python stand in its `options`, if it has them"
            raise PydanticCustomError("python/misplaced-option", message)
        return self

    @property
    def unconfined_by(self) -> str:
        """Its target: what it does is not known before it is imported."""
        return "target"

    async def confinement(self) -> Confinement:
        """What it says will confine a script.

        Raises:
            AssemblerError: Nobody loaded it (``python/not-loaded``), or as it does.
        """
        return await self._runner.confinement()

    def check(self, script: str) -> None:
        """Asks it.

        Raises:
            AssemblerError: As ``confinement``.
        """
        self._runner.check(script)

    async def run(self, job: ScriptJob) -> ScriptResult:
        """Lets it run a script.

        Raises:
            AssemblerError: As ``confinement``.
        """
        return await self._runner.run(job)

    @property
    def _runner(self) -> Runner:
        return self.loaded
