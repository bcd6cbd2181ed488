"""What an agent holds while it is open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self
from weakref import WeakValueDictionary

from assembler.agent.config import AgentConfig
from assembler.agent.running import Running
from assembler.agent.snapshot import Snapshot
from assembler.agent.steps import Steps
from assembler.models.base import ModelClient
from assembler.scope import Scope
from assembler.sessions.base import SessionBackend, SessionStore
from assembler.skills.skill import Source
from assembler.tools.base import Tool


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
        renewing: Held while a snapshot is taken.
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
    ) -> None:
        self.config = config
        self.scope = scope
        self.source = source
        self.tools = tools
        self.client = client
        self.store = store
        self.steps = Steps()
        self.loop = asyncio.get_running_loop()
        self.runs: set[Running] = set()
        self.snapshot: Snapshot | None = None
        self.renewing = asyncio.Lock()
        self.is_closing = False
        # Only while a run holds or awaits one: names come and go.
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @property
    def why_cancelled(self) -> str:
        """What a run is told that is cancelled now."""
        return "the agent was closed" if self.is_closing else "the run was cancelled"

    @classmethod
    async def of(cls, config: AgentConfig, base: Path, sessions: SessionBackend) -> Self:
        """Opens what a declaration names.

        Args:
            config: The declaration.
            base: Folder against which relative paths resolve.
            sessions: Where conversations are kept.

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
        try:
            await asyncio.gather(*(run.end() for run in self.runs))
        finally:
            try:
                if self.snapshot is not None:
                    await self.snapshot.abandon()
            finally:
                await self.scope.aclose()
