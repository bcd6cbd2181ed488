"""The rules of OpenAI's guide "Structured model outputs", as a judge that knows nothing of how schemas are compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

Rules = Callable[..., list[str]]

VALUES = {"type", "enum", "anyOf", "$ref", "$defs", "properties", "required", "additionalProperties", "items", "description"}
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
    problems = [f"{path}: {problem}" for path, problem in _walk(schema, "#", 1, depth, constraints)]
    if schema.get("type") != "object" or "anyOf" in schema:
        problems.append("#: the root is not an object")
    for name in _references(schema):
        if name != "#" and name.removeprefix("#/$defs/") not in schema.get("$defs", {}):
            problems.append(f"{name}: dangling")
    return problems


def _walk(schema: Any, path: str, level: int, depth: int, constraints: bool) -> Iterator[tuple[str, str]]:
    allowed = VALUES | CONSTRAINTS if constraints else VALUES
    if not isinstance(schema, dict):
        yield path, "is not an object"
        return
    if stray := set(schema) - allowed:
        yield path, f"has {sorted(stray)}"
    if "$ref" in schema and len(schema) > 1:
        yield path, "has keywords beside $ref"
    if not {"type", "anyOf", "$ref"} & set(schema):
        yield path, "has no type"
    types = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type", [])
    for value in schema.get("enum", []):
        fits = any(isinstance(value, PYTHON_TYPES[kind]) and (kind == "boolean" or value is None or not isinstance(value, bool)) for kind in types)
        if not fits:
            yield path, f"enumerates {value!r} of another type"
    if schema.get("format", "date") not in FORMATS or "(?" in schema.get("pattern", "").replace("(?:", ""):
        yield path, "has a format or pattern that is not supported"
    if "object" in types:
        if level > depth:
            yield path, "is too deep"
        if schema.get("additionalProperties") is not False:
            yield path, "is open"
        if set(schema.get("required", ())) != set(schema.get("properties", {"": 0})):
            yield path, "does not require all its properties"
    if "array" in types and "items" not in schema:
        yield path, "has no items"
    for name, part in schema.get("properties", {}).items():
        yield from _walk(part, f"{path}/properties/{name}", level + 1, depth, constraints)
    for name, part in schema.get("$defs", {}).items():
        yield from _walk(part, f"{path}/$defs/{name}", 1, depth, constraints)
    for index, part in enumerate(schema.get("anyOf", [])):
        yield from _walk(part, f"{path}/anyOf/{index}", level, depth, constraints)
    if "items" in schema:
        yield from _walk(schema["items"], f"{path}/items", level, depth, constraints)


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for part in schema:
            yield from _references(part)
    elif isinstance(schema, dict):
        for keyword, part in schema.items():
            if keyword == "$ref" and isinstance(part, str):
                yield part
            else:
                yield from _references(part)
