"""The items of an answer while they grow: text, reasoning and calls, with the events that tell of each piece."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from itertools import count

from assembler.events import Event
from assembler.items import Item, function_call
from assembler.values import JSON

EXTRA = "extra_content"
"""The key of what Gemini's models want to see again with each of their calls, their signature above all:
https://ai.google.dev/gemini-api/docs/thought-signatures#openai."""


class Said:
    """What a model says, and what it refuses to say: one message."""

    def __init__(self) -> None:
        self._parts: dict[str, list[str]] = {}

    def add(self, part: str, text: str) -> Iterator[Event]:
        """Adds a piece to a part of it, `output_text` or `refusal`."""
        if not self._parts:
            yield {"type": "response.output_item.added", "item": {**self.item(), "status": "in_progress"}}
        self._parts.setdefault(part, []).append(text)
        index = [*self._parts].index(part)
        yield {"type": f"response.{part}.delta", "content_index": index, "delta": text}

    def end(self) -> Iterator[Event]:
        """Tells that it is whole."""
        yield {"type": "response.output_item.done", "item": self.item()}

    def item(self) -> Item:
        """The message, as far as it has come."""
        content: list[JSON] = []
        for part, pieces in self._parts.items():
            text = "".join(pieces)
            said: Item = {"refusal": text} if part == "refusal" else {"text": text, "annotations": []}
            content.append({"type": part, **said})
        return {"type": "message", "role": "assistant", "status": "completed", "content": content}


class Reasoning:
    """What a model thinks: no part of its answer."""

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def add(self, part: str, text: str) -> Iterator[Event]:
        """Adds a piece to it."""
        if not self._pieces:
            yield {"type": "response.output_item.added", "item": self.item()}
        self._pieces.append(text)
        yield {"type": f"response.{part}.delta", "content_index": 0, "delta": text}

    def end(self) -> Iterator[Event]:
        """Tells that it is whole."""
        yield {"type": "response.output_item.done", "item": self.item()}

    def item(self) -> Item:
        """The reasoning, as far as it has come."""
        text: JSON = {"type": "reasoning_text", "text": "".join(self._pieces)}
        return {"type": "reasoning", "summary": [], "content": [text] if self._pieces else []}


class Call:
    """A call of a tool.

    Args:
        tools: Names of the tools on offer.
        used: Ids of the calls that the conversation has already.
        made: The id that it gets if the server gives it none of its own.

    Attributes:
        given_id: The id that the server gave it; empty if none.
        extra: What the server wants to see again with it; None for nothing.
    """

    def __init__(self, tools: Collection[str], used: Collection[str], made: str) -> None:
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
            yield {"type": "response.function_call_arguments.delta", "delta": arguments}

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
        """Tells that it is whole."""
        yield from self._begin()
        item = self.item()
        yield {"type": "response.function_call_arguments.done", "arguments": item["arguments"]}
        yield {"type": "response.output_item.done", "item": item}

    def item(self) -> Item:
        """The call, as far as it has come. Servers that call a tool without arguments may send no text at all."""
        call_id = self._told[0] if self._told else self._id()
        arguments = "".join(self._arguments)
        call = function_call(call_id, self._name(), arguments if arguments.strip() else "{}")
        return call if self.extra is None else {**call, EXTRA: self.extra}

    def _begin(self) -> Iterator[Event]:
        if self._told is None:
            self._told = (self._id(), self._name())
            item = function_call(*self._told, "")
            yield {"type": "response.output_item.added", "item": {**item, "status": "in_progress"}}

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


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
