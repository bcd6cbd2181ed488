"""The rules of OpenAI's guide "Structured model outputs", as a judge that knows nothing of how schemas are compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

Rules = Callable[..., list[str]]

VALUES = {
    "type",
    "enum",
    "anyOf",
    "$ref",
    "$defs",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "description",
}
CONSTRAINTS = {
    *("pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("minItems", "maxItems"),
}
FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "object": (dict,),
    "array": (list,),
}


@pytest.fixture(scope="session")
def broken_rules() -> Rules:
    """Says which rules a schema that is sent as strict breaks."""
    return _broken_rules


def _broken_rules(schema: dict[str, Any], *, constraints: bool = True, depth: int = 10) -> list[str]:
    allowed = VALUES | CONSTRAINTS if constraints else VALUES
    problems: list[str] = []
    for part, path, level in _walk(schema, "#", 1):
        problems += [f"{path}: {problem}" for problem in _problems(part, allowed)]
        if "object" in _types(part) and level > depth:
            problems.append(f"{path}: is too deep")
        if (name := part.get("$ref", "#")) != "#" and name.removeprefix("#/$defs/") not in schema.get("$defs", {}):
            problems.append(f"{path}: refers to nothing")
    if schema.get("type") != "object" or "anyOf" in schema:
        problems.append("#: the root is not an object")
    return problems


def _walk(schema: dict[str, Any], path: str, level: int) -> Iterator[tuple[dict[str, Any], str, int]]:
    """Every subschema, where it is, and its level of objects; definitions begin at the first."""
    yield schema, path, level
    for name, part in schema.get("properties", {}).items():
        yield from _walk(part, f"{path}/properties/{name}", level + 1)
    for name, part in schema.get("$defs", {}).items():
        yield from _walk(part, f"{path}/$defs/{name}", 1)
    for index, part in enumerate(schema.get("anyOf", [])):
        yield from _walk(part, f"{path}/anyOf/{index}", level)
    if "items" in schema:
        yield from _walk(schema["items"], f"{path}/items", level)


def _problems(schema: dict[str, Any], allowed: set[str]) -> Iterator[str]:
    types = _types(schema)
    if stray := set(schema) - allowed:
        yield f"has {sorted(stray)}"
    if "$ref" in schema and len(schema) > 1:
        yield "has keywords beside $ref"
    if not {"type", "anyOf", "$ref"} & set(schema):
        yield "has no type"
    if not all(any(_is(value, kind) for kind in types) for value in schema.get("enum", [])):
        yield "enumerates a value of another type"
    if schema.get("format", "date") not in FORMATS or "(?" in schema.get("pattern", "").replace("(?:", ""):
        yield "has a format or pattern that is not supported"
    if "object" in types and schema.get("additionalProperties") is not False:
        yield "is open"
    if "object" in types and set(schema.get("required", [""])) != set(schema.get("properties", {})):
        yield "does not require all its properties"
    if "array" in types and "items" not in schema:
        yield "has no items"


def _types(schema: dict[str, Any]) -> list[str]:
    return [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type", [])


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, PYTHON_TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
