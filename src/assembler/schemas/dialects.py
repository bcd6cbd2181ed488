"""What each provider's strict mode accepts, as data: another provider is another entry of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from assembler.errors import did_you_mean, problem

_STRING = frozenset({"pattern", "format"})
_NUMBER = frozenset({"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_ARRAY = frozenset({"minItems", "maxItems"})

APPLIES_TO: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        **dict.fromkeys(_STRING, frozenset({"string"})),
        **dict.fromkeys(_NUMBER, frozenset({"number", "integer"})),
        **dict.fromkeys(_ARRAY, frozenset({"array"})),
    }
)
"""The constraint keywords that a dialect may keep, and the types whose values they constrain."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How large one schema may be.

    Attributes:
        properties: Properties of all its objects together; more are refused.
        depth: Levels of objects within objects, the root being the first; what lies deeper travels as JSON text.
        characters: Characters of all names of properties and definitions and of all enumerated texts.
        enum_values: Values of all enumerations together; an enumeration beyond it is checked here only.
        long_enum: Values from which on an enumeration of texts is long.
        long_enum_characters: Characters of all texts of a long enumeration.
        advised_properties: What the provider documents where it is known to accept more; more is told.
    """

    properties: int
    depth: int
    characters: int
    enum_values: int
    long_enum: int
    long_enum_characters: int
    advised_properties: int | None = None


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one provider's strict mode accepts.

    Attributes:
        name: What configurations call it.
        strict: Whether the provider holds the model to a schema that is sent as strict. Where it does not, schemas go
            out nearly as they are.
        keywords: Constraint keywords that it accepts; all others are described in words and checked here.
        formats: Values of ``format`` that it accepts.
        limits: How large a schema may be; None where nothing is limited.
    """

    name: str
    strict: bool
    keywords: frozenset[str] = frozenset()
    formats: frozenset[str] = frozenset()
    limits: Limits | None = None


OPENAI = Dialect(
    name="openai",
    strict=True,
    keywords=_STRING | _NUMBER | _ARRAY,
    formats=frozenset(
        {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"},
    ),
    limits=Limits(
        properties=5_000,
        depth=10,
        characters=120_000,
        enum_values=1_000,
        long_enum=250,
        long_enum_characters=15_000,
    ),
)
"""OpenAI's guide "Structured model outputs", section "Supported schemas"."""

AZURE = Dialect(
    name="azure",
    strict=True,
    limits=Limits(
        properties=5_000,
        depth=5,
        characters=120_000,
        enum_values=500,
        long_enum=250,
        long_enum_characters=7_500,
        advised_properties=100,
    ),
)
"""Azure OpenAI, cautiously: Microsoft's page on structured outputs still lists every constraint keyword as unsupported,
and the smaller limits of the first generation."""

VLLM = Dialect(
    name="vllm",
    strict=True,
    keywords=_NUMBER | _ARRAY,
    formats=OPENAI.formats - {"email"},
)
"""vLLM, which holds tool calls to a schema with xgrammar or llguidance. xgrammar takes a `pattern` for one of the whole
text, and refuses addresses such as `a@b.c` for `email`: both would keep the model from what the schema allows."""

NONE = Dialect(name="none", strict=False)
"""A provider without strict mode, or one that ignores it: the model is told the schema and held to nothing."""

DIALECTS: Mapping[str, Dialect] = MappingProxyType({dialect.name: dialect for dialect in (OPENAI, AZURE, VLLM, NONE)})
"""The dialects by name."""


def dialect_named(name: str) -> Dialect:
    """The dialect that a configuration names.

    Raises:
        AssemblerError: There is none of this name (``schemas/unknown-dialect``).
    """
    if name in DIALECTS:
        return DIALECTS[name]
    raise problem("schemas/unknown-dialect", f"there is no dialect `{name}`", hint=did_you_mean(name, DIALECTS))
