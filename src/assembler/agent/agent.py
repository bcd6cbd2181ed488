"""The agent: declared, then opened, then run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

from assembler.agent.calls import Caller
from assembler.agent.config import AgentConfig
from assembler.agent.gate import Gate, OwnGate
from assembler.agent.handed import files_by_name, said_with
from assembler.agent.loop import Run, close_open_calls
from assembler.agent.opened import Opened
from assembler.agent.running import Running
from assembler.agent.session_run import SessionRun
from assembler.agent.snapshot import Snapshot
from assembler.approval.requests import Approver
from assembler.errors import Diagnostic, problem
from assembler.events import Emit, Event, Result, diagnostic_event
from assembler.items import Item, user_message
from assembler.scrubbing import scrubbed_diagnostic, scrubbed_errors
from assembler.sessions.base import Conversation, SessionBackend, checked_name
from assembler.skills.skill import RunContext
from assembler.values import clean_text


class Agent:
    """A declared agent; ``async with`` opens it.

    Args:
        config: What it is.
        base: Folder against which its relative paths resolve; the working directory by default.
        services: Objects for callables of skills and tools, by name.
        diagnostics: What was odd in the declaration; told once, in the first run.
        gate: Passed before anything is opened, and again by each run. Without one, what a program declares by itself
            may do everything but import the Python objects that it names.
        sessions: Where conversations are kept, instead of where the declaration says.
    """

    def __init__(
        self,
        config: AgentConfig,
        *,
        base: Path | None = None,
        services: Mapping[str, object] | None = None,
        diagnostics: Sequence[Diagnostic] = (),
        gate: Gate | None = None,
        sessions: SessionBackend | None = None,
    ) -> None:
        self.config = config
        self._gate = gate or OwnGate(config)
        self._base = base or Path.cwd()
        self._sessions = sessions
        self._services = dict(services or {})
        self._untold = list(diagnostics)
        self._told: set[Diagnostic] = set()
        self._opened: Opened | None = None
        self._is_opening = False

    @property
    def name(self) -> str:
        """Its declared name."""
        return self.config.name

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """What there is to say that no run has said yet."""
        return tuple(self._untold)

    async def __aenter__(self) -> Self:
        """Opens the agent: lists skills, connects toolsets, compiles tools.

        Raises:
            AssemblerError: Nobody agreed to what it declares (``trust/...``), something of it is not there, or nothing
                can isolate its scripts (``runner/no-isolation``).
        """
        if self._opened is not None or self._is_opening:
            raise problem("agent/open-already", "this agent is open already", hint="one `async with` at a time")
        self._is_opening = True
        try:
            # In a thread: it reads files and imports modules.
            config = await asyncio.to_thread(self._gate.admit)
            with scrubbed_errors():
                sessions = self._sessions or config.session
                opened = await Opened.of(config, self._base, sessions, self._gate.check, self._report)
                try:
                    await opened.current.take()
                except BaseException:
                    await opened.close()
                    raise
            self._opened = opened
        finally:
            self._is_opening = False
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the runs that still go on, as cancelled, and closes everything that it opened."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.close()

    async def snapshot(self) -> Snapshot:
        """What the agent is now: the last snapshot, or a new one if a source or a text changed."""
        return await self._in_use().current.snapshot()

    async def run(
        self,
        text: str = "",
        *,
        files: Sequence[str | Path] = (),
        session: str | None = None,
        approver: Approver | None = None,
    ) -> Result:
        """Runs once over an input, to its end.

        Args:
            text: What the user says; may be empty if there are files.
            files: Files that scripts find in ``inputs/``; paths relative to the working directory.
            session: Name of a conversation to continue; None starts a new one that is not kept. Runs of one session
                wait for each other.
            approver: Who is asked about calls that need an answer; without one such a run ends pending.

        Raises:
            AssemblerError: The input is unusable, or the agent is not open.
        """
        return await self._start(text, files, session, approver, _ignore).result()

    async def stream(
        self,
        text: str = "",
        *,
        files: Sequence[str | Path] = (),
        session: str | None = None,
        approver: Approver | None = None,
    ) -> AsyncGenerator[Event]:
        """The same as ``run``, as events; the last is ``result``. Closing the iterator cancels the run.

        The run goes on however slowly its events are read. Those that wait to be read stay in memory: at most all of
        this one run, which ``limits`` bound.
        """
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        run = self._start(text, files, session, approver, queue.put_nowait)
        run.task.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                yield event
            await run.result()
        finally:
            await run.end()

    def cancel(self) -> int:
        """Ends the runs that go on, as cancelled; each tells its result, and ends as a cancelled task does.

        Returns:
            How many there were.
        """
        runs = [run for run in self._opened.runs if not run.task.done()] if self._opened is not None else []
        for run in runs:
            run.cancel()
        return len(runs)

    async def conversation(self, session: str) -> Conversation:
        """What is stored under a session's name; empty if nothing is."""
        with scrubbed_errors():
            return await self._in_use().store.load(checked_name(session))

    def run_sync(
        self,
        text: str = "",
        *,
        files: Sequence[str | Path] = (),
        session: str | None = None,
        approver: Approver | None = None,
    ) -> Result:
        """Opens the agent, runs it once and closes it, for programs without an event loop.

        Raises:
            AssemblerError: As ``run``; also when called where an event loop runs (``agent/loop-running``).
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self._run_once(text, files, session, approver))
        raise problem("agent/loop-running", "run_sync would block the running event loop", hint="await agent.run(...)")

    async def _run_once(
        self, text: str, files: Sequence[str | Path], session: str | None, approver: Approver | None
    ) -> Result:
        async with self:
            return await self.run(text, files=files, session=session, approver=approver)

    def _start(
        self, text: str, files: Sequence[str | Path], session: str | None, approver: Approver | None, emit: Emit
    ) -> Running:
        """Begins a run that closing the agent ends."""
        opened = self._in_use()
        run = Running(self._work(opened, text, files, session, approver, _numbered(emit)))
        opened.runs.add(run)
        run.task.add_done_callback(lambda _: opened.runs.discard(run))
        return run

    async def _work(
        self,
        opened: Opened,
        text: str,
        files: Sequence[str | Path],
        session: str | None,
        approver: Approver | None,
        emit: Emit,
    ) -> Result:
        run: Run | None = None
        try:
            handed = await asyncio.to_thread(files_by_name, files) if files else []
            if not text.strip() and not handed:
                raise problem("run/no-input", "there is nothing to answer", hint="give a text, or files")
            async with opened.turn_of(checked_name(session) if session is not None else None):
                snapshot = await self.snapshot()
                with scrubbed_errors():
                    stored = await opened.store.load(session) if session is not None else Conversation()
                snapshot.read_ahead()
                self._tell(emit)
                said: list[Item] = close_open_calls(stored.items, "not run: the user said something else instead")
                said.append(user_message(clean_text(said_with(text, handed))))
                names = [clean_text(name) for name, _ in handed]
                context = RunContext(opened.scope, opened.config.runner, handed, self._services)
                caller = Caller(snapshot, opened.steps, context, approver, emit)
                run = Run(snapshot, opened.client, caller, opened.steps, stored.items, said, names, emit)
                tell = partial(self._tell, emit)
                return await SessionRun(run, opened, snapshot, session, stored.version, tell, emit).execute()
        except asyncio.CancelledError:
            if run is not None:
                raise
            result = Result("cancelled", "", "", reason=opened.why_cancelled)
            emit(result.to_event())
            if opened.is_closing:
                return result
            raise

    def _in_use(self) -> Opened:
        if self._opened is None:
            raise problem("agent/not-open", "this agent is not open", hint="async with agent: ...")
        if self._opened.loop is not asyncio.get_running_loop():
            raise problem(
                "agent/other-loop",
                "this agent was opened in another event loop",
                hint="open it where it is used, or call run_sync on a second one",
            )
        return self._opened

    def _report(self, diagnostic: Diagnostic) -> None:
        """Keeps what there is to say, each thing once."""
        diagnostic = scrubbed_diagnostic(diagnostic)
        if diagnostic not in self._told:
            self._told.add(diagnostic)
            self._untold.append(diagnostic)

    def _tell(self, emit: Emit) -> None:
        untold, self._untold = self._untold, []
        for diagnostic in untold:
            emit(diagnostic_event(diagnostic))


def _ignore(event: Event) -> None:
    """Where events go that nobody watches."""


def _numbered(emit: Emit) -> Emit:
    """Events with their numbers, counted from 0 within a run."""
    numbers = count()
    return lambda event: emit({**event, "sequence_number": next(numbers)})
