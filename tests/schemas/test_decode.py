"""What the model's values mean, and what Python's do."""

from __future__ import annotations

from typing import Any

import pytest

from assembler.errors import AssemblerError
from assembler.schemas.codec import CompiledSchema, compile_schema
from assembler.schemas.dialects import OPENAI

TEXT = {"type": "string"}
MAYBE = {"type": ["string", "null"]}


def compiled(properties: dict[str, Any], *required: str, **rest: Any) -> CompiledSchema:
    return compile_schema({"type": "object", "properties": properties, "required": list(required), **rest}, OPENAI)


def problems(caught: pytest.ExceptionInfo[AssemblerError]) -> list[tuple[str, str]]:
    return [(each.code, each.message) for each in caught.value.diagnostics]


class TestNull:
    """Forwarded to a strict server it fails, and dropped everywhere it loses meaning: only the schema knows."""

    @pytest.mark.parametrize(
        ("schema", "value", "meaning"),
        [
            (TEXT, None, {}),
            (TEXT, "x", {"p": "x"}),
            ({}, None, {}),
            ({}, "null", {"p": None}),
            ({**MAYBE, "default": None}, None, {}),
            (MAYBE, None, {"p": None}),
            (MAYBE, False, {}),
            (MAYBE, "<not given>", {"p": "<not given>"}),
            ({"type": ["integer", "null"]}, "<not given>", {}),
            ({"type": ["integer", "null"]}, 0, {"p": 0}),
            ({"type": ["string", "integer", "null"]}, 0, {"p": 0}),
            ({"type": ["string", "integer", "null"]}, False, {}),
        ],
    )
    def test_of_an_optional_parameter(self, schema: Any, value: Any, meaning: Any) -> None:
        codec = compiled({"p": schema})
        assert codec.decode({"p": value}) == meaning
        assert codec.decode({}) == {}

    def test_what_stands_for_absence_means_it_only_from_the_model(self) -> None:
        codec = compiled({"p": MAYBE})
        assert codec.decode({"p": None}, "python") == {"p": None}
        with pytest.raises(AssemblerError, match="`p` must be string or null, found boolean"):
            codec.decode({"p": False}, "python")

    def test_of_a_required_parameter_is_a_value(self) -> None:
        assert compiled({"p": MAYBE}, "p").decode({"p": None}) == {"p": None}

    def test_within_objects_and_lists(self) -> None:
        rows = {"type": "array", "items": {"type": "object", "properties": {"a": TEXT, "b": MAYBE}}}
        decoded = compiled({"rows": rows}, "rows").decode({"rows": [{"a": None, "b": None}, {"a": "x", "b": False}]})
        assert decoded == {"rows": [{"b": None}, {"a": "x"}]}

    def test_within_json_text_is_data(self) -> None:
        assert compiled({"p": {"type": "object"}}).decode({"p": '{"a": null}'}) == {"p": {"a": None}}


