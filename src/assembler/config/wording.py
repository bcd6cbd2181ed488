"""What a value should have been and what it is, in the words of this project."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

_TYPES = {
    "bool_parsing": "`true` or `false`",
    "bool_type": "`true` or `false`",
    "dict_type": "a mapping",
    "finite_number": "a finite number",
    "float_parsing": "a number",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a smaller number",
    "int_type": "a whole number",
    "list_type": "a list",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "path_type": "a path",
    "string_type": "a text",
    "tuple_type": "a list",
}
"""What Pydantic's types of errors expect: https://docs.pydantic.dev/latest/errors/validation_errors/."""

_BOUNDS = {
    "greater_than": ("gt", "more than {}"),
    "greater_than_equal": ("ge", "{} or more"),
    "less_than": ("lt", "less than {}"),
    "less_than_equal": ("le", "{} or less"),
    "string_too_long": ("max_length", "at most {} characters"),
    "string_too_short": ("min_length", "a text of {} or more characters"),
    "too_long": ("max_length", "at most {} entries"),
    "too_short": ("min_length", "{} or more entries"),
}

_KINDS: Sequence[tuple[type, str]] = (
    (type(None), "nothing"),
    (bool, "a boolean"),
    (int, "a number"),
    (float, "a number"),
    (list, "a list"),
    (dict, "a mapping"),
)


@dataclass(frozen=True, slots=True)
class Fault:
    """What validation finds wrong with a value; several of one value, where it may be one thing or another.

    Attributes:
        type: Pydantic's name, or a code of ours.
        message: What it says.
        context: What it knows besides.
    """

    type: str
    message: str
    context: Mapping[str, Any]


def options(fault: Fault) -> list[str]:
    """The words that a value may be; none where it may be anything else."""
    return re.findall(r"'([^']*)'", str(fault.context["expected"])) if fault.type == "literal_error" else []


def mismatch(faults: Sequence[Fault], value: Any) -> str:
    """What was expected of a value and what was found, which is never repeated: it may be a secret."""
    expected = list(dict.fromkeys(_expected(fault) for fault in faults))
    if None in expected:
        return "; or ".join(fault.message for fault in faults)
    said = "expected " + " or ".join(cast("list[str]", expected))
    found = _found(faults, value)
    return f"{said}, found {found}" if found else said


def _expected(fault: Fault) -> str | None:
    if fault.type in _TYPES:
        return _TYPES[fault.type]
    if fault.type in _BOUNDS:
        name, phrase = _BOUNDS[fault.type]
        return phrase.format(fault.context[name])
    if fault.type == "literal_error":
        return re.sub(r"'([^']*)'", r"`\1`", str(fault.context["expected"]))
    said = re.fullmatch(r"Input should be (an? .*)", fault.message)
    return said[1] if said else None


def _found(faults: Sequence[Fault], value: Any) -> str:
    if any(fault.type in _BOUNDS or fault.type == "finite_number" for fault in faults):
        return ""
    if isinstance(value, str):
        # Another text than the ones that are expected: that it is a text says nothing.
        return "a text" if all(fault.type in _TYPES for fault in faults) else ""
    if isinstance(value, float) and any(fault.type == "int_from_float" for fault in faults):
        return "a number with a fraction"
    return next((name for kind, name in _KINDS if isinstance(value, kind)), "")
