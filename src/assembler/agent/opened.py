"""What an agent holds while it is open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self
from weakref import WeakValueDictionary

from assembler.agent.config import AgentConfig
from assembler.agent.snapshot import Snapshot
from assembler.agent.steps import Steps
from assembler.events import Result
from assembler.models.base import ModelClient
from assembler.scope import Scope
from assembler.sessions.base import SessionBackend, SessionStore
from assembler.skills.skill import Source
from assembler.tools.base import Tool
from assembler.waiting import Joint

Renew = Callable[["Opened"], Awaitable[Snapshot]]
"""Brings the snapshot of an open agent up to date."""


class Opened:
    """Clients, connections and stores, in a scope that closes them; the runs that go on; the last snapshot.

    Attributes:
        config: The declaration, with the Python objects that it names.
        scope: Closes everything.
        source: The skills, through their decorators.
        tools: Tools of the toolsets.
        client: The model.
        store: The sessions.
        steps: The door to model and tools.
        loop: The event loop that all of it belongs to.
        runs: Runs that go on.
        snapshot: The last one.
        renewal: Takes a new snapshot if anything changed, once for all runs that ask meanwhile.
        is_closing: Whether runs end because the agent is being closed.
    """

    def __init__(
        self,
        *,
        config: AgentConfig,
        scope: Scope,
        source: Source,
        tools: Sequence[Tool],
        client: ModelClient,
        store: SessionStore,
        renew: Renew,
    ) -> None:
        self.config = config
        self.scope = scope
        self.source = source
        self.tools = tools
        self.client = client
        self.store = store
        self.steps = Steps()
        self.loop = asyncio.get_running_loop()
        self.runs: set[asyncio.Task[Result]] = set()
        self.snapshot: Snapshot | None = None
        self.renewal = Joint(lambda: renew(self))
        self.is_closing = False
        # Only while a run holds or awaits one: names come and go.
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @classmethod
    async def of(cls, config: AgentConfig, base: Path, sessions: SessionBackend, renew: Renew) -> Self:
        """Opens what a declaration names.

        Args:
            config: The declaration.
            base: Folder against which relative paths resolve.
            sessions: Where conversations are kept.
            renew: Brings the snapshot up to date.

        Raises:
            AssemblerError: Something is not there; what was opened is closed again.
        """
        scope = Scope()
        try:
            return cls(
                config=config,
                scope=scope,
                source=config.skills.open(),
                tools=[tool for name, toolset in config.tools.items() for tool in await toolset.tools(name, scope)],
                client=config.model.open(scope),
                store=sessions.open(scope, base),
                renew=renew,
            )
        except BaseException:
            await scope.aclose()
            raise

    @asynccontextmanager
    async def turn_of(self, session: str | None) -> AsyncGenerator[None]:
        """Waits until no other run of the session goes on, so that each knows what the one before it said."""
        if session is None:
            yield
            return
        async with self._turns.setdefault(session, asyncio.Lock()):
            yield

    async def close(self) -> None:
        """Ends what goes on, and closes everything."""
        self.is_closing = True
        for run in self.runs:
            run.cancel()
        await asyncio.gather(*self.runs, return_exceptions=True)
        await self.renewal.aclose()
        if self.snapshot is not None:
            await self.snapshot.abandon()
        await self.scope.aclose()
