"""What an open agent is now: the last snapshot, or a new one where anything changed since."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from assembler.agent.config import AgentConfig
from assembler.agent.snapshot import Snapshot, Texts, take
from assembler.errors import Diagnostic
from assembler.runners.base import UNCONFINED
from assembler.scrubbing import scrubbed_errors
from assembler.skills.skill import Report, Source, SourceContext
from assembler.tools.base import Tool
from assembler.waiting import Joint


class Current:
    """The snapshot of an open agent.

    Args:
        config: The declaration, with the Python objects that it names.
        base: Folder against which relative paths resolve.
        source: The skills, through their decorators.
        tools: Tools of the toolsets.
        check: Looks whether what the declaration asks for is still agreed to; blocks.
        report: Takes what is odd.
    """

    def __init__(
        self,
        config: AgentConfig,
        base: Path,
        source: Source,
        tools: Sequence[Tool],
        check: Callable[[], None],
        report: Report,
    ) -> None:
        self._config = config
        self._base = base
        self._source = source
        self._tools = tools
        self._check = check
        self._report = report
        self._last: Snapshot | None = None
        self._renewal = Joint(self._renewed)

    async def take(self) -> None:
        """Takes the first snapshot.

        Raises:
            AssemblerError: Something of the declaration is not there, or nothing can isolate its scripts
                (``runner/no-isolation``).
        """
        self._last = await self._taken()

    async def snapshot(self) -> Snapshot:
        """The last snapshot, or a new one; found out once for all who ask meanwhile.

        Raises:
            AssemblerError: As ``take``; also where nobody agreed to what the declaration asks for now.
        """
        return await self._renewal.done()

    async def aclose(self) -> None:
        """Stops what nobody waits for any more."""
        await self._renewal.aclose()
        if self._last is not None:
            await self._last.abandon()

    async def _renewed(self) -> Snapshot:
        await asyncio.to_thread(self._check)
        with scrubbed_errors():
            self._last = await self._taken()
        return self._last

    async def _taken(self) -> Snapshot:
        texts = Texts.read(self._config, self._base)
        skills = await self._source.list_skills(SourceContext(base=self._base, report=self._report))
        last = self._last
        if last is not None and await asyncio.to_thread(last.is_current, skills, texts):
            return last
        fresh = take(self._config, texts, skills, self._tools, self._report)
        if any(skill.needs_runner for skill in skills):
            await self._confine()
        return fresh

    async def _confine(self) -> None:
        """Finds out, before anything runs, what will confine scripts; refuses where nothing can and it must."""
        overrides = [override.runner for override in self._config.scripts.values()]
        for runner in {id(runner): runner for runner in (self._config.runner, *overrides)}.values():
            confinement = await runner.confinement()
            if confinement.name == UNCONFINED:
                message = f"scripts run without isolation, with your rights: {confinement.why}"
                hint = "`runner=sandbox runner.isolation=require` isolates them or refuses"
                self._report(Diagnostic("runner/unconfined", message, "warning", hint=hint))