class TestJsonText:
    @pytest.mark.parametrize(
        ("text", "meaning"),
        [
            ('{"value": 42}', {"value": 42}),
            (' [1, 1.0, "1"] ', [1, 1.0, "1"]),
            ('"text"', "text"),
            ("true", True),
            ("123456789012345678901234567890", 123456789012345678901234567890),
            # decoded once: what is text inside stays text, whatever it looks like
            ('"{\\"value\\": 42}"', '{"value": 42}'),
            ('{"q": "{\\"x\\": 1}"}', {"q": '{"x": 1}'}),
        ],
    )
    def test_is_decoded_once(self, text: str, meaning: Any) -> None:
        decoded = compiled({"p": {}}).decode({"p": text})
        assert repr(decoded) == repr({"p": meaning})

    @pytest.mark.parametrize("origin", ["model", "python"])
    @pytest.mark.parametrize("value", [{"value": 42}, [1], 1, 1.5, True, {"q": '{"x": 1}'}])
    def test_sent_bare_is_taken_as_it_is(self, value: Any, origin: Any) -> None:
        assert compiled({"p": {}}).decode({"p": value}, origin) == {"p": value}

    @pytest.mark.parametrize("text", ['{"value": 42}', "plain", "", "null"])
    def test_from_python_is_text(self, text: str) -> None:
        assert compiled({"p": {}}).decode({"p": text}, "python") == {"p": text}

    @pytest.mark.parametrize(
        ("text", "expected", "hint"),
        [
            ("", "a JSON value, found nothing", "use null for none"),
            ("  ", "a JSON value, found nothing", "use null for none"),
            ("plain", "a JSON value at line 1, column 1", 'text is JSON too, in double quotes: "\\"text\\""'),
            (
                "{'a': 1}",
                "a name in double quotes at line 1, column 2",
                'send the text of one JSON value, such as {"name": 1}',
            ),
        ],
    )
    def test_that_is_malformed_says_what_to_do(self, text: str, expected: str, hint: str) -> None:
        with pytest.raises(AssemblerError) as caught:
            compiled({"p": {}}).decode({"p": text})
        assert problems(caught) == [("arguments/not-json", f"`p` is not valid JSON: expected {expected}")]
        assert caught.value.diagnostics[0].hint == hint

    def test_every_malformed_value_is_named(self) -> None:
        item = {"type": "object", "properties": {"v": {}}, "required": ["v"]}
        codec = compiled({"p": {}, "rows": {"type": "array", "items": item}})
        with pytest.raises(AssemblerError) as caught:
            codec.decode({"p": "secret!", "rows": [{"v": "1"}, {"v": "secret?"}]})
        assert [message.split(" is not")[0] for _, message in problems(caught)] == ["`p`", "`rows[1].v`"]
        assert "secret" not in str(caught.value)

    def test_what_was_found_is_shown_when_asked_for(self) -> None:
        with pytest.raises(AssemblerError, match=r"found 'secret!'"):
            compiled({"p": {}}).decode({"p": "secret!"}, detailed=True)


class TestUnknownArguments:
    def test_are_named_with_what_is_allowed(self) -> None:
        with pytest.raises(AssemblerError) as caught:
            compiled({"argument": TEXT, "other": TEXT}).decode({"argumentz": 1, "zzz": 2})
        message = "unexpected arguments `argumentz`, `zzz`; allowed: `argument`, `other`"
        assert problems(caught) == [("arguments/unknown", message)]

    def test_the_nearest_name_is_suggested(self) -> None:
        with pytest.raises(AssemblerError, match="did you mean `argument`"):
            compiled({"argument": TEXT}).decode({"argumentz": 1})

    @pytest.mark.parametrize("origin", ["model", "python"])
    def test_of_a_tool_without_parameters(self, origin: Any) -> None:
        with pytest.raises(AssemblerError, match="unexpected argument `a`; allowed: none"):
            compile_schema({}, OPENAI).decode({"a": 1}, origin)

    @pytest.mark.parametrize("origin", ["model", "python"])
    @pytest.mark.parametrize("closed", [{}, {"additionalProperties": False}])
    def test_can_be_ignored(self, origin: Any, closed: dict[str, Any]) -> None:
        codec = compiled({"a": TEXT}, **closed)
        assert codec.decode({"a": "x", "b": 1}, origin, unknown="ignore") == {"a": "x"}

    def test_within_an_object_are_for_its_schema_to_judge(self) -> None:
        inner = {"type": "object", "properties": {"a": TEXT}}
        value = {"p": {"a": "x", "b": 1}}
        assert compiled({"p": inner}).decode(value) == value
        with pytest.raises(AssemblerError, match="`p` takes no `b`"):
            compiled({"p": {**inner, "additionalProperties": False}}).decode(value)


