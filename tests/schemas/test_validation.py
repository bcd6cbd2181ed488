"""Whether values fit, what is said where they do not, and that nothing is ever fetched."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from assembler.errors import AssemblerError
from assembler.schemas.document import Document, SchemaRefused
from assembler.schemas.validation import ArgumentValidator, draft_of

SECRET = "s3cret-value"


def check(schema: dict[str, Any], value: Any, *, detailed: bool = False) -> list[str]:
    """The problems of a value, which is an argument called `p`."""
    document = Document({"properties": {"p": schema}, **{k: v for k, v in schema.items() if k in {"$defs", "$schema"}}})
    try:
        ArgumentValidator(document).check({"p": value}, detailed=detailed)
    except AssemblerError as error:
        return [diagnostic.message for diagnostic in error.diagnostics]
    return []


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"type": "integer"}, SECRET, "must be integer, found string"),
        ({"type": ["integer", "null"]}, True, "must be integer or null, found boolean"),
        ({"enum": ["a", "b"]}, SECRET, 'must be one of "a", "b"'),
        ({"const": 1}, SECRET, "must be 1"),
        ({"minimum": 3}, 2, "must be at least 3"),
        ({"exclusiveMaximum": 3}, 3, "must be less than 3"),
        ({"multipleOf": 2}, 3, "must be a multiple of 2"),
        ({"minLength": 99}, SECRET, "must have at least 99 characters"),
        ({"pattern": "^x"}, SECRET, 'must match the pattern "^x"'),
        ({"format": "date"}, SECRET, "must be in the format `date`"),
        ({"format": "date-time"}, "2026-11-30", "must be in the format `date-time`"),
        ({"maxItems": 1}, [1, 2], "must have at most 1 items"),
        ({"uniqueItems": True}, [SECRET, SECRET], "must not repeat an item"),
        ({"contains": {"const": 1}}, [2], "must contain an item that it lacks, see `contains`"),
        ({"minProperties": 1}, {}, "must have at least 1 properties"),
        ({"not": {"type": "string"}}, SECRET, 'must not fit {"type": "string"}'),
        ({"propertyNames": {"maxLength": 3}}, {SECRET: 1}, "has a name that does not fit"),
        (
            {"anyOf": [{"type": "integer"}, {"maxLength": 3}]},
            SECRET,
            "fits no alternative: must be integer, found string; or must have at most 3 characters",
        ),
        ({"oneOf": [{}, True]}, SECRET, "fits several alternatives, of which exactly one must fit"),
        ({"properties": {"q": {"items": {"type": "null"}}}}, {"q": [SECRET]}, "`p.q[0]` must be null, found string"),
        ({"required": ["q"]}, {}, "`p.q` is required, and missing"),
        ({"additionalProperties": False}, {"q": SECRET, "r": 1}, "`p` takes no `q`, `r`"),
        ({"additionalProperties": False, "properties": {"r": {}}}, {"q": SECRET, "r": 1}, "`p` takes no `q`"),
        ({"properties": {"q": False}}, {"q": SECRET}, "`p.q` is not allowed"),
        ({"dependentRequired": {"q": ["r"]}}, {"q": SECRET}, "`p.r` is required, and missing"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_messages_name_place_and_expectation_and_no_value(schema: dict[str, Any], value: Any, message: str) -> None:
    expected = message if message.startswith("`") else f"`p` {message}"
    assert check(schema, value) == [expected]


def test_alternatives_say_what_is_wrong_with_each() -> None:
    cat = {"properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}}, "required": ["kind", "lives"]}
    dog = {"properties": {"kind": {"const": "dog"}}, "required": ["kind"]}
    (message,) = check({"anyOf": [cat, dog]}, {"kind": "cat"})
    assert message == '`p` fits no alternative: lacks `lives`; or `kind` must be "dog"'


def test_every_problem_is_listed_up_to_a_limit() -> None:
    assert len(check({"items": {"type": "integer"}}, ["x"] * 20)) == 20
    messages = check({"items": {"type": "integer"}}, ["x"] * 21)
    assert len(messages) == 21
    assert messages[-1] == "there may be further problems"


def test_values_are_shown_only_when_asked_for() -> None:
    assert check({"type": "integer"}, SECRET, detailed=True) == [f'`p` must be integer, found string, found "{SECRET}"']


@pytest.mark.parametrize("value", [1, 1.0, 10**400, -(2**63)])
def test_integers_of_any_size_and_spelling_fit(value: Any) -> None:
    assert check({"type": "integer"}, value) == []


class TestDrafts:
    @pytest.mark.parametrize(
        ("schema", "draft"),
        [
            ({}, 2020),
            ({"$schema": "http://json-schema.org/draft-07/schema#"}, 7),
            ({"$schema": "http://json-schema.org/draft-04/schema"}, 4),
            ({"$schema": "https://json-schema.org/draft/2019-09/schema"}, 2019),
            ({"$schema": "https://example.com/my-own"}, 2020),
            ({"properties": {"a": {"items": [{}]}}}, 7),
            ({"properties": {"a": {"items": [{}]}}, "$defs": {}}, 2019),
            ({"allOf": [{"dependencies": {"a": ["b"]}}]}, 7),
            ({"properties": {"a": {"minimum": 1, "exclusiveMinimum": True}}}, 4),
            # names and data are not keywords
            ({"properties": {"dependencies": {"enum": [{"items": [1]}]}}}, 2020),
        ],
    )
    def test_are_told_apart(self, schema: dict[str, Any], draft: int) -> None:
        assert draft_of(Document(schema)) == draft

    def test_keywords_mean_what_their_draft_says(self) -> None:
        assert check({"items": [{"type": "integer"}]}, ["x"]) == ["`p[0]` must be integer, found string"]
        assert check({"minimum": 1, "exclusiveMinimum": True}, 1) == ["`p` must be greater than 1"]
        assert check({"dependencies": {"a": ["b"]}}, {"a": 1}) == ["`p.b` is required, and missing"]


class TestNothingIsFetched:
    """Row 4 of the threats: the validator fetches by default, and an unknown `$schema` counts as a reference."""

    @pytest.fixture
    def server(self) -> Iterator[tuple[str, list[str]]]:
        requests: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                requests.append(self.path)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b'{"type": "integer"}')

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", requests
        server.shutdown()
        thread.join()
        server.server_close()

    @pytest.mark.parametrize(
        "schema",
        [
            {"$ref": "URL/a"},
            {"$ref": "URL/a#/$defs/b"},
            {"$dynamicRef": "URL/a"},
            {"$id": "URL/base/", "$ref": "a"},
            {"$id": "URL/base/", "$ref": "#"},
            {"$defs": {"unused": {"$ref": "URL/a"}}},
            {"$ref": "#/x-elsewhere", "x-elsewhere": {"items": {"$ref": "URL/a"}}},
            {"$schema": "URL/schema", "$ref": "URL/a"},
        ],
        ids=str,
    )
    def test_over_http(self, schema: dict[str, Any], server: tuple[str, list[str]]) -> None:
        url, requests = server
        written = {keyword: _filled(value, url) for keyword, value in schema.items()}
        with pytest.raises(SchemaRefused):
            ArgumentValidator(Document({"properties": {"p": written}, "x-elsewhere": written.get("x-elsewhere")}))
        assert requests == []

    @pytest.mark.parametrize("nested", [False, True])
    def test_for_an_unknown_metaschema(self, nested: bool, server: tuple[str, list[str]]) -> None:
        url, requests = server
        own = {"$schema": f"{url}/schema", "$id": f"{url}/me", "type": "object"}
        validator = ArgumentValidator(Document({"properties": {"p": own}} if nested else own))
        validator.check({"p": {}})
        assert requests == []

    def test_from_files(self, tmp_path: Path) -> None:
        target = tmp_path / "schema.json"
        target.write_text('{"type": "integer"}')
        for reference in (target.as_uri(), str(target), f"file://{target}#"):
            with pytest.raises(SchemaRefused, match="refers to something outside"):
                ArgumentValidator(Document({"properties": {"p": {"$ref": reference}}}))

    def test_not_even_metaschemas_that_the_validator_brings(self) -> None:
        with pytest.raises(SchemaRefused):
            ArgumentValidator(Document({"$ref": "https://json-schema.org/draft/2020-12/schema"}))


def _filled(value: Any, url: str) -> Any:
    if isinstance(value, dict):
        return {keyword: _filled(part, url) for keyword, part in value.items()}
    return value.replace("URL", url) if isinstance(value, str) else value


class TestReferencesInside:
    @pytest.mark.parametrize(
        "schema",
        [
            {"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}},
            {"$ref": "#/$defs/a~1b%25c", "$defs": {"a/b%c": {"type": "integer"}}},
            {"$ref": "#n", "$defs": {"n": {"$anchor": "n", "type": "integer"}}},
            {"$dynamicRef": "#n", "$defs": {"n": {"$dynamicAnchor": "n", "type": "integer"}}},
            {"$ref": "#n", "definitions": {"n": {"$id": "#n", "type": "integer"}}, "$schema": "http://json-schema.org/draft-07/schema#"},
            {"$id": "https://h.example/x", "$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}},
            {"allOf": [{"$ref": "#/x/1"}], "x": [{}, {"type": "integer"}]},
        ],
        ids=str,
    )  # fmt: skip
    def test_are_followed(self, schema: dict[str, Any]) -> None:
        validator = ArgumentValidator(Document(schema))
        validator.check(1)
        with pytest.raises(AssemblerError, match="the arguments must be integer, found string"):
            validator.check("x")


@pytest.mark.parametrize(
    ("value", "place"),
    [({"p": "\ud800"}, "`p`"), ({"p": [{"q": "x\udfff"}]}, "`p[0].q`"), ({"p": {"\ud800": 1}}, "`p`")],
)
def test_half_characters_are_refused_by_place(value: Any, place: str) -> None:
    with pytest.raises(AssemblerError, match="half of a surrogate pair") as caught:
        ArgumentValidator(Document({"additionalProperties": {"const": {}}})).check(value)
    assert caught.value.diagnostics[0].message.startswith(place)


def test_what_is_not_json_is_refused() -> None:
    with pytest.raises(AssemblerError, match="not JSON"):
        ArgumentValidator(Document({"properties": {"p": {"minimum": 1}}})).check({"p": object()})


def test_the_validator_is_imported_when_it_is_needed(run_python: Any) -> None:
    program = "import sys, assembler.schemas.tool_schema; print('jsonschema_rs' in sys.modules)"
    assert run_python(program) == "False"
