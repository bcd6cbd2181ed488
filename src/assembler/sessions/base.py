"""What a session is: a stored conversation that a later run continues."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, cast
from unicodedata import category

from assembler.components import Component
from assembler.errors import AssemblerError, problem
from assembler.items import Item
from assembler.scope import Scope
from assembler.values import JSON

MAX_NAME = 200
"""Most characters of a session's name."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation as it was stored.

    Attributes:
        items: Its items, the oldest first.
        version: Names its last change, 0 where there is none; a write says which one it read, so that no update is
            lost. A version never comes back, also after a conversation was deleted.
        digests: Digests of the agents that spoke, in the order of their first turn.
    """

    items: Sequence[Item] = ()
    version: int = 0
    digests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A stored conversation in a list.

    Attributes:
        name: Its name.
        length: How many items it has.
        created: When it began, in UTC.
        updated: When it was last added to, in UTC.
    """

    name: str
    length: int
    created: datetime
    updated: datetime


class SessionStore(ABC):
    """Open storage of conversations."""

    @abstractmethod
    async def load(self, name: str) -> Conversation:
        """The conversation of that name; an empty one if there is none. Its items are the caller's own.

        Raises:
            AssemblerError: The store cannot be used.
        """

    @abstractmethod
    async def append(
        self, name: str, items: Sequence[Item], *, expected: int, digest: str, declaration: Mapping[str, JSON]
    ) -> int:
        """Adds items to a conversation: all of them or, whatever happens meanwhile, none.

        Args:
            name: The conversation.
            items: What came since it was read.
            expected: The version that was read.
            digest: Digest of the agent that spoke.
            declaration: Its resolved declaration, which is kept once for each digest.

        Returns:
            The new version.

        Raises:
            AssemblerError: Somebody else wrote in between (``session/conflict``), or the store cannot be used.
        """

    @abstractmethod
    async def summaries(self) -> Sequence[SessionSummary]:
        """The stored conversations, the last that was added to first.

        Raises:
            AssemblerError: The store cannot be used.
        """

    @abstractmethod
    async def agents(self, name: str) -> Mapping[str, Mapping[str, JSON]]:
        """Resolved declarations of the agents that spoke in a conversation, by their digests.

        Raises:
            AssemblerError: The store cannot be used.
        """

    @abstractmethod
    async def delete(self, name: str) -> bool:
        """Forgets a conversation; whether there was one.

        Raises:
            AssemblerError: The store cannot be used.
        """


class SessionBackend(Component, room="session"):
    """Where conversations are kept."""

    is_lasting: ClassVar[bool] = True
    """Whether they are still there when an agent is opened the next time."""

    @abstractmethod
    def open(self, scope: Scope, base: Path) -> SessionStore:
        """The store, for as long as the scope lasts.

        Args:
            scope: Closes what the store needs.
            base: The project's folder, against which relative paths resolve.
        """


def checked_name(name: str) -> str:
    """A session's name, if it is one: 1 to 200 characters, and no control character among them.

    Raises:
        AssemblerError: It is none (``session/bad-name``).
    """
    given = cast("object", name)
    if not isinstance(given, str):
        raise problem("session/bad-name", f"the name of a session is a text, not {type(given).__name__}")
    if not 1 <= len(name) <= MAX_NAME:
        raise problem("session/bad-name", f"the name of a session has 1 to {MAX_NAME} characters, not {len(name)}")
    # A lone surrogate is what is left of bytes that are no text.
    wrong = [character for character in name if category(character) in {"Cc", "Cs"}]
    if wrong:
        message = f"the name of a session has no control characters, such as {wrong[0]!a}"
        raise problem("session/bad-name", message, hint="choose a name that can be typed")
    return name


def conflict(name: str) -> AssemblerError:
    """What is told to whoever wrote after somebody else."""
    message = f"session `{name}` was continued or deleted by another run meanwhile: it holds nothing of this one"
    return problem("session/conflict", message, hint="run again, so that the answer knows what was said")


def written(item: Item) -> str:
    """An item as it is stored."""
    return json.dumps(item, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def read(text: object) -> Item:
    """An item that was stored.

    Raises:
        ValueError: It is not what was written.
    """
    item: Any = json.loads(text) if isinstance(text, str) else None
    if not isinstance(item, dict):
        raise ValueError("not an object")  # noqa: TRY004  (one kind of error for whatever is wrong)
    known = cast("Item", item)
    kind = known.get("type")
    if not isinstance(kind, str) or (kind.startswith("function_call") and not isinstance(known.get("call_id"), str)):
        raise ValueError("not an item")
    return known
