"""From what the model sends under a strict schema to what the original schema means, and back.

A decoder is decided by the schema, never by looking at the value: text that happens to be JSON stays text, unless the
schema that was sent says that JSON text travels there. What has the wrong shape passes unchanged, since the original
schema judges it afterwards and knows better what to say.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal

from assembler.schemas.json_text import NotJson, parse_json
from assembler.values import JSON


class Nothing(Enum):
    """No value: not even null."""

    STANDS_FOR_ABSENCE = 0


NOTHING: Final = Nothing.STANDS_FOR_ABSENCE
Placeholder = JSON | Literal[Nothing.STANDS_FOR_ABSENCE]
"""The value that stands for a member's absence, if one does."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One value that cannot be decoded.

    Attributes:
        path: Names and indices that lead to it.
        message: What was expected there; holds nothing of the value.
        hint: What to send instead, or empty.
        found: What was found, which may hold secrets, or empty.
    """

    path: tuple[str | int, ...]
    message: str
    hint: str = ""
    found: str = ""

    def under(self, step: str | int) -> Fault:
        """The same fault, seen from one level further out."""
        return Fault((step, *self.path), self.message, self.hint, self.found)


class Malformed(Exception):
    """Values that cannot be decoded."""

    def __init__(self, *faults: Fault) -> None:
        super().__init__(faults)
        self.faults = faults


class NotEncodable(Exception):
    """Names that a strict object has no place for."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(names)
        self.names = names


class Decoder(ABC):
    """One way in which values travel."""

    __slots__ = ()

    @abstractmethod
    def decode(self, value: JSON, from_model: bool) -> JSON:
        """What a value means.

        Args:
            value: What was sent.
            from_model: Whether the model wrote it, under the schema as sent. Python writes values as the original
                schema has them, and only its None for something optional means absent.

        Raises:
            Malformed: It cannot be decoded.
        """

    @abstractmethod
    def encode(self, value: JSON) -> JSON:
        """How a value that fits the original schema travels.

        Raises:
            NotEncodable: It has members that the strict schema excludes.
        """


class AsItIs(Decoder):
    """A value that travels as it is."""

    __slots__ = ()

    def decode(self, value: JSON, from_model: bool) -> JSON:
        """The value itself."""
        return value

    def encode(self, value: JSON) -> JSON:
        """The value itself."""
        return value


AS_IT_IS: Final = AsItIs()


class JsonText(Decoder):
    """A value of any shape, which travels as JSON text. Models that send it bare are understood."""

    __slots__ = ()

    def decode(self, value: JSON, from_model: bool) -> JSON:
        """What the model's text says; once, whatever it says."""
        if not from_model or not isinstance(value, str):
            return value
        try:
            return parse_json(value)
        except NotJson as error:
            place = f" at {error.place}" if error.place else ""
            message = f"is not valid JSON: expected {error.expected}{place}"
            fault = Fault((), message, _advice(value.lstrip()), error.found)
            raise Malformed(fault) from None

    def encode(self, value: JSON) -> JSON:
        """The value as text."""
        return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _advice(text: str) -> str:
    if not text:
        return "use null for none"
    if text[0] in "[{":
        return 'send the text of one JSON value, such as {"name": 1}'
    return 'text is JSON too, in double quotes: "\\"text\\""'


JSON_TEXT: Final = JsonText()


class Reference(Decoder):
    """A definition that was still being compiled when something inside it referred to it."""

    __slots__ = ("target",)

    def __init__(self) -> None:
        self.target: Decoder = AS_IT_IS

    def decode(self, value: JSON, from_model: bool) -> JSON:
        """What the definition makes of it."""
        return self.target.decode(value, from_model)

    def encode(self, value: JSON) -> JSON:
        """What the definition makes of it."""
        return self.target.encode(value)


class Items(Decoder):
    """A list whose items do not travel as they are."""

    __slots__ = ("_item",)

    def __init__(self, item: Decoder) -> None:
        self._item = item

    def decode(self, value: JSON, from_model: bool) -> JSON:
        """Each item decoded."""
        if not isinstance(value, list):
            return value
        decoded: list[JSON] = []
        faults: list[Fault] = []
        for index, item in enumerate(value):
            try:
                decoded.append(self._item.decode(item, from_model))
            except Malformed as error:
                faults.extend(fault.under(index) for fault in error.faults)
        if faults:
            raise Malformed(*faults)
        return decoded

    def encode(self, value: JSON) -> JSON:
        """Each item encoded."""
        return [self._item.encode(item) for item in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Member:
    """A declared property.

    Attributes:
        decoder: How its value travels.
        absent: The value that stands for its absence.
    """

    decoder: Decoder
    absent: Placeholder = NOTHING


class Members(Decoder):
    """An object with declared properties.

    Args:
        members: The declared properties, in the order in which they are sent.
        rest: Name of the property in which undeclared ones travel together, as the JSON text of an object.
        filled: Whether absent members are written out, as strict modes want it.
    """

    __slots__ = ("_filled", "members", "rest")

    def __init__(self, members: Mapping[str, Member], *, rest: str | None = None, filled: bool = True) -> None:
        self.members = members
        self.rest = rest
        self._filled = filled

    def decode(self, value: JSON, from_model: bool) -> JSON:
        """The members that are there, each decoded, in the order in which they were sent."""
        if not isinstance(value, dict):
            return value
        decoded: dict[str, JSON] = {}
        faults: list[Fault] = []
        for name, part in value.items():
            member = self.members.get(name)
            try:
                if member is None:
                    # What is not declared passes: whether it may be there is for the original schema to say.
                    decoded |= self._undeclared(name, part, value, from_model)
                elif not _is_absent(part, member.absent, from_model):
                    decoded[name] = member.decoder.decode(part, from_model)
            except Malformed as error:
                faults.extend(fault.under(name) for fault in error.faults)
        if faults:
            raise Malformed(*faults)
        return decoded

    def _undeclared(self, name: str, part: JSON, whole: dict[str, JSON], from_model: bool) -> dict[str, JSON]:
        if not from_model or name != self.rest:
            return {name: part}
        if part is None:
            return {}
        rest = JSON_TEXT.decode(part, from_model)
        if not isinstance(rest, dict):
            raise Malformed(Fault((), "must be the JSON text of an object, or null"))
        repeated = sorted(rest.keys() & (self.members.keys() | (whole.keys() - {name})))
        if repeated:
            names = ", ".join(f"`{each}`" for each in repeated)
            raise Malformed(Fault((), f"repeats {names}, which stands beside it"))
        return rest

    def encode(self, value: JSON) -> JSON:
        """The members in the order of the schema, each encoded, absent ones filled in."""
        if not isinstance(value, dict):
            return value
        encoded: dict[str, JSON] = {}
        for name, member in self.members.items():
            if name in value:
                encoded[name] = member.decoder.encode(value[name])
            elif self._filled and not isinstance(member.absent, Nothing):
                encoded[name] = member.absent
        rest = {name: part for name, part in value.items() if name not in self.members}
        if self.rest is not None:
            encoded[self.rest] = JSON_TEXT.encode(rest) if rest else None
        elif rest and self._filled:
            raise NotEncodable(sorted(rest))
        else:
            encoded |= rest
        return encoded


def _is_absent(part: JSON, absent: Placeholder, from_model: bool) -> bool:
    if part is None:
        return absent is None
    # 0 equals False, hence the types. A placeholder other than null is the model's, not Python's.
    return from_model and type(part) is type(absent) and part == absent
