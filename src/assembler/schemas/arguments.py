"""The arguments of a call as they come over the wire: JSON text."""

from __future__ import annotations

from collections.abc import Iterable

from assembler.errors import AssemblerError, Diagnostic, problem
from assembler.schemas.decoders import Fault
from assembler.schemas.json_text import NotJson, parse_json
from assembler.schemas.problems import parameter
from assembler.schemas.reading import json_type
from assembler.values import JSON


def parse_arguments(text: str, *, detailed: bool = False) -> dict[str, JSON]:
    """Reads the arguments of a call.

    Empty text is an empty object, since that is what some models send for a tool without parameters; a tool that has
    required ones misses them in the next step.

    Args:
        text: What the model wrote.
        detailed: Whether messages may show the text around a fault, which may hold secrets.

    Raises:
        AssemblerError: It is not JSON (``arguments/not-json``), or no object (``arguments/not-object``).
    """
    if not text or text.isspace():
        return {}
    try:
        value = parse_json(text)
    except NotJson as error:
        place = f" at {error.place}" if error.place else ""
        found = f", found {error.found!r}" if detailed and error.found else ""
        message = f"the arguments are not valid JSON: expected {error.expected}{place}{found}"
        raise problem(
            "arguments/not-json", message, hint="send the call again, its arguments as a JSON object"
        ) from None
    return as_object(value)


def as_object(value: JSON) -> dict[str, JSON]:
    """Arguments, which are an object.

    Raises:
        AssemblerError: They are something else (``arguments/not-object``).
    """
    if isinstance(value, dict):
        return value
    message = f"the arguments must be a JSON object, found {json_type(value)}"
    raise problem("arguments/not-object", message, hint="name each argument, or send {} for none")


def not_decodable(faults: Iterable[Fault], *, detailed: bool) -> AssemblerError:
    """The error for arguments in which JSON text is malformed.

    Args:
        faults: What is wrong, and where.
        detailed: Whether messages may show the text around a fault, which may hold secrets.
    """
    return AssemblerError(
        *(
            Diagnostic(
                "arguments/not-json",
                f"{parameter(fault.path)} {fault.message}"
                + (f", found {fault.found!r}" if detailed and fault.found else ""),
                hint=fault.hint,
            )
            for fault in faults
        )
    )
