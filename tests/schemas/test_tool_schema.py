"""A tool's schema under a dialect and a policy, first of all that of the tool which runs scripts."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from assembler.errors import AssemblerError
from assembler.schemas.dialects import AZURE, NONE, OPENAI, Dialect
from assembler.schemas.document import SchemaRefused
from assembler.schemas.tool_schema import Strictness, ToolSchema

RUN_SCRIPT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "skill_name": {"type": "string", "enum": ["units", "csv"]},
        "script_name": {"type": "string"},
        "arguments": {"description": "What the script takes."},
    },
    "required": ["skill_name", "script_name"],
    "additionalProperties": False,
}
WIDE = {"type": "object", "properties": {f"p{index}": {"type": "string"} for index in range(5_001)}}
POLICIES: list[tuple[Dialect, Strictness, bool]] = [
    (OPENAI, "require", True),
    (OPENAI, "prefer", True),
    (OPENAI, "never", False),
    (AZURE, "require", True),
    (NONE, "prefer", False),
    (NONE, "never", False),
]


def tool(schema: dict[str, Any], dialect: Dialect, strict: Strictness, **rest: Any) -> ToolSchema:
    return ToolSchema(schema, dialect, **{"strict": strict, "unknown": "reject", "detailed": False, **rest})


@pytest.mark.parametrize(("dialect", "strict", "flag"), POLICIES)
class TestRunScript:
    @pytest.fixture
    def schema(self, dialect: Dialect, strict: Strictness) -> ToolSchema:
        return tool(RUN_SCRIPT, dialect, strict)

    def test_arguments_are_sent_as_nullable_text(self, schema: ToolSchema, flag: bool, broken_rules: Any) -> None:
        arguments = schema.sent["properties"]["arguments"]
        assert arguments == {"type": ["string", "null"], "description": "What the script takes. (JSON-encoded)"}
        assert schema.strict is flag
        if flag:
            assert not broken_rules(schema.sent)
            assert schema.sent["required"] == ["skill_name", "script_name", "arguments"]

    @pytest.mark.parametrize(
        ("text", "meaning"),
        [
            ('"{\\"value\\": 42}"', {"value": 42}),
            ('"[1]"', [1]),
            ('{"value": 42}', {"value": 42}),
            ('"\\"{\\\\\\"value\\\\\\": 42}\\""', '{"value": 42}'),
        ],
    )
    def test_the_script_gets_what_the_model_meant(
        self, schema: ToolSchema, flag: bool, text: str, meaning: Any
    ) -> None:
        call = f'{{"skill_name": "units", "script_name": "convert.py", "arguments": {text}}}'
        assert schema.decode(call)["arguments"] == meaning

    @pytest.mark.parametrize("rest", ["", ', "arguments": null'])
    def test_null_and_absent_both_mean_none(self, schema: ToolSchema, flag: bool, rest: str) -> None:
        call = f'{{"skill_name": "units", "script_name": "convert.py"{rest}}}'
        assert schema.decode(call) == {"skill_name": "units", "script_name": "convert.py"}
        assert schema.check({"skill_name": "units", "script_name": "convert.py", "arguments": None}) == schema.decode(
            call
        )

    @pytest.mark.parametrize("value", ['{"value": 42}', {"value": 42}, ["--from", "km"], 3])
    def test_from_python_it_is_taken_as_it_is(self, schema: ToolSchema, flag: bool, value: Any) -> None:
        call = {"skill_name": "units", "script_name": "convert.py", "arguments": value}
        assert schema.check(call) == call

    @pytest.mark.parametrize(
        ("call", "code", "message"),
        [
            ("[", "arguments/not-json", "the arguments are not valid JSON"),
            ("[]", "arguments/not-object", "must be a JSON object, found array"),
            (
                '{"skill_name": "units", "script_name": "s", "arguments": "{value: 42}"}',
                "arguments/not-json",
                "`arguments` is not valid JSON: expected a name in double quotes at line 1, column 2",
            ),
            (
                '{"skill_name": "units", "script_name": "s", "arguments": ""}',
                "arguments/not-json",
                "`arguments` is not valid JSON: expected a JSON value, found nothing",
            ),
            ('{"skill_name": "units"}', "arguments/missing", "`script_name` is required, and missing"),
            (
                '{"skill_name": "x", "script_name": "s"}',
                "arguments/invalid",
                '`skill_name` must be one of "units", "csv"',
            ),
            (
                '{"skill_name": "units", "script": "s"}',
                "arguments/unknown",
                "unexpected argument `script`; allowed: `skill_name`, `script_name`, `arguments`",
            ),
        ],
    )
    def test_what_is_wrong_is_told(self, schema: ToolSchema, flag: bool, call: str, code: str, message: str) -> None:
        with pytest.raises(AssemblerError) as caught:
            schema.decode(call)
        assert caught.value.diagnostics[0].code == code
        assert message in caught.value.diagnostics[0].message


class TestStrictness:
    def test_required_of_a_dialect_without_it(self) -> None:
        with pytest.raises(SchemaRefused) as caught:
            tool(RUN_SCRIPT, NONE, "require")
        assert caught.value.diagnostics[0].code == "schemas/not-strict"

    def test_required_of_a_schema_that_cannot_be(self) -> None:
        with pytest.raises(SchemaRefused) as caught:
            tool(WIDE, OPENAI, "require")
        assert caught.value.diagnostics[0].code == "schemas/over-limit"

    def test_preferred_of_a_schema_that_cannot_be(self) -> None:
        schema = tool(WIDE, OPENAI, "prefer")
        assert (schema.strict, schema.sent) == (False, WIDE)
        (note,) = schema.notes
        assert (note.code, note.severity) == ("schemas/not-strict", "warning")
        assert "5,000 properties" in note.message
        assert schema.decode('{"p0": "x", "p1": null}') == {"p0": "x"}

    def test_preferred_of_a_dialect_without_it(self) -> None:
        assert [note.code for note in tool({}, NONE, "prefer").notes] == ["schemas/not-strict"]

    def test_not_wanted(self) -> None:
        schema = tool({"type": "object", "properties": {"o": {"type": "object"}}}, OPENAI, "never")
        assert schema.sent["properties"]["o"] == {"type": "object"}
        assert (schema.strict, schema.notes) == (False, ())

    @pytest.mark.parametrize("strict", ["require", "prefer", "never"])
    def test_a_broken_schema_is_never_sent(self, strict: Strictness) -> None:
        with pytest.raises(SchemaRefused):
            tool({"type": "object", "properties": {"p": {"$ref": "https://h.example/"}}}, OPENAI, strict)


def test_the_original_is_left_alone() -> None:
    original = copy.deepcopy(RUN_SCRIPT)
    tool(original, OPENAI, "require")
    assert original == RUN_SCRIPT


def test_later_changes_of_the_original_change_nothing() -> None:
    original = copy.deepcopy(RUN_SCRIPT)
    schema = tool(original, NONE, "prefer")
    original["properties"]["skill_name"]["enum"].append("other")
    with pytest.raises(AssemblerError):
        schema.check({"skill_name": "other", "script_name": "s"})
    assert schema.sent["properties"]["skill_name"]["enum"] == ["units", "csv"]


def test_unknown_arguments_can_be_ignored() -> None:
    schema = tool(RUN_SCRIPT, OPENAI, "require", unknown="ignore")
    assert schema.decode('{"skill_name": "csv", "script_name": "s", "more": 1}') == {
        "skill_name": "csv",
        "script_name": "s",
    }


def test_details_are_shown_when_asked_for() -> None:
    call = '{"skill_name": "s3cret", "script_name": "s"}'
    with pytest.raises(AssemblerError) as brief:
        tool(RUN_SCRIPT, OPENAI, "require").decode(call)
    assert "s3cret" not in str(brief.value)
    with pytest.raises(AssemblerError, match="s3cret"):
        tool(RUN_SCRIPT, OPENAI, "require", detailed=True).decode(call)
