"""Sessions that last as long as the open agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import ClassVar

from assembler.items import Item
from assembler.scope import Scope
from assembler.sessions.base import (
    Conversation,
    SessionBackend,
    SessionStore,
    SessionSummary,
    conflict,
    read,
    written,
)
from assembler.values import JSON


class Memory(SessionBackend, kind="memory"):
    """Keeps conversations in memory while the agent is open, and forgets them then."""

    is_lasting: ClassVar[bool] = False

    def open(self, scope: Scope, base: Path) -> SessionStore:
        """An empty store."""
        return _MemoryStore()


@dataclass(slots=True)
class _Kept:
    """A conversation; its items as text, which takes half the space and cannot be changed by whoever read it."""

    created: datetime
    updated: datetime
    version: int = 0
    items: list[str] = field(default_factory=list[str])
    digests: tuple[str, ...] = ()


class _MemoryStore(SessionStore):
    def __init__(self) -> None:
        self._sessions: dict[str, _Kept] = {}
        self._agents: dict[str, Mapping[str, JSON]] = {}
        self._versions = count(1)

    async def load(self, name: str) -> Conversation:
        kept = self._sessions.get(name)
        if kept is None:
            return Conversation()
        return Conversation(tuple(map(read, kept.items)), kept.version, kept.digests)

    async def append(
        self, name: str, items: Sequence[Item], *, expected: int, digest: str, declaration: Mapping[str, JSON]
    ) -> int:
        texts = [*map(written, items)]
        now = datetime.now(UTC)
        kept = self._sessions.get(name) or _Kept(now, now)
        if kept.version != expected:
            raise conflict(name)
        kept.items += texts
        kept.version, kept.updated = next(self._versions), now
        kept.digests = tuple(dict.fromkeys((*kept.digests, digest)))
        self._sessions[name] = kept
        self._agents.setdefault(digest, declaration)
        return kept.version

    async def summaries(self) -> Sequence[SessionSummary]:
        found = sorted(self._sessions.items(), key=lambda each: -each[1].version)
        return [SessionSummary(name, len(kept.items), kept.created, kept.updated) for name, kept in found]

    async def agents(self, name: str) -> Mapping[str, Mapping[str, JSON]]:
        kept = self._sessions.get(name)
        return {digest: self._agents[digest] for digest in kept.digests} if kept is not None else {}

    async def delete(self, name: str) -> bool:
        found = self._sessions.pop(name, None) is not None
        spoke = {digest for kept in self._sessions.values() for digest in kept.digests}
        self._agents = {digest: known for digest, known in self._agents.items() if digest in spoke}
        return found
