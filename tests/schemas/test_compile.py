"""What is sent for a schema, and what is said about it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assembler.schemas.codec import SchemaRefused, compile_schema
from assembler.schemas.dialects import AZURE, NONE, OPENAI

OBJECT = {"type": "object"}
TEXT = {"type": "string"}


def tool(parameter: Any, *, required: bool = True, **rest: Any) -> dict[str, Any]:
    """A schema with one parameter, `p`."""
    schema = {**OBJECT, "properties": {"p": parameter}, "additionalProperties": False, **rest}
    return {**schema, "required": ["p"]} if required else schema


def sent(parameter: Any, *, required: bool = True, **rest: Any) -> Any:
    """What OpenAI is sent for a parameter."""
    schema = compile_schema(tool(parameter, required=required, **rest), OPENAI).schema
    assert schema["required"] == ["p"]
    assert schema["additionalProperties"] is False
    return schema["properties"]["p"]


def closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {**OBJECT, "properties": properties, "required": list(properties), "additionalProperties": False}


@pytest.mark.parametrize(
    ("original", "expected"),
    [
        (TEXT, TEXT),
        ({"type": "number", "minimum": 0, "multipleOf": 2}, {"type": "number", "minimum": 0, "multipleOf": 2}),
        ({"type": "string", "format": "date", "pattern": "^2"}, {"type": "string", "format": "date", "pattern": "^2"}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        # what only programs need is left out
        ({"title": "P", "$comment": "c", "examples": ["e"], "x-order": 1, "deprecated": True, **TEXT}, TEXT),
        # a constraint that does not fit is put into words
        (
            {"type": "string", "minLength": 3, "description": "A name."},
            {"type": "string", "description": "A name. (minLength: 3)"},
        ),
        ({"type": "integer", "format": "int32"}, {"type": "integer", "description": '(format: "int32")'}),
        (
            {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
            {"type": "integer", "minimum": 1, "description": "(exclusiveMinimum: true)"},
        ),
        ({"type": "string", "pattern": "^(?!a)"}, {"type": "string", "description": '(pattern: "^(?!a)")'}),
        ({"type": "string", "pattern": r"(a)\1"}, {"type": "string", "description": r'(pattern: "(a)\\1")'}),
        ({"type": "string", "not": {"const": "x"}}, {"type": "string", "description": '(not: {"const": "x"})'}),
        ({"type": "string", "default": "x"}, {"type": "string", "description": '(default: "x")'}),
        ({"type": "string", "default": None}, TEXT),
        # enumerations get a type, and lose what their type rules out
        ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        (
            {"enum": ["a", 1, None, True]},
            {"type": ["string", "integer", "null", "boolean"], "enum": ["a", 1, None, True]},
        ),
        ({"type": "string", "enum": ["a", "a", 1, None]}, {"type": "string", "enum": ["a"]}),
        ({"type": "number", "enum": [1, 1.5]}, {"type": ["integer", "number"], "enum": [1, 1.5]}),
        ({"const": 1}, {"type": "integer", "enum": [1]}),
        # lists
        (
            {"type": "array", "items": TEXT, "minItems": 1, "uniqueItems": True},
            {"type": "array", "items": TEXT, "minItems": 1, "description": "(uniqueItems: true)"},
        ),
        ({"items": TEXT}, {"type": "array", "items": TEXT}),
        ({"type": ["array", "null"], "items": TEXT}, {"type": ["array", "null"], "items": TEXT}),
        # objects
        ({**OBJECT, "properties": {"a": TEXT}, "required": ["a"]}, closed({"a": TEXT})),
        ({"properties": {"a": TEXT}}, closed({"a": {"type": ["string", "null"]}})),
        ({**OBJECT, "additionalProperties": False}, closed({})),
        ({**OBJECT, "properties": {"a": TEXT, "b": False}, "required": ["a"]}, closed({"a": TEXT})),
        (
            {"type": ["object", "null"], "properties": {"a": TEXT}, "required": ["a"]},
            {**closed({"a": TEXT}), "type": ["null", "object"]},
        ),
        # unions
        ({"anyOf": [TEXT, {"type": "null"}]}, {"type": ["string", "null"]}),
        ({"anyOf": [TEXT, {"type": "integer"}]}, {"anyOf": [TEXT, {"type": "integer"}]}),
        ({"oneOf": [TEXT, {"type": "integer"}]}, {"anyOf": [TEXT, {"type": "integer"}]}),
        ({"allOf": [TEXT], "description": "one"}, {"type": "string", "description": "one"}),
        ({"anyOf": [TEXT, False]}, TEXT),
    ],
    ids=lambda value: json.dumps(value)[:60],
)
def test_a_required_parameter(original: Any, expected: Any) -> None:
    assert sent(original) == expected


@pytest.mark.parametrize(
    ("original", "expected"),
    [
        (TEXT, {"type": ["string", "null"]}),
        ({"enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"type": ["string", "null"], "default": None}, {"type": ["string", "null"]}),
        ({"anyOf": [TEXT, {"type": "integer"}]}, {"anyOf": [TEXT, {"type": "integer"}, {"type": "null"}]}),
        # null means something here, so that another value has to stand for absence
        (
            {"type": ["integer", "null"], "description": "d"},
            {
                "anyOf": [
                    {"type": ["integer", "null"]},
                    {"type": "string", "enum": ["<not given>"], "description": "stands for: not given"},
                ],
                "description": "d",
            },
        ),
        (
            {"type": ["string", "null"]},
            {
                "anyOf": [
                    {"type": ["string", "null"]},
                    {"type": "boolean", "enum": [False], "description": "stands for: not given"},
                ]
            },
        ),
        (
            {"type": ["string", "boolean", "null"]},
            {
                "type": ["string", "null"],
                "description": '(JSON-encoded; schema: {"type": ["string", "boolean", "null"]})',
            },
        ),
        ({}, {"type": ["string", "null"], "description": "(JSON-encoded)"}),
    ],
    ids=lambda value: json.dumps(value)[:60],
)
def test_an_optional_parameter(original: Any, expected: Any) -> None:
    assert sent(original, required=False) == expected


@pytest.mark.parametrize(
    ("original", "description"),
    [
        ({}, "(JSON-encoded)"),
        (True, "(JSON-encoded)"),
        ({"description": "Anything."}, "Anything. (JSON-encoded)"),
        ({"default": None}, "(JSON-encoded)"),
        ({"default": [1]}, "(JSON-encoded; default: [1])"),
        (OBJECT, "(JSON-encoded object)"),
        ({"type": "array"}, "(JSON-encoded array)"),
        (
            {**OBJECT, "additionalProperties": {}},
            '(JSON-encoded object; schema: {"type": "object", "additionalProperties": {}})',
        ),
        ({"type": "array", "items": {}}, '(JSON-encoded array; schema: {"type": "array", "items": {}})'),
        ({"items": [TEXT]}, '(JSON-encoded; schema: {"items": [{"type": "string"}]})'),
        ({"enum": [{}]}, '(JSON-encoded object; schema: {"enum": [{}]})'),
        ({"minLength": 1}, '(JSON-encoded; schema: {"minLength": 1})'),
        # alternatives that only the text could tell apart
        ({"anyOf": [TEXT, OBJECT]}, '(JSON-encoded; schema: {"anyOf": [{"type": "string"}, {"type": "object"}]})'),
        ({"type": ["string", "object"]}, '(JSON-encoded; schema: {"type": ["string", "object"]})'),
        (
            {"allOf": [TEXT, {"minLength": 1}]},
            '(JSON-encoded; schema: {"allOf": [{"type": "string"}, {"minLength": 1}]})',
        ),
    ],
    ids=lambda value: json.dumps(value)[:60],
)
def test_what_strict_mode_cannot_say_travels_as_text(original: Any, description: str) -> None:
    compiled = compile_schema(tool(original), OPENAI)
    assert compiled.schema["properties"]["p"] == {"type": "string", "description": description}
    assert [note.code for note in compiled.notes] == ["schemas/carried"]
    assert "`#/properties/p`" in compiled.notes[0].message


def test_a_description_takes_no_more_of_a_schema_than_a_line() -> None:
    text = sent({"enum": [{"k": "x" * 5_000}]})["description"]
    assert len(text) < 350
    assert "…" in text


class TestReferences:
    DEFINITIONS = {
        "$defs": {"Pair/1": closed({"a": TEXT}), "Node": {**OBJECT, "properties": {"n": {"$ref": "#/$defs/Node"}}}}
    }

    def compiled(self, parameter: Any, *, required: bool = True) -> Any:
        return compile_schema(tool(parameter, required=required, **self.DEFINITIONS), OPENAI).schema

    def test_what_is_referred_to_is_defined_once(self) -> None:
        schema = self.compiled({"type": "array", "items": {"$ref": "#/$defs/Pair~11"}})
        assert schema["properties"]["p"] == {"type": "array", "items": {"$ref": "#/$defs/Pair_1"}}
        assert schema["$defs"] == {"Pair_1": closed({"a": TEXT})}

    def test_a_reference_stands_alone(self) -> None:
        parameter = self.compiled({"$ref": "#/$defs/Pair~11", "description": "d"})["properties"]["p"]
        assert parameter == {"anyOf": [{"$ref": "#/$defs/Pair_1"}], "description": "d"}

    def test_an_optional_reference(self) -> None:
        parameter = self.compiled({"$ref": "#/$defs/Pair~11"}, required=False)["properties"]["p"]
        assert parameter == {"anyOf": [{"$ref": "#/$defs/Pair_1"}, {"type": "null"}]}

    def test_recursion(self) -> None:
        schema = self.compiled({"$ref": "#/$defs/Node"})
        assert schema["$defs"]["Node"] == closed({"n": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}})

    def test_recursion_to_the_root(self) -> None:
        schema = compile_schema({**OBJECT, "properties": {"n": {"$ref": "#"}}}, OPENAI).schema
        child = {"anyOf": [{"$ref": "#/$defs/Root"}, {"type": "null"}]}
        assert schema == {**closed({"n": child}), "$defs": {"Root": closed({"n": child})}}

    def test_a_reference_to_another_parameter_is_moved_to_the_definitions(self) -> None:
        original = {**OBJECT, "properties": {"a": TEXT, "b": {"$ref": "#/properties/a"}}, "required": ["a", "b"]}
        schema = compile_schema(original, OPENAI).schema
        assert schema["properties"]["b"] == {"$ref": "#/$defs/a"}
        assert schema["$defs"] == {"a": TEXT}

    def test_constraints_beside_a_reference_make_it_travel_as_text(self) -> None:
        assert self.compiled({"$ref": "#/$defs/Pair~11", "minProperties": 1})["properties"]["p"]["type"] == "string"

    def test_no_definition_is_sent_that_only_text_needed(self) -> None:
        assert "$defs" not in self.compiled({"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "integer"}]})

    def test_names_of_definitions_do_not_clash(self) -> None:
        definitions = {"$defs": {"a/b": TEXT, "a_b": {"type": "integer"}}}
        properties = {"x": {"$ref": "#/$defs/a~1b"}, "y": {"$ref": "#/$defs/a_b"}}
        original = {**OBJECT, "properties": properties, "required": ["x", "y"], **definitions}
        schema = compile_schema(original, OPENAI).schema
        assert schema["$defs"] == {"a_b": TEXT, "a_b_2": {"type": "integer"}}
        assert schema["properties"]["y"] == {"$ref": "#/$defs/a_b_2"}


class TestRoots:
    @pytest.mark.parametrize("original", [{}, OBJECT, {**OBJECT, "properties": {}}, {"$schema": "x", "title": "Empty"}])
    def test_no_parameters(self, original: dict[str, Any]) -> None:
        assert compile_schema(original, OPENAI).schema == closed({})

    def test_a_reference(self) -> None:
        original = {"$ref": "#/$defs/R", "$defs": {"R": closed({"a": TEXT})}}
        assert compile_schema(original, OPENAI).schema == closed({"a": TEXT})

    @pytest.mark.parametrize(
        "original", [{"type": "array", "items": TEXT}, {"anyOf": [closed({"a": TEXT}), closed({})]}]
    )
    @pytest.mark.parametrize("dialect", [OPENAI, NONE])
    def test_what_is_no_object_is_put_into_one(self, original: dict[str, Any], dialect: Any) -> None:
        compiled = compile_schema(original, dialect)
        assert list(compiled.schema["properties"]) == ["input"]
        assert compiled.schema["type"] == "object"
        assert "schemas/rewritten" in {note.code for note in compiled.notes}

    @pytest.mark.parametrize("openness", [True, {}, {"type": "string"}])
    def test_undeclared_properties_travel_together(self, openness: Any) -> None:
        original = {**OBJECT, "properties": {"additional_properties": TEXT}, "additionalProperties": openness}
        schema = compile_schema(original, OPENAI).schema
        assert schema["required"] == ["additional_properties", "_additional_properties"]
        assert schema["properties"]["_additional_properties"]["type"] == ["string", "null"]

    @pytest.mark.parametrize("dialect", [OPENAI, NONE])
    def test_a_required_name_without_a_schema_can_be_anything(self, dialect: Any) -> None:
        compiled = compile_schema({**OBJECT, "required": ["ghost"]}, dialect)
        assert compiled.schema["properties"]["ghost"] == {"type": "string", "description": "(JSON-encoded)"}
        assert compiled.decode({"ghost": "[1]"}) == {"ghost": [1]}


class TestConditions:
    def test_among_declared_properties_they_are_left_to_the_check(self) -> None:
        original = {
            **OBJECT,
            "properties": {"a": TEXT, "b": TEXT},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
            "dependentRequired": {"a": ["b"]},
        }
        compiled = compile_schema(original, OPENAI)
        assert list(compiled.schema["properties"]) == ["a", "b"]
        assert "schemas/weakened" in {note.code for note in compiled.notes}
        assert "anyOf: " in compiled.schema["description"]

    @pytest.mark.parametrize(
        "condition",
        [
            {"if": {"required": ["a"]}, "then": {"properties": {"new": TEXT}}},
            {"allOf": [{"$ref": "#/$defs/More"}], "$defs": {"More": {"properties": {"new": TEXT}}}},
            {"dependentSchemas": {"a": {"required": ["new"]}}},
            {"anyOf": [{"patternProperties": {"^x": TEXT}}]},
        ],
        ids=lambda condition: next(iter(condition)),
    )
    def test_conditions_that_bring_names_make_the_object_travel_as_text(self, condition: dict[str, Any]) -> None:
        compiled = compile_schema({**OBJECT, "properties": {"a": TEXT}, **condition}, OPENAI)
        assert compiled.schema["properties"]["input"]["type"] == "string"


class TestLimits:
    def nested(self, levels: int) -> dict[str, Any]:
        schema: dict[str, Any] = TEXT
        for _ in range(levels):
            schema = closed({"n": schema})
        return schema

    @pytest.mark.parametrize(("dialect", "levels"), [(OPENAI, 10), (AZURE, 5)])
    def test_what_lies_too_deep_travels_as_text(self, dialect: Any, levels: int) -> None:
        assert compile_schema(self.nested(levels), dialect).schema == self.nested(levels)
        compiled = compile_schema(self.nested(levels + 1), dialect)
        (note,) = compiled.notes
        assert note.code == "schemas/carried"
        assert note.message.count("/properties/n") == levels

    def test_too_many_properties(self) -> None:
        original = closed({f"p{index}": TEXT for index in range(5_001)})
        with pytest.raises(SchemaRefused) as caught:
            compile_schema(original, OPENAI)
        assert [each.code for each in caught.value.diagnostics] == ["schemas/over-limit"]
        assert compile_schema(original, NONE).schema["required"] == original["required"]

    def test_azure_is_said_to_document_fewer(self) -> None:
        compiled = compile_schema(closed({f"p{index}": {"type": "boolean"} for index in range(150)}), AZURE)
        assert [(note.code, note.severity) for note in compiled.notes] == [("schemas/over-limit", "warning")]

    @pytest.mark.parametrize(
        "values",
        [list(range(1_001)), [f"{index:0>80}" for index in range(251)], ["x" * 130_000]],
        ids=["values", "long", "characters"],
    )
    def test_enumerations_that_are_too_long_are_left_to_the_check(self, values: list[Any]) -> None:
        compiled = compile_schema(tool({"enum": values}), OPENAI)
        assert "enum" not in compiled.schema["properties"]["p"]
        assert [note.code for note in compiled.notes] == ["schemas/weakened"]
        assert compiled.decode({"p": values[-1]}) == {"p": values[-1]}

    def test_azure_takes_no_constraints(self) -> None:
        compiled = compile_schema(tool({"type": "integer", "minimum": 1}), AZURE)
        assert compiled.schema["properties"]["p"] == {"type": "integer", "description": "(minimum: 1)"}


class TestWithoutStrictMode:
    def test_the_schema_goes_out_as_it_is(self) -> None:
        original = {
            **OBJECT,
            "properties": {"a": {"type": "string", "minLength": 1}, "b": {"$ref": "#/$defs/B"}, "c": OBJECT},
            "required": ["a"],
            "$defs": {"B": {"oneOf": [TEXT, {"type": "array"}]}},
        }
        compiled = compile_schema({"$schema": "https://json-schema.org/draft/2020-12/schema", **original}, NONE)
        assert compiled.schema == original
        assert not compiled.notes

    def test_a_parameter_that_says_nothing_travels_as_text(self) -> None:
        compiled = compile_schema(tool({"description": "Anything."}, required=False), NONE)
        parameter = {"type": ["string", "null"], "description": "Anything. (JSON-encoded)"}
        assert compiled.schema == tool(parameter, required=False)


@pytest.mark.parametrize(
    ("original", "code", "place"),
    [
        (tool({"type": "int"}), "schemas/invalid", "#/properties/p/type"),
        (tool({"type": "string", "required": True}), "schemas/invalid", "#/properties/p/required"),
        (tool({"$ref": "#/$defs/missing"}), "schemas/invalid", "#/properties/p"),
        (tool({"$ref": "#missing"}), "schemas/invalid", "#/properties/p"),
        (tool({"$ref": "#/properties/p"}), "schemas/invalid", "#/properties/p"),
        (tool({"$ref": "other.json"}), "schemas/invalid", "#/properties/p"),
        (tool({"$id": "https://h/x", "items": {"$ref": "#"}}), "schemas/invalid", "#/properties/p/items"),
        (tool({"anyOf": [{"$ref": "#/properties/p"}, TEXT]}), "schemas/invalid", "#/properties/p/anyOf/0"),
        (tool(False), "schemas/unsatisfiable", "#/properties/p"),
        (tool({"type": "string", "enum": [1]}), "schemas/unsatisfiable", "#/properties/p"),
        (tool({"anyOf": [False]}), "schemas/unsatisfiable", "#/properties/p"),
        (tool(TEXT, required=False) | {"required": ["q"]}, "schemas/unsatisfiable", "#/properties/q"),
        (tool({"const": float("nan")}), "schemas/invalid", "#/properties/p/const"),
        (tool({"const": {1}}), "schemas/invalid", "#/properties/p/const"),
        (tool({"\ud800": 1}), "schemas/invalid", "#/properties/p"),
        ({"properties": {1: {}}}, "schemas/invalid", "#/properties"),
    ],
    ids=lambda value: json.dumps(value, default=str)[:60] if isinstance(value, dict) else None,
)
def test_refusals_say_where(original: dict[str, Any], code: str, place: str) -> None:
    with pytest.raises(SchemaRefused) as caught:
        compile_schema(original, OPENAI)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert f"`{place}`" in diagnostic.message


def test_a_pattern_that_is_none_is_refused() -> None:
    with pytest.raises(SchemaRefused, match="must be in the format `regex`"):
        compile_schema(tool({"type": "string", "pattern": "("}), OPENAI)


def test_names_of_keywords_are_only_names_among_properties() -> None:
    names = ["properties", "$ref", "default", "anyOf", "required", "enum", "items", "type", "$defs"]
    original = closed(dict.fromkeys(names, TEXT))
    assert compile_schema(original, OPENAI).schema == original


def test_data_is_no_schema() -> None:
    data = {"$ref": "https://h.example/"}
    parameter = sent({"type": "string", "default": data, "examples": [data]})
    assert parameter["type"] == "string"
    assert sent({"enum": [data]})["type"] == "string"
