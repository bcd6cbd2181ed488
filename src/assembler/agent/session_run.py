"""A run in the conversation that it continues."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

from assembler.agent.loop import Run
from assembler.agent.opened import Opened
from assembler.agent.snapshot import Snapshot
from assembler.errors import AssemblerError, problem
from assembler.events import Emit, Result, diagnostic_event
from assembler.scrubbing import scrubbed_error, scrubbed_json
from assembler.waiting import wait_through

_LOG = logging.getLogger(__name__)


class SessionRun:
    """Runs, keeps what was said and done, and tells the end, whatever is cancelled meanwhile.

    Args:
        run: The run.
        opened: The agent that it is a run of.
        snapshot: What the agent was when it began.
        session: Name of the conversation; None for one that is not kept.
        version: The version of the conversation that was read.
        tell: Tells, before the end, what there is to say.
        emit: Where events go.
    """

    def __init__(
        self,
        run: Run,
        opened: Opened,
        snapshot: Snapshot,
        session: str | None,
        version: int,
        tell: Callable[[], None],
        emit: Emit,
    ) -> None:
        self._run = run
        self._opened = opened
        self._snapshot = snapshot
        self._session = session
        self._version = version
        self._tell = tell
        self._emit = emit

    async def execute(self) -> Result:
        """What came of it.

        Raises:
            asyncio.CancelledError: It was cancelled, and not because the agent is being closed.
        """
        result, cancelled = None, None
        try:
            result = await self._run.execute()
        except asyncio.CancelledError as error:
            cancelled = error
        ending = asyncio.ensure_future(self._end(result))
        try:
            await wait_through(ending)
        except asyncio.CancelledError as error:
            cancelled = error
        if cancelled is not None and not self._opened.is_closing:
            raise cancelled
        return ending.result()

    async def _end(self, result: Result | None) -> Result:
        """Keeps and tells what came of the run; without a result it was cancelled."""
        ended = result or await self._run.result("cancelled", self._opened.why_cancelled)
        failure = await self._keep()
        if failure is not None and result is None:
            for diagnostic in failure.diagnostics:
                _LOG.warning("a cancelled run was not kept: %s", diagnostic)
                self._emit(diagnostic_event(diagnostic))
        elif failure is not None:
            first = failure.diagnostics[0].message
            ended = replace(ended, status="failed", reason=first, diagnostics=failure.diagnostics)
        self._tell()
        self._emit(ended.to_event())
        return ended

    async def _keep(self) -> AssemblerError | None:
        """Stores what the run added to its session; what went wrong, so that the answer is not lost with it.

        All of it at once, when the run has ended: whenever the process is killed, the conversation is one that a
        provider accepts, with the whole run or without it.
        """
        if self._session is None:
            return None
        try:
            await self._opened.store.append(
                self._session,
                # What the user says is the one thing that nobody has scrubbed on its way here.
                scrubbed_json(self._run.added),
                expected=self._version,
                digest=await self._snapshot.digest(),
                declaration=self._snapshot.declaration,
            )
        except AssemblerError as error:
            return scrubbed_error(error)
        except Exception as error:  # noqa: BLE001  a store is foreign code, and the answer is there already
            return problem("session/not-kept", f"session `{self._session}` could not be kept: {type(error).__name__}")
        return None
