"""What an agent holds while it is open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Self
from weakref import WeakValueDictionary

from assembler.agent.config import AgentConfig
from assembler.agent.current import Current
from assembler.agent.running import Running
from assembler.agent.steps import Steps
from assembler.models.base import ModelClient
from assembler.scope import Scope
from assembler.sessions.base import SessionBackend, SessionStore
from assembler.skills.skill import Report


class Opened:
    """Clients, connections and stores, in a scope that closes them; the runs that go on; what the agent is now.

    Attributes:
        config: The declaration, with the Python objects that it names.
        scope: Closes everything.
        client: The model.
        store: The sessions.
        steps: The door to model and tools.
        loop: The event loop that all of it belongs to.
        runs: Runs that go on.
        current: The snapshot.
        is_closing: Whether runs end because the agent is being closed.
    """

    def __init__(
        self,
        *,
        config: AgentConfig,
        scope: Scope,
        client: ModelClient,
        store: SessionStore,
        current: Current,
    ) -> None:
        self.config = config
        self.scope = scope
        self.client = client
        self.store = store
        self.steps = Steps()
        self.loop = asyncio.get_running_loop()
        self.runs: set[Running] = set()
        self.current = current
        self.is_closing = False
        # Only while a run holds or awaits one: names come and go.
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @property
    def why_cancelled(self) -> str:
        """What a run is told that is cancelled now."""
        return "the agent was closed" if self.is_closing else "the run was cancelled"

    @classmethod
    async def of(
        cls, config: AgentConfig, base: Path, sessions: SessionBackend, check: Callable[[], None], report: Report
    ) -> Self:
        """Opens what a declaration names.

        Args:
            config: The declaration.
            base: Folder against which relative paths resolve.
            sessions: Where conversations are kept.
            check: Looks, before each run, whether what is declared is still agreed to.
            report: Takes what is odd.

        Raises:
            AssemblerError: Something is not there; what was opened is closed again.
        """
        scope = Scope()
        try:
            tools = [tool for name, toolset in config.tools.items() for tool in await toolset.tools(name, scope)]
            return cls(
                config=config,
                scope=scope,
                client=config.model.open(scope),
                store=sessions.open(scope, base),
                current=Current(config, base, config.skills.open(), tools, check, report),
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
        async with AsyncExitStack() as closing:
            # Each of these happens even where whoever closes is cancelled meanwhile.
            closing.push_async_callback(self.scope.aclose)
            closing.push_async_callback(self.current.aclose)
            await asyncio.gather(*(run.end() for run in self.runs))