class TestUndeclaredProperties:
    CODEC = compiled({"a": TEXT}, additionalProperties={"type": "integer"})

    @pytest.mark.parametrize("rest", ['{"b": 1}', {"b": 1}])
    def test_are_merged(self, rest: Any) -> None:
        assert self.CODEC.decode({"a": "x", "additional_properties": rest}) == {"a": "x", "b": 1}

    def test_may_be_sent_bare(self) -> None:
        assert self.CODEC.decode({"b": 1, "additional_properties": None}) == {"b": 1}

    @pytest.mark.parametrize(
        ("rest", "message"),
        [
            ('{"a": "y"}', "`additional_properties` repeats `a`, which stands beside it"),
            ("[]", "`additional_properties` must be the JSON text of an object, or null"),
            ("{", "`additional_properties` is not valid JSON: expected a name in double quotes at line 1, column 2"),
            ('{"b": "y"}', "`b` must be integer, found string"),
        ],
    )
    def test_are_checked(self, rest: str, message: str) -> None:
        with pytest.raises(AssemblerError) as caught:
            self.CODEC.decode({"a": "x", "additional_properties": rest})
        assert [text for _, text in problems(caught)] == [message]

    def test_from_python_are_written_as_they_are(self) -> None:
        value = {"a": "x", "b": 1, "additional_properties": 2}
        assert self.CODEC.decode(value, "python") == value


class TestRoots:
    CODEC = compile_schema({"anyOf": [{"type": "array", "items": TEXT}, {"type": "object"}]}, OPENAI)

    def test_are_unwrapped(self) -> None:
        assert self.CODEC.decode({"input": '["a"]'}) == ["a"]
        assert self.CODEC.encode(["a"]) == {"input": '["a"]'}

    def test_from_python_need_no_wrapping(self) -> None:
        assert self.CODEC.decode({"input": "a"}, "python") == {"input": "a"}

    def test_the_wrapper_is_required(self) -> None:
        with pytest.raises(AssemblerError, match="`input` is required, and missing"):
            self.CODEC.decode({})


@pytest.mark.parametrize("value", [None, [], "x", 1])
def test_arguments_are_an_object(value: Any) -> None:
    with pytest.raises(AssemblerError, match=r"must be a JSON object, found (null|array|string|integer)"):
        compiled({}).decode(value)


def test_python_values_are_reduced_to_json_or_refused() -> None:
    codec = compiled({"p": {}})
    assert codec.decode({"p": ({"b", "a"}, b"\0")}, "python") == {"p": [["a", "b"], "AA=="]}
    with pytest.raises(AssemblerError, match=r"at \$\.p: the type `object` has no JSON form"):
        codec.decode({"p": object()}, "python")


class TestEncode:
    def test_fills_in_what_is_absent(self) -> None:
        codec = compiled({"a": TEXT, "b": MAYBE, "c": {}, "d": {}}, "d")
        assert codec.encode({"d": "x"}) == {"a": None, "b": False, "c": None, "d": '"x"'}

    def test_null_where_it_is_the_default_is_read_as_absent(self) -> None:
        codec = compiled({"a": {**MAYBE, "default": None}})
        assert codec.encode({"a": None}) == {"a": None}
        assert codec.decode({"a": None}) == {}

    def test_refuses_what_the_strict_schema_has_no_place_for(self) -> None:
        with pytest.raises(AssemblerError, match="unexpected argument `b`"):
            compiled({"a": TEXT}).encode({"b": 1})

    def test_refuses_what_does_not_fit(self) -> None:
        with pytest.raises(AssemblerError, match="`a` must be string, found integer"):
            compiled({"a": TEXT}).encode({"a": 1})


def test_constraints_that_were_not_sent_are_checked() -> None:
    overlapping = {"oneOf": [{"type": "integer"}, {"type": "number"}]}
    codec = compiled({"n": overlapping, "s": {"type": "string", "minLength": 3}}, "n", "s")
    with pytest.raises(AssemblerError) as caught:
        codec.decode({"n": 1, "s": "x"})
    assert [message for _, message in problems(caught)] == [
        "`n` fits several alternatives, of which exactly one must fit",
        "`s` must have at least 3 characters",
    ]
    assert codec.decode({"n": 1.5, "s": "xyz"}) == {"n": 1.5, "s": "xyz"}
