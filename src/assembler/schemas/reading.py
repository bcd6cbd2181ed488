"""What one schema says, keyword by keyword, without looking into its subschemas."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any, cast

from assembler.schemas.dialects import APPLIES_TO, Dialect
from assembler.schemas.document import Schema, is_schema
from assembler.values import JSON

SCALARS = frozenset({"string", "number", "integer", "boolean", "null"})
ANY = SCALARS | {"object", "array"}
CHOICES = frozenset({"anyOf", "oneOf", "allOf"})

MAX_REMARKS = 300
"""Characters of a schema that go into a description: they are paid for in every request, and may be a stranger's."""

CHECKS = CHOICES | {
    *("minLength", "maxLength", "pattern", "format", "contentEncoding", "contentMediaType"),
    *("multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems"),
    *("minProperties", "maxProperties", "propertyNames", "dependentRequired", "dependentSchemas", "dependencies"),
    *("not", "if", "then", "else", "nullable"),
}
"""Keywords that only narrow what the others allow, so that they can be left to the check against the original.

`nullable` is OpenAPI's; in JSON Schema it means nothing, which deserves a word.
"""

_SHAPES = frozenset({"type", "enum", "const", "$ref", "properties", "required", "additionalProperties", "items"}) | {
    *("patternProperties", "unevaluatedProperties", "prefixItems", "additionalItems", "$dynamicRef", "$recursiveRef"),
}
_BRING_NAMES = (
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
)
_BEYOND_REGULAR = re.compile(r"\(\?<?[=!]|\\[1-9]|\\k<|\(\?P=")
"""Lookaround and backreferences in a pattern, which engines of constrained decoding do not have."""


def constraining(schema: Schema) -> set[str]:
    """The keywords of a schema that say something about values; descriptions, defaults and the like do not."""
    return {keyword for keyword in schema if keyword in _SHAPES or keyword in CHECKS}


def written_types(schema: Schema) -> list[str]:
    """The types that `type` lists; none where it is missing."""
    types = schema.get("type", [])
    return [types] if isinstance(types, str) else list(types)


def declared_types(schema: Any) -> frozenset[str]:
    """The types that a schema's values can have at most, as far as can be told without following references."""
    if not is_schema(schema):
        return ANY
    if "enum" in schema or "const" in schema:
        return frozenset(json_type(value) for value in choices(schema))
    if types := written_types(schema):
        return frozenset(types)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return frozenset[str]().union(*(declared_types(part) for part in schema[keyword]))
    return ANY


def is_object(schema: Any) -> bool:
    """Whether a root, which arguments always are, is an object with nothing to be said against it."""
    if not is_schema(schema):
        return False
    constraints = constraining(schema)
    if constraints & {"$ref", "enum", "const"}:
        return False
    types = written_types(schema)
    return types == ["object"] or (
        not types and ("properties" in constraints or not constraints & (CHOICES | {"items"}))
    )


def is_open(schema: Schema) -> bool:
    """Whether an object says itself that it takes undeclared properties; saying nothing does not count."""
    if schema.get("patternProperties"):
        return True
    return any(schema.get(keyword, False) is not False for keyword in ("additionalProperties", "unevaluatedProperties"))


def mentioned_names(schema: Schema) -> set[str]:
    """The properties that an object's conditions speak of, too many rather than too few.

    A reference among the conditions may speak of any, which is written as the name `*`, declared by nobody.
    """
    names: set[str] = set()
    stack: list[Any] = [{keyword: schema[keyword] for keyword in _BRING_NAMES if keyword in schema}]
    while stack:
        current = stack.pop()
        if isinstance(current, list):
            stack.extend(cast("list[Any]", current))
        elif is_schema(current):
            if "$ref" in current or "patternProperties" in current:
                names.add("*")
            for keyword in ("properties", "dependentSchemas", "dependentRequired", "dependencies"):
                if is_schema(named := current.get(keyword)):
                    names.update(named)
                    lists = [cast("list[Any]", part) for part in named.values() if isinstance(part, list)]
                    names.update(name for part in lists for name in part if isinstance(name, str))
            if isinstance(required := current.get("required"), list):
                names.update(cast("list[str]", required))
            stack.extend(current.values())
    return names


def json_type(value: JSON) -> str:
    """The name that JSON Schema has for a value's type; whole floats are numbers here."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def choices(schema: Schema) -> list[JSON]:
    """The values that `enum` or `const` allows, as far as `type` allows them too, each once."""
    values = cast("list[JSON]", [schema["const"]] if "const" in schema else schema["enum"])
    types = set(written_types(schema)) or ANY
    # True equals 1 in Python, not in JSON.
    unique = {(json_type(value), json.dumps(value, sort_keys=True)): value for value in values}
    return [
        value
        for (kind, _), value in unique.items()
        if kind in types
        or (kind == "integer" and "number" in types)
        or (isinstance(value, float) and value.is_integer() and "integer" in types)
    ]


def kept(schema: Schema, types: Collection[str], dialect: Dialect) -> Schema:
    """The constraints that a dialect takes for values of some types."""
    return {
        keyword: value
        for keyword, value in schema.items()
        if keyword in dialect.keywords
        and not APPLIES_TO[keyword].isdisjoint(types)
        and not isinstance(value, bool)  # draft 4 writes exclusiveMinimum so
        and (keyword != "format" or value in dialect.formats)
        and (keyword != "pattern" or not _BEYOND_REGULAR.search(value))
    }


def dropped(schema: Schema, sent: Schema) -> list[str]:
    """The constraints that are not sent."""
    return [keyword for keyword in schema if keyword in CHECKS and keyword not in sent]


def remarks(schema: Schema, left_out: Sequence[str]) -> str:
    """What is not sent of a schema, in words for a description: constraints, and a default other than null."""
    words = [f"{keyword}: {_brief(schema[keyword])}" for keyword in left_out]
    if schema.get("default") is not None:
        words.append(f"default: {_brief(schema['default'])}")
    return _capped("; ".join(words))


def described(sent: Schema, schema: Schema, remark: str) -> Schema:
    """A schema to send with the original's description, and a remark added to it.

    A reference stands alone: OpenAI refuses any keyword beside it.
    """
    text = " ".join(part for part in (schema.get("description", ""), f"({remark})" if remark else "") if part)
    if not text:
        return sent
    return {"anyOf": [sent], "description": text} if "$ref" in sent else {**sent, "description": text}


def carried_schema(schema: Schema) -> Schema:
    """What is sent for a value that travels as JSON text."""
    shape = declared_types(schema) - {"null"}
    kind = next(iter(shape)) if len(shape) == 1 and "null" not in declared_types(schema) else ""
    words = f"JSON-encoded {kind}" if kind else "JSON-encoded"
    constraints = {keyword: value for keyword, value in schema.items() if keyword in constraining(schema)}
    if constraints and constraints != {"type": kind}:
        words = f"{words}; schema: {_capped(_brief(constraints))}"
    return described({"type": "string"}, schema, "; ".join(filter(None, (words, remarks(schema, ())))))


def _brief(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False)


def _capped(text: str) -> str:
    return text if len(text) <= MAX_REMARKS else text[: MAX_REMARKS - 1] + "…"
