"""The schema of one tool: what is sent of it, and what a call's arguments mean. Made once a snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from assembler.errors import Diagnostic
from assembler.schemas.arguments import as_object, parse_arguments
from assembler.schemas.codec import CompiledSchema, Unknown, compile_schema
from assembler.schemas.dialects import NONE, Dialect
from assembler.schemas.document import Schema, SchemaRefused
from assembler.values import JSON

Strictness = Literal["require", "prefer", "never"]
"""Whether a tool must, should or must not be sent as strict."""


class ToolSchema:
    """A tool's schema under one dialect and policy.

    Attributes:
        sent: The parameters as they are sent; not to be changed.
        strict: The flag that is sent with them.
        notes: What was rewritten, carried, weakened, or not sent as strict, and why.
    """

    __slots__ = ("_compiled", "_detailed", "_unknown", "notes", "sent", "strict")

    def __init__(
        self, schema: Mapping[str, Any], dialect: Dialect, *, strict: Strictness, unknown: Unknown, detailed: bool
    ) -> None:
        """Compiles a tool's schema.

        Args:
            schema: The original.
            dialect: What the provider accepts.
            strict: Whether it is sent as strict.
            unknown: What becomes of undeclared arguments.
            detailed: Whether error messages may show values, which may hold secrets.

        Raises:
            SchemaRefused: It cannot be used at all; or strictness is required, and it cannot be strict, or the provider
                does not hold the model to it (``schemas/not-strict``).
        """
        compiled, notes = _compiled(schema, dialect, strict)
        self._compiled: CompiledSchema = compiled
        self._unknown: Unknown = unknown
        self._detailed = detailed
        self.sent: Schema = compiled.schema
        self.strict: bool = dialect.strict and strict != "never" and not notes
        self.notes: tuple[Diagnostic, ...] = (*notes, *compiled.notes)

    def decode(self, text: str) -> dict[str, JSON]:
        """What the arguments of a model's call mean.

        Args:
            text: The JSON text that the model wrote, once the call is complete.

        Raises:
            AssemblerError: It is no JSON, or not what the tool takes; with a diagnostic for each problem, to be shown
                to the model (``arguments/…``).
        """
        arguments = parse_arguments(text, detailed=self._detailed)
        return as_object(self._compiled.decode(arguments, unknown=self._unknown, detailed=self._detailed))

    def check(self, arguments: Mapping[str, JSON]) -> dict[str, JSON]:
        """The arguments of a call from Python, reduced to JSON and checked. Text in them is text, never JSON.

        Raises:
            AssemblerError: They are not what the tool takes (``arguments/…``).
        """
        value = self._compiled.decode(dict(arguments), "python", unknown=self._unknown, detailed=self._detailed)
        return as_object(value)


def _compiled(
    schema: Mapping[str, Any], dialect: Dialect, strict: Strictness
) -> tuple[CompiledSchema, tuple[Diagnostic, ...]]:
    """The compiled schema, and why it is not sent as strict although it should be."""
    if strict == "never":
        return compile_schema(schema, NONE), ()
    if dialect.strict:
        try:
            return compile_schema(schema, dialect), ()
        except SchemaRefused as refusal:
            if strict == "require":
                raise
            compiled = compile_schema(schema, NONE)
            return compiled, tuple(_not_strict(reason) for reason in refusal.diagnostics)
    reason = Diagnostic(
        "schemas/not-strict",
        f"the dialect `{dialect.name}` has no strict mode, so the model is not held to the schema",
        severity="info",
        hint="arguments are checked here all the same",
    )
    if strict == "require":
        raise SchemaRefused(
            replace(reason, severity="error", hint="choose a model with strict mode, or `strict: prefer`")
        )
    return compile_schema(schema, dialect), (reason,)


def _not_strict(reason: Diagnostic) -> Diagnostic:
    hint = "arguments are checked here all the same"
    return replace(
        reason,
        code="schemas/not-strict",
        severity="warning",
        message=f"not sent as strict: {reason.message}",
        hint=hint,
    )
