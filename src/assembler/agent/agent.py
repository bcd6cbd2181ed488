"""The agent: declared, then opened, then run."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

from assembler.agent.calls import Caller
from assembler.agent.config import AgentConfig
from assembler.agent.gate import Gate, OwnGate
from assembler.agent.loop import Run, close_open_calls
from assembler.agent.opened import Opened
from assembler.agent.snapshot import Snapshot, Texts, take
from assembler.approval.requests import Approver
from assembler.errors import AssemblerError, Diagnostic, problem
from assembler.events import Emit, Event, Result, diagnostic_event
from assembler.items import Item, user_message
from assembler.runners.base import UNCONFINED
from assembler.scrubbing import scrubbed_diagnostic, scrubbed_error, scrubbed_errors, scrubbed_json
from assembler.sessions.base import Conversation, SessionBackend, checked_name
from assembler.skills.skill import RunContext, SourceContext
from assembler.values import clean_text
from assembler.waiting import wait_through

_LOG = logging.getLogger(__name__)


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
                opened = await Opened.of(config, self._base, self._sessions or config.session, self._renewed)
                try:
                    opened.snapshot = await self._current(opened)
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
        return await self._in_use().renewal.done()

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
        return await self._start(text, files, session, approver, _ignore)

    async def stream(
        self,
        text: str = "",
        *,
        files: Sequence[str | Path] = (),
        session: str | None = None,
        approver: Approver | None = None,
    ) -> AsyncGenerator[Event]:
        """The same as ``run``, as events; the last is ``result``. Closing the iterator cancels the run."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        # In a task of its own, so that a slow consumer never holds the run up.
        task = self._start(text, files, session, approver, queue.put_nowait)
        task.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                yield event
            await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def cancel(self) -> int:
        """Ends the runs that go on, as cancelled; each tells its result, and ends as a cancelled task does.

        Returns:
            How many there were.
        """
        runs = list(self._opened.runs) if self._opened is not None else []
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
    ) -> asyncio.Task[Result]:
        """Begins a run in a task that closing the agent ends."""
        opened = self._in_use()
        work = self._work(opened, text, files, session, approver, _numbered(emit))
        task = asyncio.create_task(work)
        opened.runs.add(task)
        task.add_done_callback(opened.runs.discard)
        return task

    async def _work(
        self,
        opened: Opened,
        text: str,
        files: Sequence[str | Path],
        session: str | None,
        approver: Approver | None,
        emit: Emit,
    ) -> Result:
        handed = _handed(files)
        if not text.strip() and not handed:
            raise problem("run/no-input", "there is nothing to answer", hint="give a text, or files")
        async with opened.turn_of(checked_name(session) if session is not None else None):
            snapshot = await self.snapshot()
            with scrubbed_errors():
                stored = await opened.store.load(session) if session is not None else Conversation()
            snapshot.read_ahead()
            self._tell(emit)
            said: list[Item] = close_open_calls(stored.items, "not run: the user said something else instead")
            said.append(user_message(clean_text(_said(text, handed))))
            names = [clean_text(name) for name, _ in handed]
            context = RunContext(opened.scope, opened.config.runner, handed, self._services)
            caller = Caller(snapshot, opened.steps, context, approver, emit)
            run = Run(snapshot, opened.client, caller, opened.steps, stored.items, said, names, emit)
            try:
                result = await run.execute()
            except asyncio.CancelledError:
                # Shielded: the conversation is kept, and its end told, whatever else is cancelled meanwhile.
                keeping = asyncio.ensure_future(self._end_cancelled(opened, run, session, stored, snapshot, emit))
                result = await wait_through(keeping)
                if opened.is_closing:
                    return result
                raise
            failure = await wait_through(asyncio.ensure_future(self._keep(opened, run, session, stored, snapshot)))
            if failure is not None:
                first = failure.diagnostics[0].message
                result = replace(result, status="failed", reason=first, diagnostics=failure.diagnostics)
            self._tell(emit)
            emit(result.to_event())
            return result

    async def _end_cancelled(
        self, opened: Opened, run: Run, session: str | None, stored: Conversation, snapshot: Snapshot, emit: Emit
    ) -> Result:
        result = await run.result("cancelled", "the agent was closed" if opened.is_closing else "the run was cancelled")
        failure = await self._keep(opened, run, session, stored, snapshot)
        for diagnostic in failure.diagnostics if failure is not None else ():
            _LOG.warning("a cancelled run was not kept: %s", diagnostic)
            emit(diagnostic_event(diagnostic))
        emit(result.to_event())
        return result

    async def _keep(
        self, opened: Opened, run: Run, session: str | None, stored: Conversation, snapshot: Snapshot
    ) -> AssemblerError | None:
        """Stores what a run added to its session; what went wrong, so that the answer is not lost with it.

        All of it at once, when the run has ended: whenever the process is killed, the conversation is one that a
        provider accepts, with the whole run or without it.
        """
        if session is None:
            return None
        try:
            # What the user says is the one thing that nobody has scrubbed on its way here.
            added = scrubbed_json(run.added)
            await opened.store.append(
                session,
                added,
                expected=stored.version,
                digest=await snapshot.digest(),
                declaration=snapshot.declaration,
            )
        except AssemblerError as error:
            return scrubbed_error(error)
        except Exception as error:  # noqa: BLE001  a store is foreign code, and the answer is there already
            return problem("session/not-kept", f"session `{session}` could not be kept: {type(error).__name__}")
        return None

    async def _renewed(self, opened: Opened) -> Snapshot:
        await asyncio.to_thread(self._gate.check)
        with scrubbed_errors():
            opened.snapshot = await self._current(opened)
        return opened.snapshot

    async def _current(self, opened: Opened) -> Snapshot:
        texts = Texts.read(opened.config, self._base)
        skills = await opened.source.list_skills(SourceContext(base=self._base, report=self._report))
        last = opened.snapshot
        if last is not None and await asyncio.to_thread(last.is_current, skills, texts):
            return last
        fresh = take(opened.config, texts, skills, opened.tools, self._report)
        if any(skill.needs_runner for skill in skills):
            await self._confine(opened.config)
        return fresh

    async def _confine(self, config: AgentConfig) -> None:
        """Finds out, before anything runs, what will confine scripts; refuses where nothing can and it must."""
        overrides = [override.runner for override in config.scripts.values()]
        for runner in {id(runner): runner for runner in (config.runner, *overrides)}.values():
            confinement = await runner.confinement()
            if confinement.name == UNCONFINED:
                message = f"scripts run without isolation, with your rights: {confinement.why}"
                hint = "`runner=sandbox runner.isolation=require` isolates them or refuses"
                self._report(Diagnostic("runner/unconfined", message, "warning", hint=hint))

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


