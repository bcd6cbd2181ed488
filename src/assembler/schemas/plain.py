"""The schema that goes to a provider which enforces none: nearly the original."""

from __future__ import annotations

from typing import Any, cast

from assembler.errors import Diagnostic
from assembler.schemas.compiler import Compiled
from assembler.schemas.decoders import AS_IT_IS, JSON_TEXT, NOTHING, Member, Members
from assembler.schemas.document import Document, Schema, is_schema, token
from assembler.schemas.nodes import nullable, object_schema
from assembler.schemas.reading import carried_schema, constraining, declared_types, is_object, is_open, mentioned_names

_ABOUT_DOCUMENTS = frozenset({"$schema", "$id"})
"""Keywords of a root that some servers choke on."""


def compile_plain(document: Document) -> Compiled:
    """Compiles a schema for a provider without strict mode.

    It is sent as it is, but for two things that models get wrong, or servers refuse, also without strictness: a root
    that is no object stands in a property `input`, and a parameter whose schema says nothing of its shape travels as
    JSON text. Null for an optional parameter that cannot be null is read as absent.
    """
    root = document.root
    if not is_object(root):
        note = Diagnostic("schemas/rewritten", "the schema at `#` travels as JSON text in `input`", severity="info")
        wrapper = Members({"input": Member(JSON_TEXT)}, filled=False)
        return Compiled(object_schema({"input": carried_schema(root)}), wrapper, True, False, (note,))
    required = cast("list[str]", root.get("required", []))
    declared: Schema = {**dict.fromkeys(required, True), **root.get("properties", {})}
    properties: Schema = {}
    members: dict[str, Member] = {}
    notes: list[Diagnostic] = []
    for name, part in declared.items():
        optional = name not in required
        if _says_nothing(part):
            message = f"the schema at `#/properties/{token(name)}` travels as JSON text: it says nothing of its shape"
            notes.append(Diagnostic("schemas/carried", message, severity="info"))
            text = carried_schema(part if is_schema(part) else {})
            properties[name] = nullable(text) if optional else text
            members[name] = Member(JSON_TEXT, None if optional else NOTHING)
        else:
            properties[name] = part
            members[name] = Member(AS_IT_IS, None if optional and "null" not in declared_types(part) else NOTHING)
    sent = {keyword: value for keyword, value in root.items() if keyword not in _ABOUT_DOCUMENTS}
    sent |= {"type": "object", "properties": properties}
    takes_others = is_open(root) or not mentioned_names(root) <= declared.keys()
    return Compiled(sent, Members(members, filled=False), False, takes_others, tuple(notes))


def _says_nothing(schema: Any) -> bool:
    return schema is True or (is_schema(schema) and not constraining(schema))
