"""The pieces that strict schemas are made of."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from assembler.schemas.decoders import JSON_TEXT, Decoder
from assembler.schemas.document import Schema

PLACEHOLDERS: tuple[tuple[str, str | bool], ...] = (("string", "<not given>"), ("boolean", False))
"""What stands for absence where null means something, by the type that the property's own values must not have."""


@dataclass(frozen=True, slots=True)
class Node:
    """A compiled subschema.

    Attributes:
        schema: What is sent.
        decoder: What its values mean.
        types: The JSON types that may be sent.
    """

    schema: Schema
    decoder: Decoder
    types: frozenset[str]

    @property
    def carried(self) -> bool:
        """Whether its values travel as JSON text."""
        return self.decoder is JSON_TEXT


def compact(types: Sequence[str]) -> str | list[str]:
    """The value of `type` for one type or several."""
    return types[0] if len(types) == 1 else list(types)


def object_schema(properties: dict[str, Schema]) -> Schema:
    """An object as strict modes want it: closed, with every property required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def nullable(schema: Schema) -> Schema:
    """A schema that takes null, too."""
    if "$ref" in schema or "anyOf" in schema:
        return with_branch(schema, {"type": "null"})
    types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    widened = {**schema, "type": [*types, "null"]}
    return {**widened, "enum": [*schema["enum"], None]} if "enum" in schema else widened


def with_branch(schema: Schema, branch: Schema) -> Schema:
    """A union of a schema with another one; the description goes to the union."""
    alone = {keyword: value for keyword, value in schema.items() if keyword != "description"}
    branches = alone["anyOf"] if set(alone) == {"anyOf"} else [alone]
    described = {"description": schema["description"]} if "description" in schema else {}
    return {"anyOf": [*branches, branch], **described}


def free_name(taken: Collection[str]) -> str:
    """A name for the property that holds undeclared ones, other than the declared ones."""
    name = "additional_properties"
    while name in taken:
        name = f"_{name}"
    return name
