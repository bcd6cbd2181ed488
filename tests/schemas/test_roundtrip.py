"""For every schema and every value that fits it: what the model is made to send means that value."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from assembler.schemas.codec import compile_schema
from assembler.schemas.dialects import AZURE, NONE, OPENAI, Dialect

Case = tuple[Any, st.SearchStrategy[Any]]
"""A schema, and a strategy for values that fit it."""

# Names that a walk by keyword instead of by position trips over, and names that pointers have to escape.
NAMES = st.sampled_from(
    [
        *("a", "b", "c", "type", "$ref", "$defs", "properties", "required", "anyOf", "enum", "default", "items"),
        *("input", "additional_properties", "a/b", "~", "%41", "", "ü", "x y"),
    ]
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["null", "{}", '"x"', "<not given>", "[1]", " "]
)
INTEGERS = st.integers(-(2**70), 2**70)
FLOATS = st.floats(allow_nan=False, allow_infinity=False, width=32)
SCALARS = st.none() | st.booleans() | INTEGERS | FLOATS | TEXT
JSONS = st.recursive(
    SCALARS, lambda part: st.lists(part, max_size=3) | st.dictionaries(NAMES | TEXT, part, max_size=3), max_leaves=5
)


def typed(kind: str, values: st.SearchStrategy[Any], **constraints: Any) -> Case:
    return {"type": kind, **constraints}, values


PLAIN: list[Case] = [
    typed("string", TEXT),
    typed("string", TEXT.filter(lambda text: len(text) >= 2), minLength=2, title="T", description="two or more"),
    typed("string", st.just("aab"), pattern="^a+b$"),
    typed("string", st.just("ok"), pattern="^(?!no)"),
    typed("string", st.just("2026-11-30"), format="date"),
    typed("string", st.just("https://a.example/"), format="uri"),
    typed("string", st.sampled_from(["x", "y"]), enum=["x", "y", 3]),
    typed("string", TEXT, default="x"),
    typed("integer", INTEGERS),
    typed("integer", st.integers(1, 9), minimum=1, maximum=9, format="int32"),
    typed("number", FLOATS | INTEGERS),
    typed("boolean", st.booleans()),
    typed("null", st.none()),
    ({"type": ["string", "null"]}, TEXT | st.none()),
    ({"type": ["integer", "boolean", "null"]}, INTEGERS | st.booleans() | st.none()),
    ({"type": ["string", "boolean", "null"]}, TEXT | st.booleans() | st.none()),
    ({"type": ["string", "object", "array", "null"]}, JSONS.filter(lambda v: not isinstance(v, bool | int | float))),
    ({"enum": ["a", 1, None, True, 1.5]}, st.sampled_from(["a", 1, None, True, 1.5])),
    ({"enum": [{"k": 1}, "s"]}, st.sampled_from([{"k": 1}, "s"])),
    ({"const": False}, st.just(False)),
    ({"const": [1]}, st.just([1])),
    ({}, JSONS),
    (True, JSONS),
    ({"description": "anything"}, JSONS),
    ({"not": {"type": "string"}}, JSONS.filter(lambda value: not isinstance(value, str))),
    typed("object", st.dictionaries(NAMES | TEXT, JSONS, max_size=3)),
    typed("object", st.dictionaries(NAMES, TEXT, max_size=3), additionalProperties={"type": "string"}),
    typed("object", st.just({}), properties={}, additionalProperties=False),
    typed("array", st.lists(JSONS, max_size=3)),
    typed("array", st.tuples(INTEGERS, TEXT).map(list), prefixItems=[{"type": "integer"}, {"type": "string"}]),
    ({"$ref": "#/$defs/tree"}, st.deferred(lambda: TREES)),
    ({"$ref": "#/$defs/list", "description": "linked"}, st.deferred(lambda: LINKED)),
    ({"$ref": "#/$defs/a~1b%25"}, TEXT),
    ({"$ref": "#/$defs/number", "minimum": 0}, st.integers(0, 9)),
]
TREES = st.recursive(
    st.just({"v": 1}), lambda part: st.fixed_dictionaries({"v": INTEGERS, "c": st.lists(part, max_size=2)})
)
LINKED = st.recursive(st.none(), lambda part: st.fixed_dictionaries({"v": JSONS}, optional={"n": part}), max_leaves=3)
DEFINITIONS: dict[str, Any] = {
    "tree": {
        "type": "object",
        "properties": {"v": {"type": "integer"}, "c": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
        "required": ["v"],
    },
    "list": {
        "anyOf": [
            {"type": "object", "properties": {"v": {}, "n": {"$ref": "#/$defs/list"}}, "required": ["v"]},
            {"type": "null"},
        ]
    },
    "a/b%": {"type": "string"},
    "number": {"type": "number"},
}


@st.composite
def objects(draw: st.DrawFn, parts: st.SearchStrategy[Case]) -> Case:
    properties: dict[str, Case] = draw(st.dictionaries(NAMES, parts, max_size=4))
    required = [name for name in properties if draw(st.booleans())]
    schema: dict[str, Any] = {"type": "object", "properties": {name: part for name, (part, _) in properties.items()}}
    if required or draw(st.booleans()):
        schema["required"] = required
    values = st.fixed_dictionaries(
        {name: properties[name][1] for name in required},
        optional={name: part for name, (_, part) in properties.items() if name not in required},
    )
    openness = draw(st.sampled_from(["silent", "closed", "open", "patterns"]))
    if openness == "closed":
        schema["additionalProperties"] = False
    elif openness == "open":
        schema["additionalProperties"] = draw(st.sampled_from([True, {}]))
        extra = st.dictionaries(NAMES | TEXT, JSONS, max_size=2)
        values = st.builds(lambda known, more: {**more, **known}, values, _without(extra, set(properties)))
    elif openness == "patterns":
        schema["patternProperties"] = {"^zz": {"type": "integer"}}
        extra = st.dictionaries(st.sampled_from(["zz", "zzz"]), INTEGERS)
        values = st.builds(lambda known, more: {**known, **more}, values, extra)
    return schema, values


def _without(values: st.SearchStrategy[dict[str, Any]], names: set[str]) -> st.SearchStrategy[dict[str, Any]]:
    return values.map(lambda value: {name: part for name, part in value.items() if name not in names})


def arrays(part: Case) -> Case:
    return {"type": "array", "items": part[0]}, st.lists(part[1], max_size=3)


def unions(parts: list[Case]) -> Case:
    return {"anyOf": [schema for schema, _ in parts]}, st.one_of([values for _, values in parts])


CASES = st.recursive(
    st.sampled_from(PLAIN),
    lambda parts: (
        objects(parts)
        | parts.map(arrays)
        | st.lists(parts, min_size=1, max_size=3).map(unions)
        | parts.map(lambda part: unions([part, ({"type": "null"}, st.none())]))
        | parts.map(lambda part: ({"allOf": [part[0]], "description": "one"}, part[1]))
    ),
    max_leaves=6,
)


@st.composite
def roots(draw: st.DrawFn) -> tuple[dict[str, Any], Any]:
    """A schema that a tool may have, and a value that fits it."""
    schema, values = draw(objects(CASES) | CASES)
    root = {**schema, "$defs": DEFINITIONS} if isinstance(schema, dict) else {"$defs": DEFINITIONS}
    return root, draw(values)


def exact(value: Any) -> str:
    """Text in which 1, 1.0 and true differ."""
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize("dialect", [OPENAI, AZURE, NONE], ids=lambda dialect: dialect.name)
@given(case=roots())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_what_is_sent_means_the_value(dialect: Dialect, case: tuple[dict[str, Any], Any], broken_rules: Any) -> None:
    original, value = case
    # Arguments are objects, without parameters unless the root says something else.
    shaped = original.keys() & {"properties", "additionalProperties", "enum", "const", "anyOf", "allOf", "$ref"}
    assume(value == {} or shaped or original.get("type", "object") != "object")
    assume(jsonschema_rs.Draft202012Validator(original).is_valid(value))
    before = copy.deepcopy(original)

    compiled = compile_schema(original, dialect)
    assert original == before
    assert exact(compile_schema(original, dialect).schema) == exact(compiled.schema)
    sent = json.loads(json.dumps(compiled.encode(value)))
    assert exact(compiled.decode(sent)) == exact(value)
    if "null" not in exact(value):  # None for something optional is absent
        assert exact(compiled.decode(value, "python")) == exact(value)
    assert jsonschema_rs.Draft202012Validator(compiled.schema).is_valid(sent)
    if dialect.strict:
        depth = dialect.limits.depth if dialect.limits else 0
        assert not broken_rules(compiled.schema, constraints=bool(dialect.keywords), depth=depth)
