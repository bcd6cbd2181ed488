"""Sessions that last as long as the open agent."""

from __future__ import annotations

from collections.abc import Sequence

from assembler.errors import problem
from assembler.items import Item
from assembler.scope import Scope
from assembler.sessions.base import Conversation, SessionBackend, SessionStore


class Memory(SessionBackend, kind="memory"):
    """Keeps conversations in memory while the agent is open, and forgets them then."""

    def open(self, scope: Scope) -> SessionStore:
        """An empty store."""
        return _MemoryStore()


class _MemoryStore(SessionStore):
    def __init__(self) -> None:
        self._conversations: dict[str, Conversation] = {}

    async def load(self, name: str) -> Conversation:
        return self._conversations.get(name, Conversation())

    async def append(self, name: str, items: Sequence[Item], *, expected: int, digest: str) -> Conversation:
        before = await self.load(name)
        if before.version != expected:
            raise problem(
                "session/conflict",
                f"session `{name}` was continued by another run meanwhile",
                hint="run again, so that the answer knows what was said",
            )
        digests = before.digests if digest in before.digests else (*before.digests, digest)
        after = Conversation((*before.items, *items), before.version + 1, digests)
        self._conversations[name] = after
        return after
