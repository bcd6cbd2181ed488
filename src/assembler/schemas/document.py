"""A JSON Schema from outside, made safe to work on: bounded, copied, its references known and inside of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeGuard, cast
from urllib.parse import unquote

from assembler.errors import AssemblerError, Diagnostic

Schema = dict[str, Any]
"""A schema that is an object; the other two are true and false."""

MAX_NODES = 50_000
"""Objects, lists and values of a schema; providers take 5,000 properties at most."""
MAX_DEPTH = 100
"""Levels of nesting of a schema's JSON. The validator gives up at 255."""
MAX_CHARACTERS = 2_000_000
"""Characters of a schema's keys and texts together."""

_MAX_SHOWN_POINTER = 200
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS = ("$anchor", "$dynamicAnchor")


def is_schema(value: object) -> TypeGuard[Schema]:
    """Whether a part of a schema document is an object, as all subschemas but true and false are."""
    return isinstance(value, dict)


class SchemaRefused(AssemblerError):
    """A schema that cannot be used; the diagnostics say where in it and why."""


def refusal(code: str, pointer: str, reason: str, *, hint: str = "") -> SchemaRefused:
    """A refusal with a single reason.

    Args:
        code: The diagnostic's code.
        pointer: Where in the schema, as a JSON pointer with a leading ``#``.
        reason: A clause that goes on from the place.
        hint: What to do about it.
    """
    return SchemaRefused(Diagnostic(code, f"the schema at `{shown_pointer(pointer)}` {reason}", hint=hint))


def shown_pointer(pointer: str) -> str:
    """A pointer short enough for a message."""
    return pointer if len(pointer) <= _MAX_SHOWN_POINTER else pointer[:_MAX_SHOWN_POINTER] + "…"


def token(name: str) -> str:
    """A name as one token of a JSON pointer (RFC 6901 §3)."""
    return name.replace("~", "~0").replace("/", "~1")


Place = Literal["same", "items", "property", "names", "definition"]
"""What a subschema is about: the same value, its items, one property, all other properties or names, or nothing yet."""


class Child(NamedTuple):
    """A subschema and where it stands in its parent."""

    place: Place
    path: str
    schema: Any


_SINGLE: Mapping[str, Place] = {
    **dict.fromkeys(("not", "if", "then", "else"), "same"),
    **dict.fromkeys(("items", "additionalItems", "contains", "unevaluatedItems"), "items"),
    **dict.fromkeys(("additionalProperties", "unevaluatedProperties", "propertyNames"), "names"),
}
_LISTS: Mapping[str, Place] = {
    "allOf": "same",
    "anyOf": "same",
    "oneOf": "same",
    "prefixItems": "items",
    "items": "items",
}
_MAPS: Mapping[str, Place] = {
    "properties": "property",
    "patternProperties": "names",
    "dependentSchemas": "same",
    "dependencies": "same",
    "$defs": "definition",
    "definitions": "definition",
}


def children(schema: Schema) -> Iterator[Child]:
    """The direct subschemas, found by position: a property called `anyOf` is a property, an `enum` holds only data."""
    for keyword, value in schema.items():
        if is_schema(value) and keyword in _MAPS:
            for name, part in value.items():
                # The values of `dependencies` are subschemas or lists of names.
                if not isinstance(part, list):
                    yield Child(_MAPS[keyword], f"{keyword}/{token(name)}", part)
        elif isinstance(value, list) and keyword in _LISTS:
            for index, part in enumerate(cast("list[Any]", value)):
                yield Child(_LISTS[keyword], f"{keyword}/{index}", part)
        elif isinstance(value, dict | bool) and keyword in _SINGLE:
            yield Child(_SINGLE[keyword], keyword, value)


