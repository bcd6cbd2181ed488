"""Whether a value fits a JSON Schema, and if not, what is wrong with it in words that a model can act on.

The one place that knows the validator. It never fetches: every reference is resolved inside the schema beforehand
(``document``), and the validator's own retrieval is refused besides. Messages name places, keywords and what was
expected, never a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn, cast

from assembler.errors import AssemblerError, Diagnostic, problem
from assembler.schemas.document import Document, refusal, token
from assembler.schemas.expansion import expansion_of
from assembler.schemas.json_text import depth_of, size_of
from assembler.schemas.problems import parameter, problem_of, reason_of
from assembler.values import JSON, MAX_DEPTH

if TYPE_CHECKING:
    import jsonschema_rs

MAX_PROBLEMS = 20
"""Problems that one answer lists."""

_MAX_LEVELS = 3 * MAX_DEPTH
"""Levels of a value: the validator follows them with the machine's stack, and text within a value adds its own."""
_REPORT_BUDGET = 200_000
"""Steps that finding every problem may take, about a tenth of a second."""
_METASCHEMAS = {
    4: "http://json-schema.org/draft-04/schema#",
    6: "http://json-schema.org/draft-06/schema#",
    7: "http://json-schema.org/draft-07/schema#",
    2019: "https://json-schema.org/draft/2019-09/schema",
    2020: "https://json-schema.org/draft/2020-12/schema",
}
_MODERN = frozenset(
    {"prefixItems", "$defs", "$anchor", "dependentRequired", "dependentSchemas", "unevaluatedProperties"}
)


class ArgumentValidator:
    """A compiled original schema. Made once, used for every call, safe to share between threads."""

    __slots__ = ("_expansion", "_validator")

    def __init__(self, document: Document) -> None:
        """Compiles the schema.

        Raises:
            SchemaRefused: It is no JSON Schema (``schemas/invalid``), or checking a value would take unbounded time
                (``schemas/too-large``).
        """
        self._expansion = expansion_of(document)
        self._validator = _compiled(document)

    def check(self, value: JSON, *, detailed: bool = False) -> None:
        """Checks one value.

        Args:
            value: The decoded arguments.
            detailed: Whether messages may show what was found, which may hold secrets.

        Raises:
            AssemblerError: It does not fit, with a diagnostic for each problem (``arguments/missing``,
                ``arguments/unknown``, ``arguments/invalid``).
        """
        depth = depth_of(value)
        if depth > _MAX_LEVELS:
            raise problem("arguments/invalid", f"the arguments are nested deeper than {_MAX_LEVELS} levels")
        try:
            if self._validator.is_valid(value):
                return
            problems = self._problems(value, depth, detailed)
        except ValueError:
            raise _unreadable(value) from None
        raise AssemblerError(*problems)

    def _problems(self, value: JSON, depth: int, detailed: bool) -> list[Diagnostic]:
        """All problems if that is affordable, else the first, else only that there are some."""
        effort = self._expansion.effort(depth)
        if effort > _REPORT_BUDGET:
            hint = "check them against the tool's parameters, above all where these have alternatives"
            return [Diagnostic("arguments/invalid", "the arguments do not fit the tool's parameters", hint=hint)]
        if effort * size_of(value) > _REPORT_BUDGET:
            errors, complete = self._first(value), False
        else:
            errors = list(islice(self._validator.iter_errors(value), MAX_PROBLEMS + 1))
            complete = len(errors) <= MAX_PROBLEMS
        problems = [problem_of(error, value, detailed=detailed) for error in errors[:MAX_PROBLEMS]]
        if not complete:
            problems.append(Diagnostic("arguments/invalid", "there may be further problems", severity="info"))
        return problems

    def _first(self, value: JSON) -> list[jsonschema_rs.ValidationError]:
        import jsonschema_rs

        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            return [error]
        return []


def _compiled(document: Document) -> jsonschema_rs.Validator:
    import jsonschema_rs

    # The draft is decided here: an unknown `$schema` would be looked for. An `$id` would only move the references.
    schema = {**document.root, "$schema": _METASCHEMAS[draft_of(document)]}
    schema.pop("$id", None)
    try:
        return jsonschema_rs.validator_for(schema, validate_formats=True, retriever=_refuse_retrieval)
    except jsonschema_rs.ValidationError as error:
        pointer = "/".join(["#", *(token(str(step)) for step in error.instance_path)])
        raise refusal("schemas/invalid", pointer, f"is no JSON Schema: {reason_of(error)}") from None
    except (ValueError, jsonschema_rs.ReferencingError):
        raise refusal("schemas/invalid", "#", "cannot be compiled by the validator") from None


def draft_of(document: Document) -> int:
    """The draft of a schema: what `$schema` says, else the newest that gives its keywords a meaning.

    Returns:
        4, 6, 7, 2019 or 2020.
    """
    declared = document.root.get("$schema")
    if isinstance(declared, str):
        for mark, draft in (("2020-12", 2020), ("2019-09", 2019), ("draft-07", 7), ("draft-06", 6), ("draft-04", 4)):
            if mark in declared:
                return draft
    if "exclusive?" in document.keywords:
        return 4
    if document.keywords & {"items[]", "additionalItems", "dependencies"}:
        return 2019 if document.keywords & _MODERN else 7
    return 2019 if "$recursiveRef" in document.keywords else 2020


def _refuse_retrieval(uri: str) -> NoReturn:
    raise LookupError("nothing is retrieved")


def _unreadable(value: JSON) -> AssemblerError:
    """What the validator cannot read at all, told by looking for it."""
    stack: list[tuple[Any, tuple[str | int, ...]]] = [(value, ())]
    while stack:
        current, path = stack.pop()
        if isinstance(current, str) and any("\ud800" <= character <= "\udfff" for character in current):
            message = f"{parameter(path)} holds half of a surrogate pair, which is not a character"
            return problem("arguments/invalid", message, hint="write the character itself, or both halves")
        if isinstance(current, Mapping):
            for key, part in cast("Mapping[str, Any]", current).items():
                stack += [(key, path), (part, (*path, key))]
        elif isinstance(current, list):
            stack.extend((part, (*path, index)) for index, part in enumerate(cast("list[Any]", current)))
    return problem("arguments/invalid", "the arguments hold something that is not JSON")
