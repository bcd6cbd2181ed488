"""One problem of the validator's, in words that a model can act on and that hold no value."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from assembler.errors import Diagnostic, did_you_mean
from assembler.schemas.reading import json_type
from assembler.values import JSON

if TYPE_CHECKING:
    import jsonschema_rs

MAX_ALTERNATIVES = 5
"""Alternatives of a union that are spelled out."""
MAX_SHOWN = 200
"""Characters of a schema's own values, or of a found value, that a message shows."""


def parameter(path: Sequence[str | int]) -> str:
    """A place in the arguments, as a message names it: `` `filters[0].name` ``."""
    if not path:
        return "the arguments"
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
    return f"`{text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + '…'}`"


def problem_of(error: jsonschema_rs.ValidationError, value: JSON, *, detailed: bool = False) -> Diagnostic:
    """The diagnostic for one problem.

    Args:
        error: What the validator says.
        value: The arguments.
        detailed: Whether the value that was found is shown.
    """
    keyword, expected = error.kind.name, error.kind.value
    path = error.instance_path
    if keyword == "required":
        return Diagnostic("arguments/missing", f"{parameter([*path, expected])} is required, and missing")
    if keyword in {"additionalProperties", "unevaluatedProperties"}:
        return unknown_names(expected, None, within=path)
    if keyword == "falseSchema" and error.schema_path[-1] == "additionalProperties":
        # An object that declares no properties at all: the validator names neither the first nor the others.
        return unknown_names(list(_at(value, path)), None, within=path)
    found = f", found {_shown(error.instance)}" if detailed else ""
    return Diagnostic("arguments/invalid", f"{parameter(path)} {reason_of(error)}{found}")


def unknown_names(
    names: Sequence[str], allowed: Sequence[str] | None, *, within: Sequence[str | int] = ()
) -> Diagnostic:
    """The diagnostic for names that are not declared.

    Args:
        names: What was sent.
        allowed: What may be sent, where that is known.
        within: Where.
    """
    listed = ", ".join(f"`{name[:64]}`" for name in names)
    message = f"unexpected argument{'s' if len(names) > 1 else ''} {listed}"
    if within:
        message = f"{parameter(within)} takes no {listed}"
    if allowed is None:
        return Diagnostic("arguments/unknown", message)
    message += "; allowed: " + (", ".join(f"`{name}`" for name in allowed) or "none")
    near = did_you_mean(names[0], allowed) if len(names) == 1 else ""
    return Diagnostic("arguments/unknown", message, hint=near if near.startswith("did you mean") else "")


def reason_of(error: jsonschema_rs.ValidationError) -> str:
    """What was expected, as a clause that goes on from the place; of what was found it tells only the type."""
    keyword, expected = error.kind.name, error.kind.value
    if keyword == "type":
        return f"must be {_either(expected)}, found {json_type(cast('Any', error.instance))}"
    if keyword in {"anyOf", "oneOf"}:
        return _no_alternative(cast("list[list[jsonschema_rs.ValidationError]]", expected), error.instance_path)
    if keyword == "propertyNames":
        return "has a name that does not fit"
    if keyword == "required":
        return f"lacks `{expected}`"
    phrase = _PHRASES.get(keyword)
    return phrase(expected) if phrase else f"does not fit `{keyword}`"


def _at(value: Any, path: Sequence[str | int]) -> Any:
    for step in path:
        value = value[step]
    return value


def _no_alternative(branches: list[list[jsonschema_rs.ValidationError]], path: Sequence[str | int]) -> str:
    if sum(not branch for branch in branches) > 1:
        return "fits several alternatives, of which exactly one must fit"
    reasons: list[str] = []
    for branch in branches[:MAX_ALTERNATIVES]:
        first = branch[0]
        inner = first.instance_path[len(path) :]
        reasons.append(f"{parameter(inner)} {_flat(first)}" if inner else _flat(first))
    more = f"; and {len(branches) - MAX_ALTERNATIVES} more" if len(branches) > MAX_ALTERNATIVES else ""
    return "fits no alternative: " + "; or ".join(dict.fromkeys(reasons)) + more


def _flat(error: jsonschema_rs.ValidationError) -> str:
    """The reason of a problem within an alternative, alternatives in it left out."""
    return "fits no alternative" if error.kind.name in {"anyOf", "oneOf"} else reason_of(error)


def _either(types: list[str]) -> str:
    return " or ".join(sorted(types, key=lambda name: name == "null"))


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"


def _one_of(options: list[Any]) -> str:
    return f"must be one of {_shown(options)[1:].removesuffix(']')}"


_PHRASES: dict[str, Callable[[Any], str]] = {
    "enum": _one_of,
    "const": lambda value: f"must be {_shown(value)}",
    "minimum": lambda limit: f"must be at least {limit}",
    "maximum": lambda limit: f"must be at most {limit}",
    "exclusiveMinimum": lambda limit: f"must be greater than {limit}",
    "exclusiveMaximum": lambda limit: f"must be less than {limit}",
    "multipleOf": lambda step: f"must be a multiple of {step}",
    "minLength": lambda count: f"must have at least {count} characters",
    "maxLength": lambda count: f"must have at most {count} characters",
    "pattern": lambda pattern: f"must match the pattern {_shown(pattern)}",
    "format": lambda name: f"must be in the format `{name}`",
    "minItems": lambda count: f"must have at least {count} items",
    "maxItems": lambda count: f"must have at most {count} items",
    "uniqueItems": lambda _: "must not repeat an item",
    "contains": lambda _: "must contain an item that it lacks, see `contains`",
    "additionalItems": lambda count: f"must have at most {count} items",
    "unevaluatedItems": lambda _: "has more items than allowed",
    "minProperties": lambda count: f"must have at least {count} properties",
    "maxProperties": lambda count: f"must have at most {count} properties",
    "not": lambda schema: f"must not fit {_shown(schema)}",
    "falseSchema": lambda _: "is not allowed",
}
"""What keywords ask for; their values come from the schema, which the model knows."""