def _handed(files: Sequence[str | Path]) -> list[tuple[str, Path]]:
    """The files of a run by the names under which scripts find them.

    Raises:
        AssemblerError: One diagnostic for each that is not a readable file, or whose name another one has.
    """
    handed: dict[str, Path] = {}
    problems: list[Diagnostic] = []
    for file in files:
        path = Path(file).absolute()
        if not _is_readable(path):
            problems.append(Diagnostic("run/no-such-file", f"`{file}` is not a file that can be read"))
        elif path.name in handed:
            message = f"`{file}` and `{handed[path.name]}` have the same name"
            problems.append(Diagnostic("run/same-name", message, hint="rename one"))
        else:
            handed[path.name] = path
    if problems:
        raise AssemblerError(*problems)
    return list(handed.items())


def _is_readable(path: Path) -> bool:
    """Whether it is a file that can be opened; a name that no file can have is not."""
    try:
        with path.open("rb"):
            return path.is_file()
    except (OSError, ValueError):
        return False


def _said(text: str, files: Sequence[tuple[str, Path]]) -> str:
    """What the model reads of the input; names of files are foreign, and quoted where they could be misread."""
    if not files:
        return text
    names = (name if name.isprintable() and "]" not in name else ascii(name) for name, _ in files)
    return f"{text}\n\n[files: {', '.join(f'inputs/{name}' for name in names)}]".lstrip()
