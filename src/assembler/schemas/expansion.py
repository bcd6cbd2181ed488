"""How much work a schema can make of a small value, told before any is done."""

from __future__ import annotations

from typing import Any, NamedTuple

from assembler.schemas.document import Document, children, is_schema, refusal

MAX_STEPS = 10_000
"""Subschemas that one value may be held against."""
MAX_LEVELS = 300
"""Subschemas within subschemas, references followed; validators follow them with the machine's stack."""

_CEILING = 10**9


class Expansion(NamedTuple):
    """What holding a value against a schema can cost.

    Attributes:
        steps: Subschemas that one place in the value is held against, recursive ones counted once.
        growth: Times that the work multiplies for each level of the value, because the schema recurs.
    """

    steps: int
    growth: int

    def effort(self, depth: int) -> int:
        """Steps that listing the problems of one place in a value can take, at most.

        Args:
            depth: Levels of the value.
        """
        return self.steps * max(1, self.growth) ** depth


def expansion_of(document: Document) -> Expansion:
    """Measures a schema, each subschema once.

    Two hundred bytes of `allOf` and `$ref` can double the work thirty times over, which no cap on a schema's size
    prevents. Whether a value fits a schema that recurs is remembered by the validator for each pair of the two; listing
    the problems is not, hence the two numbers.

    Raises:
        SchemaRefused: The work has no sensible bound (``schemas/too-large``).
    """
    expansion = _Measure(document).of(document.root, "#", 0)
    if expansion.steps > MAX_STEPS:
        raise refusal("schemas/too-large", "#", f"holds a value against more than {MAX_STEPS:,} subschemas")
    return expansion


class _Measure:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._known: dict[int, Expansion] = {}
        self._open: set[int] = set()

    def of(self, schema: Any, pointer: str, level: int) -> Expansion:
        if not is_schema(schema):
            return Expansion(1, 0)
        key = id(schema)
        if key in self._known:
            return self._known[key]
        if key in self._open:
            return Expansion(1, 1)
        if level > MAX_LEVELS:
            raise refusal(
                "schemas/too-large", pointer, f"is nested deeper than {MAX_LEVELS} levels, references followed"
            )
        self._open.add(key)
        steps, growth = 1, 0
        # A property is held against one entry of `properties`, an item against all that speak of items.
        widest = Expansion(0, 0)
        for place, path, part in children(schema):
            if place == "definition":
                continue
            inner = self.of(part, f"{pointer}/{path}", level + 1)
            if place == "property":
                widest = Expansion(max(widest.steps, inner.steps), max(widest.growth, inner.growth))
            else:
                steps, growth = steps + inner.steps, growth + inner.growth
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if isinstance(reference := schema.get(keyword), str):
                inner = self.of(self._document.resolve(reference, pointer), reference, level + 1)
                steps, growth = steps + inner.steps, growth + inner.growth
        self._open.discard(key)
        result = Expansion(min(steps + widest.steps, _CEILING), min(growth + widest.growth, _CEILING))
        self._known[key] = result
        return result