class Document:
    """A bounded copy of a schema, in which every reference leads to a place inside.

    Attributes:
        root: The copy. Nobody changes it.
        keywords: Every keyword that stands somewhere in a schema's place, with `items[]` for a list of items and
            `exclusive?` for a boolean `exclusiveMinimum` or `exclusiveMaximum`, by which drafts are told apart.
    """

    __slots__ = ("_anchors", "keywords", "root")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        """Copies and inspects a schema, in time bounded by the caps of this module.

        Raises:
            SchemaRefused: It is too large or deep (``schemas/too-large``), not JSON, or a reference in it leads
                nowhere or outside (``schemas/invalid``).
        """
        self.root: Schema = _Copier().copy(schema, "#", 0)
        self.keywords: set[str] = set()
        self._anchors: dict[str, Schema] = {}
        self._inspect()

    def resolve(self, reference: str, pointer: str) -> Any:
        """The subschema that a reference names.

        Args:
            reference: `#`, `#/a/json/pointer` or `#anchor`.
            pointer: Where the reference stands, for the message.

        Raises:
            SchemaRefused: It leads nowhere or outside.
        """
        if not reference.startswith("#"):
            hint = "nothing is ever fetched: put what it refers to into `$defs`"
            raise refusal("schemas/invalid", pointer, "refers to something outside of it", hint=hint)
        fragment = unquote(reference[1:])
        target = self._at(fragment) if not fragment or fragment.startswith("/") else self._anchors.get(fragment)
        if not isinstance(target, dict | bool):
            raise refusal("schemas/invalid", pointer, f"refers to `{shown_pointer(reference)}`, where no schema stands")
        return cast("Any", target)

    def _at(self, fragment: str) -> Any:
        current: Any = self.root
        for part in fragment.split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            if is_schema(current):
                current = current.get(part)
            elif isinstance(current, list):
                current = dict(enumerate(cast("list[Any]", current))).get(_index(part))
            else:
                return None
        return current

    def _inspect(self) -> None:
        """Walks every schema that validation can reach, first for anchors, then for what refers to them."""
        references: list[tuple[str, str]] = []
        seen: set[int] = set()
        self._walk(self.root, "#", seen, references)
        for reference, pointer in references:
            target = self.resolve(reference, pointer)
            # A pointer may lead to where no keyword puts a schema, such as `#/components/Item`. What it refers to in
            # turn is appended to the list that this loop goes through.
            if is_schema(target):
                self._walk(target, reference, seen, references)

    def _walk(self, start: Schema, pointer: str, seen: set[int], references: list[tuple[str, str]]) -> None:
        stack: list[tuple[Any, str, bool]] = [(start, pointer, False)]
        while stack:
            schema, pointer, embedded = stack.pop()
            if not is_schema(schema) or id(schema) in seen:
                continue
            seen.add(id(schema))
            self._note_keywords(schema)
            embedded = self._note_names(schema, embedded)
            for keyword in filter(schema.__contains__, _REFERENCES):
                if not isinstance(schema[keyword], str):
                    raise refusal("schemas/invalid", pointer, f"has a `{keyword}` that is not text")
                if embedded:
                    hint = "leave out the `$id`, and refer by a pointer from the root"
                    reason = "refers from within a schema with its own `$id`"
                    raise refusal("schemas/invalid", pointer, reason, hint=hint)
                references.append((schema[keyword], pointer))
            stack.extend((child.schema, f"{pointer}/{child.path}", embedded) for child in children(schema))

    def _note_keywords(self, schema: Schema) -> None:
        self.keywords.update(schema)
        if isinstance(schema.get("items"), list):
            self.keywords.add("items[]")
        if isinstance(schema.get("exclusiveMinimum", schema.get("exclusiveMaximum")), bool):
            self.keywords.add("exclusive?")

    def _note_names(self, schema: Schema, embedded: bool) -> bool:
        """Remembers the anchors of a schema, and says whether it lies in one with a base address of its own."""
        for keyword in _ANCHORS:
            if isinstance(name := schema.get(keyword), str):
                self._anchors[name] = schema
        identity = schema.get("$id")
        if not isinstance(identity, str) or schema is self.root:
            return embedded
        if identity.startswith("#"):  # draft 6 and 7 write anchors so
            self._anchors[identity[1:]] = schema
            return embedded
        return True


def _index(part: str) -> int:
    """The index that a token of a pointer names, -1 for any other token."""
    return int(part) if part.isascii() and part.isdecimal() and len(part) < len(str(MAX_NODES)) + 1 else -1


class _Copier:
    """Copies JSON with a budget. Shared and circular objects use it up like any others."""

    def __init__(self) -> None:
        self._nodes = 0
        self._characters = 0

    def copy(self, value: Any, pointer: str, depth: int) -> Any:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise refusal("schemas/too-large", "#", f"has more than {MAX_NODES:,} parts")
        if depth > MAX_DEPTH:
            raise refusal("schemas/too-large", pointer, f"is nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, str):
            return self._text(value, pointer)
        if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
            return value
        if isinstance(value, Mapping):
            entries = cast("Mapping[object, object]", value).items()
            return {self._text(key, pointer): self.copy(part, f"{pointer}/{key}", depth + 1) for key, part in entries}
        if isinstance(value, list | tuple):
            parts = cast("list[object]", value)
            return [self.copy(part, f"{pointer}/{index}", depth + 1) for index, part in enumerate(parts)]
        raise refusal("schemas/invalid", pointer, f"holds a {type(value).__name__}, which is not JSON")

    def _text(self, text: object, pointer: str) -> str:
        if not isinstance(text, str):
            raise refusal("schemas/invalid", pointer, f"has a key of type {type(text).__name__}")
        self._characters += len(text)
        if self._characters > MAX_CHARACTERS:
            raise refusal("schemas/too-large", "#", f"has more than {MAX_CHARACTERS:,} characters")
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            raise refusal("schemas/invalid", pointer, "holds half of a surrogate pair, which is not a character")
        return text
