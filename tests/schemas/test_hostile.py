"""Schemas and arguments made to cost time, memory or the process end soon, with a reason.

There are no clocks here: work without a bound would run into the suite's own time limit.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assembler.errors import AssemblerError
from assembler.schemas.codec import CompiledSchema, SchemaRefused, compile_schema
from assembler.schemas.dialects import AZURE, NONE, OPENAI, Dialect

TEXT = {"type": "string"}


def nested(levels: int) -> Any:
    schema: Any = TEXT
    for _ in range(levels):
        schema = {"type": "object", "properties": {"n": schema}, "required": ["n"]}
    return schema


def nested_list(levels: int, leaf: Any = 1) -> Any:
    value = leaf
    for _ in range(levels):
        value = [value]
    return value


def circular() -> Any:
    schema: Any = {"type": "object"}
    schema["properties"] = {"again": schema}
    return schema


def shared(levels: int) -> Any:
    schema: Any = TEXT
    for _ in range(levels):
        schema = {"anyOf": [schema, schema]}
    return schema


def doubling(keyword: str, levels: int) -> Any:
    """Each definition holds a value against the next one twice."""
    definitions: Any = {
        f"d{level}": {keyword: [{"$ref": f"#/$defs/d{level + 1}"}, {"$ref": f"#/$defs/d{level + 1}"}]}
        for level in range(levels)
    }
    definitions[f"d{levels}"] = {"type": "integer"}
    return {"type": "object", "properties": {"p": {"$ref": "#/$defs/d0"}}, "$defs": definitions}


def doubling_anchors(levels: int) -> Any:
    schema = doubling("allOf", levels)
    for level in range(levels):
        schema["$defs"][f"d{level}"]["$anchor"] = f"d{level}"
        schema["$defs"][f"d{level}"]["allOf"] = [{"$ref": f"#d{level + 1}"}] * 2
    schema["$defs"][f"d{levels}"]["$anchor"] = f"d{levels}"
    return schema


def hidden(levels: int) -> Any:
    """The same, where no keyword puts a schema."""
    schema = doubling("allOf", levels)
    schema["x-hidden"] = schema.pop("$defs")
    for level in range(levels):
        schema["x-hidden"][f"d{level}"]["allOf"] = [{"$ref": f"#/x-hidden/d{level + 1}"}] * 2
    schema["properties"]["p"] = {"$ref": "#/x-hidden/d0"}
    return schema


def chain(levels: int, step: Any) -> Any:
    definitions = {f"d{level}": step({"$ref": f"#/$defs/d{level + 1}"}) for level in range(levels)}
    return {"properties": {"p": {"$ref": "#/$defs/d0"}}, "$defs": {**definitions, f"d{levels}": TEXT}}


@pytest.mark.parametrize("dialect", [OPENAI, AZURE, NONE], ids=lambda dialect: dialect.name)
@pytest.mark.parametrize(
    "schema",
    [
        nested(60),
        nested(100_000),
        circular(),
        shared(60),
        shared(16),
        {"properties": {"p": {"enum": list(range(60_000))}}},
        {"properties": {"p": {"enum": ["x" * 3_000_000]}}},
        doubling("allOf", 40),
        doubling("anyOf", 40),
        doubling("oneOf", 40),
        doubling_anchors(40),
        hidden(40),
        chain(2_000, lambda reference: reference),
        chain(2_000, lambda reference: {"type": "array", "items": reference}),
        chain(2_000, lambda reference: {"properties": {"n": reference, "m": reference}}),
    ],
    ids=[
        *("deep", "deeper", "circular", "shared", "shared-16", "wide", "long", "allOf", "anyOf", "oneOf"),
        *("anchors", "hidden", "references", "lists", "objects"),
    ],
)
def test_schemas_without_a_sensible_bound_are_refused(schema: Any, dialect: Dialect) -> None:
    with pytest.raises(SchemaRefused) as caught:
        compile_schema(schema, dialect)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "schemas/too-large"
    assert len(diagnostic.message) < 400


@pytest.mark.parametrize(
    "schema",
    [
        nested(45),
        doubling("anyOf", 10),
        chain(100, lambda reference: {"type": "array", "items": reference}),
        # fans out over the levels of a value, which has to be as large itself
        chain(100, lambda reference: {"properties": {"n": reference, "m": reference}}),
        {"properties": {f"p{index}": {"type": ["string", "null"]} for index in range(4_999)}},
    ],
    ids=["deep", "alternatives", "lists", "objects", "wide"],
)
def test_large_schemas_compile(schema: Any, broken_rules: Any) -> None:
    assert not broken_rules(compile_schema(schema, OPENAI).schema)


class TestArguments:
    FORK = {
        "type": "object",
        "properties": {"p": {"$ref": "#/$defs/fork"}},
        "$defs": {
            "fork": {
                "anyOf": [
                    {"type": "array", "items": {"$ref": "#/$defs/fork"}, "minItems": 1},
                    {"type": "array", "items": {"$ref": "#/$defs/fork"}, "maxItems": 0},
                    {"type": "integer"},
                ]
            }
        },
    }
    """Each level of a wrong value doubles the problems that a validator lists."""

    @pytest.fixture
    def fork(self) -> CompiledSchema:
        return compile_schema(self.FORK, OPENAI)

    def test_alternatives_within_alternatives(self, fork: CompiledSchema) -> None:
        assert fork.decode({"p": nested_list(90)}) == {"p": nested_list(90)}
        with pytest.raises(AssemblerError, match="`p` fits no alternative"):
            fork.decode({"p": nested_list(4, "x")})
        with pytest.raises(AssemblerError, match="the arguments do not fit the tool's parameters"):
            fork.decode({"p": nested_list(90, "x")})

    @pytest.mark.parametrize("levels", [1_000, 100_000])
    def test_deep_values(self, levels: int, fork: CompiledSchema) -> None:
        linked = {
            "$ref": "#/$defs/n",
            "$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}, "v": TEXT}}},
        }
        value: Any = {}
        for _ in range(levels):
            value = {"n": value}
        for codec, deep in ((fork, {"p": nested_list(levels)}), (compile_schema(linked, OPENAI), value)):
            for origin in ("model", "python"):
                with pytest.raises(AssemblerError, match=r"nested (deeper|too deeply)"):
                    codec.decode(deep, origin)

    def test_wide_values_are_told_by_their_first_problem(self) -> None:
        codec = compile_schema({"properties": {"p": {"type": "array", "items": {"type": "integer"}}}}, OPENAI)
        with pytest.raises(AssemblerError) as caught:
            codec.decode({"p": ["x"] * 300_000})
        messages = [diagnostic.message for diagnostic in caught.value.diagnostics]
        assert messages == ["`p[0]` must be integer, found string", "there may be further problems"]

    def test_patterns_that_backtrack(self) -> None:
        codec = compile_schema({"properties": {"p": {"type": "string", "pattern": "^(?=(a+)+$)"}}}, OPENAI)
        with pytest.raises(AssemblerError, match="`p`"):
            codec.decode({"p": "a" * 60 + "!"})

    def test_the_stack_is_left_as_it_was(self) -> None:
        assert sys.getrecursionlimit() >= 1_000


NAMES = st.sampled_from(["a", "b", "input", "$ref"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.floats(-1, 1, width=16)
    | st.sampled_from(["", "a", "null", "{"]),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(NAMES, part, max_size=3),
    max_leaves=6,
)
TYPES = st.sampled_from(["string", "number", "integer", "boolean", "null", "object", "array"])
REFERENCES = st.sampled_from(
    ["#", "#/$defs/a", "#/$defs/b", "#/properties/a", "#/items/0", "#a", "a", "#/%ff~", "#/x-own"]
)


def schemas(part: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Schemas whose keywords mostly have values of the right shape, and mostly make no sense together."""
    lists, maps = st.lists(part, min_size=1, max_size=3), st.dictionaries(NAMES, part, max_size=3)
    values: dict[str, st.SearchStrategy[Any]] = {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
        "enum": st.lists(VALUES, min_size=1, max_size=4),
        "required": st.lists(NAMES, max_size=2, unique=True),
        "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2),
        "exclusiveMinimum": st.integers(-1, 3) | st.booleans(),
        "pattern": st.sampled_from(["", "^a", "(?=a)", "("]),
        "format": st.sampled_from(["date", "int32"]),
        "$schema": st.sampled_from(["http://json-schema.org/draft-04/schema#", "2019-09", "draft-07", "my/own"]),
        **dict.fromkeys(("$ref", "$dynamicRef", "$recursiveRef"), REFERENCES),
        **dict.fromkeys(("$id", "$anchor", "$dynamicAnchor"), st.sampled_from(["a", "#a", "b"])),
        **dict.fromkeys(("const", "default", "x-own", "nullable"), VALUES),
        **dict.fromkeys(("minimum", "minLength", "maxItems", "minProperties"), st.integers(0, 3)),
        **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), lists),
        **dict.fromkeys(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"), maps),
        **dict.fromkeys(("additionalProperties", "unevaluatedProperties", "additionalItems", "contains", "not"), part),
        **dict.fromkeys(("if", "then", "propertyNames"), part),
        "items": part | lists,
        "dependencies": maps | st.dictionaries(NAMES, st.lists(NAMES, max_size=2), max_size=2),
    }
    entries = st.sampled_from(list(values)).flatmap(lambda keyword: st.tuples(st.just(keyword), values[keyword]))
    return st.lists(entries | st.tuples(st.sampled_from(list(values)), VALUES), max_size=4).map(dict)


SCHEMAS = schemas(st.recursive(st.booleans() | st.just({}), lambda part: schemas(part) | schemas(part), max_leaves=10))


@given(schema=SCHEMAS, value=VALUES)
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_anything_at_all_is_compiled_or_refused(schema: Any, value: Any, broken_rules: Any) -> None:
    """And once compiled, it judges anything at all."""
    for dialect in (OPENAI, NONE):
        with contextlib.suppress(SchemaRefused):
            compiled = compile_schema(schema, dialect)
            assert not dialect.strict or not broken_rules(compiled.schema)
            for sent in ({"input": value}, {"a": value, "b": value}, value):
                with contextlib.suppress(AssemblerError):
                    compiled.decode(sent)
                with contextlib.suppress(AssemblerError):
                    compiled.decode(compiled.encode(sent))
