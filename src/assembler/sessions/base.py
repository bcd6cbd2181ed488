"""What a session is: a stored conversation that a later run continues."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from assembler.components import Component
from assembler.items import Item
from assembler.scope import Scope


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation as it was stored.

    Attributes:
        items: Its items, the oldest first.
        version: How often it was written; a write names the version that it read, so that no update is lost.
        digests: Digests of the agents that spoke, in the order of their first turn.
    """

    items: Sequence[Item] = ()
    version: int = 0
    digests: tuple[str, ...] = ()


class SessionStore(ABC):
    """Open storage of conversations."""

    @abstractmethod
    async def load(self, name: str) -> Conversation:
        """The conversation of that name; an empty one if there is none."""

    @abstractmethod
    async def append(self, name: str, items: Sequence[Item], *, expected: int, digest: str) -> Conversation:
        """Adds items to a conversation.

        Args:
            name: The conversation.
            items: What came since it was read.
            expected: The version that was read.
            digest: Digest of the agent that spoke.

        Raises:
            AssemblerError: Somebody else wrote in between (``session/conflict``).
        """


class SessionBackend(Component, room="session"):
    """Where conversations are kept."""

    @abstractmethod
    def open(self, scope: Scope) -> SessionStore:
        """The store, for as long as the scope lasts."""
