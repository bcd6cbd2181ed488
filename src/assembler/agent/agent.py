"""The agent: declared, then opened, then run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

from assembler.agent.calls import Caller
from assembler.agent.config import AgentConfig
from assembler.agent.loop import Run, close_open_calls
from assembler.agent.snapshot import Snapshot, take
from assembler.agent.steps import Steps
from assembler.approval.requests import Approver
from assembler.errors import AssemblerError, Diagnostic, problem
from assembler.events import Emit, Event, Result, diagnostic_event
from assembler.items import Item, user_message
from assembler.models.base import ModelClient
from assembler.scope import Scope
from assembler.sessions.base import Conversation, SessionStore
from assembler.skills.skill import RunContext, Source, SourceContext
from assembler.tools.base import Tool


class Agent:
    """A declared agent; ``async with`` opens it.

    Args:
        config: What it is.
        base: Folder against which its relative paths resolve; the working directory by default.
        services: Objects for callables of skills and tools, by name.
        diagnostics: What was odd in the declaration; told once, in the first run.
    """

    def __init__(
        self,
        config: AgentConfig,
        *,
        base: Path | None = None,
        services: Mapping[str, object] | None = None,
        diagnostics: Sequence[Diagnostic] = (),
    ) -> None:
        self.config = config
        self._base = base or Path.cwd()
        self._services = dict(services or {})
        self._untold = list(diagnostics)
        self._told: set[Diagnostic] = set()
        self._open: _Open | None = None

    @property
    def name(self) -> str:
        """Its declared name."""
        return self.config.name

    async def __aenter__(self) -> Self:
        """Opens the agent: lists skills, connects toolsets, compiles tools.

        Raises:
            AssemblerError: Something that it declares is not there, or nothing can isolate its scripts
                (``runner/no-isolation``).
        """
        if self._open is not None:
            raise problem("agent/open-already", "this agent is open already", hint="one `async with` at a time")
        scope = Scope()
        try:
            opened = _Open(
                scope=scope,
                source=self.config.skills.open(),
                tools=[tool for name, set_ in self.config.tools.items() for tool in await set_.tools(name, scope)],
                client=self.config.model.open(scope),
                store=self.config.session.open(scope),
            )
            self._open = opened
            await self.snapshot()
        except BaseException:
            self._open = None
            await scope.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes everything that it opened."""
        opened, self._open = self._open, None
        if opened is not None:
            if opened.snapshot is not None:
                opened.snapshot.abandon()
            await opened.scope.aclose()

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """What there is to say that no run has said yet."""
        return tuple(self._untold)

    async def snapshot(self) -> Snapshot:
        """What the agent is now: the last snapshot, or a new one if a source changed."""
        opened = self._opened()
        async with opened.renewing:
            context = SourceContext(base=self._base, report=self._report)
            skills = await opened.source.list_skills(context)
            current = opened.snapshot
            if current is not None and current.offers_same(skills) and not await current.is_stale():
                return current
            fresh = take(self.config, self._base, skills, opened.tools, self._report)
            if any(skill.has_scripts for skill in skills):
                await self._confine(fresh)
            opened.snapshot = fresh
            return fresh

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
            session: Name of a conversation to continue; None starts a new one that is not kept.
            approver: Who is asked about calls that need an answer; without one such a run ends pending.

        Raises:
            AssemblerError: The input is unusable, or the agent is not open.
        """
        return await self._work(text, files, session, approver, _ignore)

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

        async def work() -> None:
            try:
                await self._work(text, files, session, approver, queue.put_nowait)
            finally:
                queue.put_nowait(None)

        # In a task of its own, so that a slow consumer never holds the run up.
        task = asyncio.create_task(work())
        try:
            while (event := await queue.get()) is not None:
                yield event
            await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def conversation(self, session: str) -> Conversation:
        """What is stored under a session's name; empty if nothing is."""
        return await self._opened().store.load(session)

    def run_sync(self, text: str = "", *, files: Sequence[str | Path] = (), approver: Approver | None = None) -> Result:
        """Opens the agent, runs it once and closes it, for programs without an event loop.

        Raises:
            AssemblerError: As ``run``; also when called where an event loop runs (``agent/loop-running``).
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self._run_once(text, files, approver))
        raise problem("agent/loop-running", "run_sync would block the running event loop", hint="await agent.run(...)")

    async def _run_once(self, text: str, files: Sequence[str | Path], approver: Approver | None) -> Result:
        async with self:
            return await self.run(text, files=files, approver=approver)

    async def _work(
        self, text: str, files: Sequence[str | Path], session: str | None, approver: Approver | None, emit: Emit
    ) -> Result:
        opened = self._opened()
        handed = _handed(files)
        if not text.strip() and not handed:
            raise problem("run/no-input", "there is nothing to answer", hint="give a text, or files")
        tell = _numbered(emit)
        snapshot = await self.snapshot()
        snapshot.read_ahead()
        for diagnostic in self._tell():
            tell(diagnostic_event(diagnostic))
        stored = await opened.store.load(session) if session is not None else Conversation()
        added: list[Item] = close_open_calls(stored.items, "not run: the user said something else instead")
        added.append(user_message(_said(text, handed)))
        context = RunContext(opened.scope, self.config.runner, handed, self._services)
        caller = Caller(snapshot, opened.steps, context, approver, tell)
        names = [name for name, _ in handed]
        run = Run(snapshot, opened.client, caller, opened.steps, stored.items, added, tell, names)
        try:
            result = await run.execute()
        finally:
            if session is not None:
                digest = await snapshot.digest()
                await asyncio.shield(opened.store.append(session, run.added, expected=stored.version, digest=digest))
        tell(result.to_event())
        return result

    async def _confine(self, snapshot: Snapshot) -> None:
        """Finds out, before anything runs, what will confine scripts; refuses where nothing can and it must."""
        runners = {
            id(runner): runner for runner in (self.config.runner, *(o.runner for o in self.config.scripts.values()))
        }
        for runner in runners.values():
            confinement = await runner.confinement()
            if confinement.name == "none" and confinement.why:
                self._report(
                    Diagnostic(
                        "runner/unconfined",
                        f"scripts run without isolation, with your rights: {confinement.why}",
                        "warning",
                        hint="`runner=sandbox runner.isolation=require` isolates them or refuses",
                    )
                )

    def _opened(self) -> _Open:
        if self._open is None:
            raise problem("agent/not-open", "this agent is not open", hint="async with agent: ...")
        return self._open

    def _report(self, diagnostic: Diagnostic) -> None:
        """Keeps what there is to say, each thing once."""
        if diagnostic not in self._told:
            self._told.add(diagnostic)
            self._untold.append(diagnostic)

    def _tell(self) -> Sequence[Diagnostic]:
        told, self._untold = self._untold, []
        return told


class _Open:
    """What an agent holds while it is open."""

    def __init__(
        self, *, scope: Scope, source: Source, tools: Sequence[Tool], client: ModelClient, store: SessionStore
    ) -> None:
        self.scope = scope
        self.source = source
        self.tools = tools
        self.client = client
        self.store = store
        self.steps = Steps()
        self.snapshot: Snapshot | None = None
        self.renewing = asyncio.Lock()


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
        if not path.is_file() or not os.access(path, os.R_OK):
            problems.append(Diagnostic("run/no-such-file", f"`{file}` is not a file that can be read"))
        elif path.name in handed:
            problems.append(
                Diagnostic("run/same-name", f"`{file}` and `{handed[path.name]}` have the same name", hint="rename one")
            )
        else:
            handed[path.name] = path
    if problems:
        raise AssemblerError(*problems)
    return list(handed.items())


def _said(text: str, files: Sequence[tuple[str, Path]]) -> str:
    """What the model reads of the input."""
    if not files:
        return text
    listed = ", ".join(f"inputs/{name}" for name, _ in files)
    return f"{text}\n\n[files: {listed}]".lstrip()
