"""The items of an answer while they grow: text, reasoning and calls, with the events that tell of each piece."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from itertools import count

from assembler.events import Event
from assembler.items import Item, function_call
from assembler.values import JSON

EXTRA = "extra_content"
"""The key of what Gemini's models want to see again with each of their calls, their signature above all:
https://ai.google.dev/gemini-api/docs/thought-signatures#openai."""


class Growing(ABC):
    """An item of an answer.

    Args:
        item_id: Its id, by which its events name it.
        index: Its place in the answer.
    """

    def __init__(self, item_id: str, index: int) -> None:
        self.item_id = item_id
        self.place: dict[str, JSON] = {"item_id": item_id, "output_index": index}

    @abstractmethod
    def end(self) -> Iterator[Event]:
        """Tells that it is whole."""

    @abstractmethod
    def item(self) -> Item:
        """The item, as far as it has come."""

    def told(self, kind: str, item: Item) -> Event:
        """The event in which it stands itself."""
        return {"type": f"response.output_item.{kind}", "output_index": self.place["output_index"], "item": item}


class Spoken(Growing):
    """An item of texts, each of them a part that comes piece by piece."""

    def __init__(self, item_id: str, index: int) -> None:
        super().__init__(item_id, index)
        self._parts: dict[str, list[str]] = {}

    @abstractmethod
    def begun(self) -> Item:
        """The item of which nothing has come."""

    def add(self, kind: str, text: str) -> Iterator[Event]:
        """Adds a piece to a part of it.

        Args:
            kind: The type of the part: `output_text`, `refusal` or `reasoning_text`.
            text: The piece.
        """
        if not self._parts:
            yield self.told("added", self.begun())
        if kind not in self._parts:
            self._parts[kind] = []
            yield {"type": "response.content_part.added", **self._place_of(kind), "part": _part(kind, "")}
        self._parts[kind].append(text)
        yield {"type": f"response.{kind}.delta", **self._place_of(kind), "delta": text, **_measured(kind)}

    def end(self) -> Iterator[Event]:
        """Tells that each of its parts is whole, and it too."""
        for kind, pieces in self._parts.items():
            text, place = "".join(pieces), self._place_of(kind)
            said = "refusal" if kind == "refusal" else "text"
            yield {"type": f"response.{kind}.done", **place, said: text, **_measured(kind)}
            yield {"type": "response.content_part.done", **place, "part": _part(kind, text)}
        yield self.told("done", self.item())

    def parts(self) -> list[JSON]:
        """Its parts, as far as they have come."""
        return [_part(kind, "".join(pieces)) for kind, pieces in self._parts.items()]

    def _place_of(self, kind: str) -> dict[str, JSON]:
        return {**self.place, "content_index": [*self._parts].index(kind)}


class Said(Spoken):
    """What a model says, and what it refuses to say: one message."""

    def begun(self) -> Item:
        """The message of which nothing has come."""
        return {**self.item(), "status": "in_progress"}

    def item(self) -> Item:
        """The message, as far as it has come."""
        return {
            "id": self.item_id,
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": self.parts(),
        }


class Reasoning(Spoken):
    """What a model thinks: no part of its answer."""

    def begun(self) -> Item:
        """The reasoning of which nothing has come."""
        return self.item()

    def item(self) -> Item:
        """The reasoning, as far as it has come."""
        return {"id": self.item_id, "type": "reasoning", "summary": [], "content": self.parts()}


class Call(Growing):
    """A call of a tool.

    Args:
        item_id: Its id as an item.
        index: Its place in the answer.
        tools: Names of the tools on offer.
        used: Ids of the calls that the conversation has already.
        made: The id that it gets if the server gives it none of its own.

    Attributes:
        given_id: The id that the server gave it; empty if none.
        extra: What the server wants to see again with it; None for nothing.
    """

    def __init__(self, item_id: str, index: int, tools: Collection[str], used: Collection[str], made: str) -> None:
        super().__init__(item_id, index)
        self.given_id = ""
        self.extra: JSON = None
        self._tools = tools
        self._used = used
        self._made = made
        self._names: list[str] = []
        self._arguments: list[str] = []
        self._told: tuple[str, str] | None = None
        """Id and name as they were told."""

    def add(self, call_id: str, name: str, arguments: str) -> Iterator[Event]:
        """Adds a piece to it; its id and name are told once its arguments begin."""
        self.given_id = self.given_id or call_id
        self._names += [name] if name else []
        if arguments:
            yield from self._begin()
            self._arguments.append(arguments)
            yield {"type": "response.function_call_arguments.delta", **self.place, "delta": arguments}

    def goes_on(self, name: str) -> bool:
        """Whether a piece that does not say which call it belongs to can be one of this, the last that began.

        Args:
            name: The name in the piece; empty if it has none.
        """
        if not name:
            return True
        is_named = self._name() in self._tools and name != self._name()
        return not is_named and not _is_object("".join(self._arguments))

    def end(self) -> Iterator[Event]:
        """Tells that its arguments are whole, and it too."""
        yield from self._begin()
        item = self.item()
        yield {"type": "response.function_call_arguments.done", **self.place, "arguments": item["arguments"]}
        yield self.told("done", item)

    def item(self) -> Item:
        """The call, as far as it has come."""
        call_id = self._told[0] if self._told else self._id()
        # Servers that call a tool without arguments may send no text at all.
        arguments = "".join(self._arguments)
        call = self._call(call_id, self._name(), arguments if arguments.strip() else "{}")
        return call if self.extra is None else {**call, EXTRA: self.extra}

    def _begin(self) -> Iterator[Event]:
        if self._told is None:
            self._told = (self._id(), self._name())
            yield self.told("added", {**self._call(*self._told, ""), "status": "in_progress"})

    def _call(self, call_id: str, name: str, arguments: str) -> Item:
        return {"id": self.item_id, **function_call(call_id, name, arguments)}

    def _id(self) -> str:
        """The server's id; another one where an earlier answer had the same, as some servers begin anew each time."""
        return self._made if not self.given_id or self.given_id in self._used else self.given_id

    def _name(self) -> str:
        """The name, which comes whole, in pieces, or whole with each piece of the arguments."""
        joined = "".join(self._names)
        return self._names[0] if joined not in self._tools and len({*self._names}) == 1 else joined


def made_id(taken: Collection[str]) -> str:
    """An id for a call that has none: new in its conversation, and in the form that the strictest servers ask for.

    Args:
        taken: Ids of the conversation's calls, of this answer too.
    """
    # Mistral's servers take nine letters and digits and nothing else.
    return next(made for number in count(1) if (made := f"made{number:05}") not in taken)


def _part(kind: str, text: str) -> JSON:
    if kind == "refusal":
        return {"type": kind, "refusal": text}
    return {"type": kind, "text": text, **({"annotations": []} if kind == "output_text" else {})}


def _measured(kind: str) -> dict[str, JSON]:
    """What events of a text tell of its tokens' probabilities: nothing, for they are not asked for."""
    return {"logprobs": []} if kind == "output_text" else {}


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
