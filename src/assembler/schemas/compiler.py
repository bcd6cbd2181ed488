"""From an original schema to the one that is sent under strict mode, with the decoder between the two.

The table in ``dialects`` says what is kept. What strict mode cannot say at all travels as JSON text, so that every
schema compiles and nothing that it allows is lost; what it can say only in part is widened, described in words, and
checked against the original afterwards. Sources: OpenAI's guide "Structured model outputs", and, where it is silent,
the refusals that public issues quote (`default`, `oneOf`, `$ref` beside other keywords, untyped values).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from assembler.errors import Diagnostic, Severity
from assembler.schemas.decoders import AS_IT_IS, JSON_TEXT, Decoder, Items, Member, Members, Placeholder, Reference
from assembler.schemas.dialects import Dialect, Limits
from assembler.schemas.document import Document, Schema, is_schema, refusal, shown_pointer, token
from assembler.schemas.nodes import PLACEHOLDERS, Node, compact, free_name, nullable, object_schema, with_branch
from assembler.schemas.reading import (
    CHOICES,
    SCALARS,
    carried_schema,
    choices,
    constraining,
    declared_types,
    described,
    dropped,
    is_object,
    is_open,
    json_type,
    kept,
    mentioned_names,
    remarks,
    written_types,
)

MAX_LEVELS = 60
"""Subschemas within subschemas, references followed, that are compiled; what lies deeper travels as JSON text."""

_UNLIMITED = Limits(*(10**9,) * 6)


class Compiled(NamedTuple):
    """What compiling a root yields.

    Attributes:
        schema: What is sent.
        members: How its properties travel.
        wrapped: Whether the value stands in a property `input` of its own.
        open: Whether undeclared properties are taken, because the schema says so.
        notes: What was changed.
    """

    schema: Schema
    members: Members
    wrapped: bool
    open: bool
    notes: tuple[Diagnostic, ...]


def compile_strict(document: Document, dialect: Dialect) -> Compiled:
    """Compiles a schema for a strict mode.

    Raises:
        SchemaRefused: It admits nothing (``schemas/unsatisfiable``), refers to itself (``schemas/invalid``), or has
            more properties than the dialect takes (``schemas/over-limit``).
    """
    return _Compiler(document, dialect).compile()


class _Compiler:
    def __init__(self, document: Document, dialect: Dialect) -> None:
        self._document = document
        self._dialect = dialect
        self._limits = dialect.limits or _UNLIMITED
        self._notes: list[tuple[str, Diagnostic]] = []
        self._carried: set[str] = set()
        self._definitions: dict[str, Schema] = {}
        self._definition_names: set[str] = set()
        self._known: dict[int, Node] = {}
        self._properties = 0
        self._characters = 0
        self._enum_values = 0
        self._level = 0

    def compile(self) -> Compiled:
        head, pointer = self._followed(self._document.root, "#")
        head: Any = {} if head is True else head
        wrapped = not is_object(head) or self._adds_names(head)
        if wrapped:
            self._note("schemas/rewritten", "#", "stands in a property `input`, since arguments are an object")
            inner = self._node(self._document.root, "#", 2, frozenset())
            self._count("#", ["input"])
            schema, members = object_schema({"input": inner.schema}), Members({"input": Member(inner.decoder)})
        else:
            schema, members = self._object(head, pointer, 1)
        advised = self._limits.advised_properties
        if advised is not None and self._properties > advised:
            message = f"has {self._properties} properties; documented for `{self._dialect.name}` are {advised}"
            self._note("schemas/over-limit", "#", message, severity="warning")
        if definitions := self._reachable(schema):
            schema["$defs"] = definitions
        notes = tuple(note for at, note in self._notes if not self._is_moot(at))
        return Compiled(schema, members, wrapped, members.rest is not None, notes)

    def _node(self, schema: Any, pointer: str, depth: int, unguarded: frozenset[int]) -> Node:
        """Compiles a subschema.

        Args:
            schema: The original.
            pointer: Where it stands.
            depth: The level of objects that it would be on, the root being 1.
            unguarded: The definitions entered since the last object or list; entering one again would never end.
        """
        self._level += 1
        try:
            if schema is False:
                raise refusal("schemas/unsatisfiable", pointer, "admits no value")
            if self._level > MAX_LEVELS:
                return self._carry(schema, pointer, f"it lies deeper than {MAX_LEVELS} levels")
            return self._shape({} if schema is True else schema, pointer, depth, unguarded)
        finally:
            self._level -= 1

    def _shape(self, schema: Schema, pointer: str, depth: int, unguarded: frozenset[int]) -> Node:
        if "$ref" in schema:
            return self._reference(schema, pointer, unguarded)
        if "enum" in schema or "const" in schema:
            return self._enumeration(schema, pointer)
        types = written_types(schema)
        shape = set(types) - {"null"}
        if types and set(types) <= SCALARS:
            return self._scalar(schema, types, pointer)
        if shape == {"object"} or (not types and "properties" in schema):
            return self._inner_object(schema, pointer, depth)
        if shape == {"array"} or (not types and "items" in schema):
            return self._list(schema, pointer, depth)
        if types:
            return self._carry(schema, pointer, "it may have several shapes")
        constraints = constraining(schema)
        if len(constraints) == 1 and not constraints.isdisjoint(CHOICES):
            return self._union(schema, constraints.pop(), pointer, depth, unguarded)
        return self._carry(schema, pointer, "its schema does not say what it looks like")

    # Values

    def _scalar(self, schema: Schema, types: Sequence[str], pointer: str) -> Node:
        constraints = kept(schema, types, self._dialect)
        return self._plain(schema, {"type": compact(types), **constraints}, AS_IT_IS, frozenset(types), pointer)

    def _enumeration(self, schema: Schema, pointer: str) -> Node:
        values = choices(schema)
        if any(isinstance(value, dict | list) for value in values):
            return self._carry(schema, pointer, "it enumerates objects or lists")
        if not values:
            raise refusal("schemas/unsatisfiable", pointer, "admits no value")
        types = list(dict.fromkeys(json_type(value) for value in values))
        characters = sum(len(value) for value in values if isinstance(value, str))
        limits = self._limits
        too_long = len(values) > limits.long_enum and characters > limits.long_enum_characters
        too_many = self._enum_values + len(values) > limits.enum_values
        if too_long or too_many or self._characters + characters > limits.characters:
            if "number" in types and "integer" in types:
                types.remove("integer")
            self._note(
                "schemas/weakened", pointer, f"sends its {len(values)} values in words only; they are checked here"
            )
            return self._plain(schema, {"type": compact(types)}, AS_IT_IS, frozenset(types), pointer)
        self._enum_values += len(values)
        self._characters += characters
        return self._plain(schema, {"type": compact(types), "enum": values}, AS_IT_IS, frozenset(types), pointer)

    def _plain(self, schema: Schema, sent: Schema, decoder: Decoder, types: frozenset[str], pointer: str) -> Node:
        """A node whose other constraints, all narrowing, are put into words."""
        left_out = dropped(schema, sent)
        if left_out:
            names = ", ".join(f"`{keyword}`" for keyword in left_out)
            self._note("schemas/weakened", pointer, f"sends {names} in words only, and is checked here")
        return Node(described(sent, schema, remarks(schema, left_out)), decoder, types)

    # Containers

    def _list(self, schema: Schema, pointer: str, depth: int) -> Node:
        items = schema.get("items")
        if not isinstance(items, dict) or "prefixItems" in schema:
            return self._carry(schema, pointer, "its items have no schema in common")
        item = self._node(items, f"{pointer}/items", depth, frozenset())
        if item.carried:
            return self._carry(schema, pointer, "its items would travel as JSON text each")
        types = frozenset(written_types(schema)) or frozenset({"array"})
        sent = {"type": compact(sorted(types)), "items": item.schema, **kept(schema, types, self._dialect)}
        decoder = item.decoder if item.decoder is AS_IT_IS else Items(item.decoder)
        return self._plain(schema, sent, decoder, types, pointer)

    def _inner_object(self, schema: Schema, pointer: str, depth: int) -> Node:
        if not schema.get("properties") and (schema.get("additionalProperties", True) is not False or is_open(schema)):
            return self._carry(schema, pointer, "its names are not known beforehand")
        if depth > self._limits.depth:
            return self._carry(schema, pointer, f"it lies deeper than {self._limits.depth} levels of objects")
        if self._adds_names(schema):
            return self._carry(schema, pointer, "its properties depend on each other")
        if self._properties + len(schema.get("properties", {})) > self._limits.properties:
            return self._carry(
                schema, pointer, f"with it there would be more than {self._limits.properties} properties"
            )
        sent, members = self._object(schema, pointer, depth)
        types = frozenset(written_types(schema)) or frozenset({"object"})
        if "null" in types:
            sent["type"] = compact(sorted(types))
        trivial = members.rest is None and all(member == Member(AS_IT_IS) for member in members.members.values())
        return Node(sent, AS_IT_IS if trivial else members, types)

    def _object(self, schema: Schema, pointer: str, depth: int) -> tuple[Schema, Members]:
        required = set(cast("list[str]", schema.get("required", [])))
        properties: dict[str, Any] = dict(schema.get("properties", {}))
        closed = schema.get("additionalProperties") is False and not is_open(schema)
        for name in schema.get("required", []):
            if closed and name not in properties:
                properties[name] = False
            properties.setdefault(name, True)
        properties = {name: part for name, part in properties.items() if part is not False or name in required}
        rest = free_name(properties) if is_open(schema) else None
        self._count(pointer, [*properties, *([rest] if rest else [])])

        sent: Schema = {}
        members: dict[str, Member] = {}
        for name, part in properties.items():
            at = f"{pointer}/properties/{token(name)}"
            node = self._node(part, at, depth + 1, frozenset())
            if name not in required:
                node, absent = self._optional(node, part, at)
                members[name] = Member(node.decoder, absent)
            else:
                members[name] = Member(node.decoder)
            sent[name] = node.schema
        if rest is not None:
            sent[rest] = {
                "type": ["string", "null"],
                "description": "Further properties (JSON-encoded object), or null.",
            }
            self._note("schemas/carried", pointer, f"sends undeclared properties as JSON text, in `{rest}`")
        elif not closed:
            self._note("schemas/closed", pointer, "takes no properties but the declared ones")
        node = self._plain(schema, object_schema(sent), AS_IT_IS, frozenset(), pointer)
        return node.schema, Members(members, rest=rest)

    def _optional(self, node: Node, original: Any, pointer: str) -> tuple[Node, Placeholder]:
        """Makes a place for absence, since strict objects have no optional properties.

        Null stands for it, also where the original takes null and says that null is its default. Where null means
        something else, a value of a type that the property cannot have stands for it.
        """
        if node.carried or "null" not in node.types:
            return replace(node, schema=nullable(node.schema)), None
        if is_schema(original) and original.get("default", False) is None:
            return node, None
        for kind, placeholder in PLACEHOLDERS:
            if kind not in node.types:
                branch = {"type": kind, "enum": [placeholder], "description": "stands for: not given"}
                return replace(node, schema=with_branch(node.schema, branch)), placeholder
        node = self._carry(original, pointer, "it is optional, takes null, and may have any type")
        return replace(node, schema=nullable(node.schema)), None

    # What refers to other schemas

    def _union(self, schema: Schema, keyword: str, pointer: str, depth: int, unguarded: frozenset[int]) -> Node:
        branches = [(index, part) for index, part in enumerate(cast("list[Any]", schema[keyword])) if part is not False]
        if not branches or (keyword == "allOf" and len(branches) < len(schema[keyword])):
            raise refusal("schemas/unsatisfiable", pointer, "admits no value")
        if keyword == "allOf" and len(branches) > 1:
            return self._carry(schema, pointer, "it must fit several schemas at once")
        nodes = [self._node(part, f"{pointer}/{keyword}/{index}", depth, unguarded) for index, part in branches]
        valued = [node for node in nodes if node.types - {"null"}]
        alone = len(valued) == 1 and not valued[0].carried
        if not alone and any(node.decoder is not AS_IT_IS for node in nodes):
            return self._carry(schema, pointer, "its alternatives could not be told apart")
        if keyword == "oneOf" and len(nodes) > 1:
            self._note(
                "schemas/rewritten", pointer, "sends `oneOf` as `anyOf`; that only one alternative fits is checked here"
            )
        types = frozenset[str]().union(*(node.types for node in nodes))
        if alone:
            sent = valued[0].schema
            if "null" in types - valued[0].types:
                sent = nullable(sent)
            return Node(described(sent, schema, remarks(schema, ())), valued[0].decoder, types)
        sent = {"anyOf": [node.schema for node in nodes]}
        return Node(described(sent, schema, remarks(schema, ())), AS_IT_IS, types)

    def _reference(self, schema: Schema, pointer: str, unguarded: frozenset[int]) -> Node:
        if constraining(schema) != {"$ref"}:
            return self._carry(schema, pointer, "constraints stand beside its reference")
        target, at = self._followed(schema, pointer)
        if not is_schema(target):
            return self._node(target, at, 1, unguarded)
        key = id(target)
        if key in unguarded:
            raise refusal("schemas/invalid", pointer, "refers to itself, with neither an object nor a list in between")
        if key not in self._known:
            name = self._definition_name(at)
            link = Reference()
            sent: Schema = {"$ref": f"#/$defs/{name}"}
            # Until it is compiled, it may turn out to travel as text.
            self._known[key] = Node(sent, link, declared_types(target) | {"string"})
            node = self._node(target, at, 1, unguarded | {key})
            self._definitions[name] = node.schema
            link.target = node.decoder
            self._known[key] = replace(node, schema=sent)
        node = self._known[key]
        return replace(node, schema=described(node.schema, schema, remarks(schema, ())))

    def _followed(self, schema: Schema, pointer: str) -> tuple[Any, str]:
        """The schema at the end of a chain of bare references, and where it stands."""
        seen: set[str] = set()
        current: Any = schema
        while is_schema(current) and constraining(current) == {"$ref"}:
            reference = cast("str", current["$ref"])
            if reference in seen:
                raise refusal("schemas/invalid", pointer, f"refers to itself by way of `{shown_pointer(reference)}`")
            seen.add(reference)
            current, pointer = self._document.resolve(reference, pointer), reference
        return current, pointer

    def _definition_name(self, pointer: str) -> str:
        last = pointer.rsplit("/", 1)[-1].replace("~1", "_").replace("~0", "_").lstrip("#")
        base = "".join(character if character.isascii() and character.isalnum() else "_" for character in last)[:60]
        base = base or "Root"
        name, count = base, 1
        while name in self._definition_names:
            count += 1
            name = f"{base}_{count}"
        self._definition_names.add(name)
        self._characters += len(name)
        return name

    def _reachable(self, schema: Schema) -> dict[str, Schema]:
        """The definitions that are still referred to, after what referred to some was carried as text."""
        found: dict[str, Schema] = {}
        stack: list[Any] = [schema]
        while stack:
            current = stack.pop()
            if isinstance(current, list):
                stack.extend(cast("list[Any]", current))
            elif is_schema(current):
                reference = current.get("$ref")
                name = reference.removeprefix("#/$defs/") if isinstance(reference, str) else None
                if name is not None and name not in found:
                    found[name] = self._definitions[name]
                    stack.append(found[name])
                stack.extend(current.values())
        return found

    # Bookkeeping

    def _adds_names(self, schema: Schema) -> bool:
        """Whether conditions of an object speak of properties that it does not declare itself."""
        declared = {*schema.get("properties", {}), *schema.get("required", [])}
        return not is_open(schema) and not mentioned_names(schema) <= declared

    def _count(self, pointer: str, names: list[str]) -> None:
        self._properties += len(names)
        self._characters += sum(map(len, names))
        for count, most, what in (
            (self._properties, self._limits.properties, "properties"),
            (self._characters, self._limits.characters, "characters of names and enumerated texts"),
        ):
            if count > most:
                reason = f"has, with what is before it, more than the {most:,} {what} that `{self._dialect.name}` takes"
                raise refusal("schemas/over-limit", pointer, reason)

    def _carry(self, schema: Any, pointer: str, reason: str) -> Node:
        self._carried.add(pointer)
        self._note("schemas/carried", pointer, f"travels as JSON text: {reason}")
        return Node(carried_schema(schema if is_schema(schema) else {}), JSON_TEXT, frozenset({"string"}))

    def _note(self, code: str, pointer: str, message: str, *, severity: Severity = "info") -> None:
        text = f"the schema at `{shown_pointer(pointer)}` {message}"
        self._notes.append((pointer, Diagnostic(code, text, severity=severity)))

    def _is_moot(self, pointer: str) -> bool:
        """Whether a note is about something within what travels as text."""
        parts = pointer.split("/")
        return any("/".join(parts[:length]) in self._carried for length in range(1, len(parts)))
