"""Compiles a tool's schema into the one that is sent, with the way back from what the model answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from assembler.errors import AssemblerError, Diagnostic, problem
from assembler.schemas.arguments import as_object, not_decodable
from assembler.schemas.compiler import compile_strict
from assembler.schemas.decoders import Decoder, Malformed, Members, NotEncodable
from assembler.schemas.dialects import Dialect
from assembler.schemas.document import Document, Schema, SchemaRefused
from assembler.schemas.plain import compile_plain
from assembler.schemas.problems import unknown_names
from assembler.schemas.validation import ArgumentValidator
from assembler.values import JSON, Irreducible, to_json

__all__ = ["CompiledSchema", "Origin", "SchemaRefused", "Unknown", "compile_schema"]

Origin = Literal["model", "python"]
"""Who wrote a value: the model, under the schema as sent, or Python, under the original one."""
Unknown = Literal["reject", "ignore"]
"""What becomes of arguments that are not declared."""


@dataclass(frozen=True, slots=True)
class CompiledSchema:
    """A schema as it is sent, and the way back.

    Attributes:
        schema: What is sent; not to be changed.
        notes: What was rewritten, carried as JSON text, or weakened, with its place in the original.
    """

    schema: Schema
    notes: tuple[Diagnostic, ...]
    _members: Members
    _validator: ArgumentValidator
    _wrapped: bool
    _open: bool

    def decode(
        self, value: JSON, origin: Origin = "model", *, unknown: Unknown = "reject", detailed: bool = False
    ) -> JSON:
        """What a value means under the original schema, which it is then checked against.

        JSON text is decoded once, where the schema put it. Null for an optional value means that it is absent, unless
        the original takes null and does not name it as the default. A value from Python means what it says: text is
        text, and only None for something optional is absent.

        Args:
            value: What was sent: an object.
            origin: Who wrote it.
            unknown: Whether undeclared arguments are an error or left out. An object whose schema says that it takes
                any takes them; inside of arguments, the original schema decides.
            detailed: Whether messages may show values.

        Raises:
            AssemblerError: It is no object, names undeclared arguments, holds malformed JSON, or does not fit
                (``arguments/…``), with a diagnostic for each problem.
        """
        if origin == "python":
            decoded = self._from_python(value, unknown, detailed)
        else:
            decoded = self._decoded(self._members, self._declared(as_object(value), unknown), True, detailed)
            if self._wrapped:
                decoded = _unwrapped(as_object(decoded))
        self._validator.check(decoded, detailed=detailed)
        return decoded

    def encode(self, value: JSON) -> JSON:
        """How a value of the original schema is sent: what `decode` turns back into it.

        One thing is lost: an explicit null where null is the default is sent as null, and read as absent.

        Raises:
            AssemblerError: It does not fit the original schema, or has properties that are not declared, which strict
                objects have no place for (``arguments/…``).
        """
        self._validator.check(value)
        try:
            return self._members.encode({"input": value} if self._wrapped else value)
        except NotEncodable as error:
            raise AssemblerError(unknown_names(error.names, None)) from None

    def _from_python(self, value: JSON, unknown: Unknown, detailed: bool) -> JSON:
        try:
            value = to_json(value)
        except Irreducible as error:
            raise problem("arguments/invalid", f"the arguments are not JSON: at {error}") from None
        if self._wrapped:
            return self._decoded(self._members.members["input"].decoder, value, False, detailed)
        return self._decoded(self._members, self._declared(as_object(value), unknown), False, detailed)

    def _declared(self, arguments: dict[str, JSON], unknown: Unknown) -> dict[str, JSON]:
        """The arguments without undeclared ones, in the strictness asked for."""
        if self._open or arguments.keys() <= self._members.members.keys():
            return arguments
        allowed = self._members.members
        if unknown == "reject":
            raise AssemblerError(unknown_names([name for name in arguments if name not in allowed], list(allowed)))
        return {name: part for name, part in arguments.items() if name in allowed}

    @staticmethod
    def _decoded(decoder: Decoder, value: JSON, from_model: bool, detailed: bool) -> JSON:
        try:
            return decoder.decode(value, from_model)
        except Malformed as error:
            raise not_decodable(error.faults, detailed=detailed) from None
        except RecursionError:
            raise problem("arguments/invalid", "the arguments are nested too deeply") from None


def compile_schema(schema: Mapping[str, Any], dialect: Dialect) -> CompiledSchema:
    """Compiles a JSON Schema of any draft for one dialect; the schema itself is not changed.

    Args:
        schema: The original.
        dialect: What the provider's strict mode accepts.

    Raises:
        SchemaRefused: It is no JSON Schema or refers outside (``schemas/invalid``), admits nothing
            (``schemas/unsatisfiable``), or is larger than this package (``schemas/too-large``) or the dialect
            (``schemas/over-limit``) takes.
    """
    document = Document(schema)
    validator = ArgumentValidator(document)
    compiled = compile_strict(document, dialect) if dialect.strict else compile_plain(document)
    return CompiledSchema(
        compiled.schema,
        compiled.notes,
        _members=compiled.members,
        _validator=validator,
        _wrapped=compiled.wrapped,
        _open=compiled.open,
    )


def _unwrapped(arguments: dict[str, JSON]) -> JSON:
    if "input" not in arguments:
        raise problem("arguments/missing", "`input` is required, and missing")
    return arguments["input"]
