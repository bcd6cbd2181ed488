"""The ground floor: digests, matching, quantities, diagnostics."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from tests.test_values import JSONS

from assembler.digests import canonical, digest_json, digest_tree
from assembler.errors import AssemblerError, Diagnostic, Where, did_you_mean, nearest
from assembler.items import Item, assistant_message, text_of, user_message
from assembler.matching import Facts, Match
from assembler.quantities import Duration, Size
from assembler.scope import Scope


@given(st.dictionaries(st.text(), JSONS, max_size=5))
def test_a_digest_depends_on_the_value_alone(value: dict[str, Any]) -> None:
    turned = dict(reversed(list(value.items())))
    assert digest_json(value) == digest_json(turned) == digest_json(json.loads(json.dumps(value)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"b": 1, "a": [1.0, 1e30, 0.002]}, b'{"a":[1,1e+30,0.002],"b":1}'),
        ("\u20ac\n", '"€\\n"'.encode()),
        ({"\ue000": 1, "\U0001f600": 2}, '{"\U0001f600":2,"\ue000":1}'.encode()),
    ],
)
def test_canonical_json_is_rfc_8785(value: Any, expected: bytes) -> None:
    assert canonical(value) == expected


def test_values_that_rfc_8785_cannot_write_have_one_form_too() -> None:
    values: list[Any] = [2**60, str(2**60), 2**60 + 1, "\ud800", "\udc00", "\\ud800"]
    assert len({digest_json(value) for value in values}) == len(values)


TRICKY: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([2**60, -(2**60), str(2**60), "\x00integer", "\x00", "\x00\x00", "\ud800", "\x00surrogates eda080"])
    | st.text("\x00a\ud800", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["\x00integer", "\x00\x00integer", "a", "\ud800", "\x00surrogates eda080"]), inner
        )
    ),
    max_leaves=4,
)


@given(TRICKY, TRICKY)
@example(2**60, {"\x00integer": str(2**60)})
@example("\ud800", "\x00surrogates eda080")
@example({"\ud800": 1}, {"\x00surrogates eda080": 1})
@example({"\x00integer": "1"}, {"\x00\x00integer": "1"})
def test_values_that_differ_have_digests_that_differ(one: Any, other: Any) -> None:
    assert (digest_json(one) == digest_json(other)) is (one == other)


def test_a_tree_digest_covers_paths_and_bytes() -> None:
    tree = {"a": b"1", "b/c": b"2"}
    digest = digest_tree(tree)
    assert digest == digest_tree({"b/c": b"2", "a": b"1"})
    assert len({digest, digest_tree({"a": b"1", "b/d": b"2"}), digest_tree({"a": b"1", "b/c": b"3"})}) == 3


REPORT = Facts(tool="run_skill_script", skill="report-a", script="scripts/make.py", source="local", tags=("finance",))


@pytest.mark.parametrize(
    ("match", "expected"),
    [
        ({"skills": ["report-*"]}, True),
        (["report-*"], True),
        (["Report-*"], False),
        (["other", "report-?"], True),
        (["report-*", "!report-a"], False),
        (["!report-b"], True),
        (["!report-*"], False),
        ({"skills": ["report-*"], "tools": ["load_skill"]}, False),
        ({"skills": ["report-*"], "tools": ["run_*"]}, True),
        ({"scripts": ["report-a/scripts/make.py"]}, True),
        ({"scripts": ["report-a/*"]}, True),
        ({"scripts": ["make.py"]}, False),
        ({"sources": ["local"]}, True),
        ({"sources": ["remote"]}, False),
        ({"tags": ["finance", "x"]}, True),
        ({"tags": ["!finance"]}, False),
        ({"skills": ["[rs]eport-a"]}, True),
        ({}, False),
        ([], False),
    ],
)
def test_matching(match: Any, expected: bool) -> None:
    assert Match.model_validate(match).matches(REPORT) is expected


def test_a_key_about_scripts_does_not_match_what_runs_none() -> None:
    assert not Match(scripts=("*",)).matches(Facts(tool="load_skill", skill="a"))
    assert not Match(scripts=("!b/*",)).matches(Facts(tool="load_skill", skill="a"))


MAIL, UNTAGGED = Facts(tool="send_mail", source="mail"), Facts(tool="load_skill", skill="a", source="local")


@pytest.mark.parametrize(
    ("match", "facts", "expected"),
    [
        ({"tags": ["!safe"]}, UNTAGGED, True),
        ({"tags": ["!safe"]}, MAIL, True),
        ({"tags": ["!safe"]}, REPORT, True),
        ({"tags": ["!safe"]}, dataclasses.replace(REPORT, tags=("finance", "safe")), False),
        ({"tags": ["!*"]}, UNTAGGED, True),
        ({"tags": ["!*"]}, REPORT, False),
        ({"tags": ["*"]}, UNTAGGED, False),
        ({"tags": ["finance", "!safe"]}, UNTAGGED, False),
        ({"tags": ["!safe"], "tools": ["run_*"]}, UNTAGGED, False),
        ({"skills": ["!b"]}, MAIL, False),
        ({"scripts": ["!b/*"]}, MAIL, False),
        ({"sources": ["!b"]}, Facts(skill="a"), False),
        ({"tools": ["!b"]}, Facts(skill="a"), False),
        ({"tools": ["!b"]}, MAIL, True),
    ],
)
def test_exclusions_alone_include_the_rest(match: Any, facts: Facts, expected: bool) -> None:
    assert Match.model_validate(match).matches(facts) is expected


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("5m", 300), ("1h30m", 5400), ("250ms", 0.25), ("1.5s", 1.5), ("2 d", 172800), (90, 90), ("90", 90), (0, 0)],
)
def test_durations(written: object, seconds: float) -> None:
    adapter: TypeAdapter[timedelta] = TypeAdapter(Duration)
    value = adapter.validate_python(written)
    assert value == timedelta(seconds=seconds)
    assert adapter.validate_python(adapter.dump_python(value, mode="json")) == value


@pytest.mark.parametrize("written", ["", "5 minutes", "-5m", -1, True, "m5", "1e3s", None, 10**20, "nan"])
def test_what_is_no_duration(written: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Duration).validate_python(written)


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("64KiB", 65536),
        ("1MB", 10**6),
        ("1.5MiB", 1572864),
        ("2 GiB", 2 * 1024**3),
        ("7", 7),
        (7, 7),
        ("7B", 7),
        ("1kB", 1000),
    ],
)
def test_sizes(written: object, size: int) -> None:
    assert TypeAdapter(Size).validate_python(written) == size


@pytest.mark.parametrize("written", ["", "64XB", "-1", -1, True, "KiB", 1.5, None])
def test_what_is_no_size(written: object) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Size).validate_python(written)


def test_a_diagnostic_reads_as_a_compiler_writes() -> None:
    found = Diagnostic("config/unknown-key", "there is no key `a`", where=Where("conf/x.yaml", 3, 5), hint="mend it")
    assert str(found) == "conf/x.yaml:3:5: error: there is no key `a` [config/unknown-key]\n  mend it"
    assert found.to_json() == {
        "code": "config/unknown-key",
        "severity": "error",
        "message": "there is no key `a`",
        "where": {"file": "conf/x.yaml", "line": 3, "column": 5, "override": None},
        "hint": "mend it",
    }
    assert str(AssemblerError(found, found)).count("mend it") == 2


def test_the_nearest_choice_is_named_and_otherwise_all() -> None:
    assert nearest("prdo", ["dev", "prod"]) == "prod"
    assert nearest("FILES", ["files"]) == "files"
    assert nearest("zzz", ["dev", "prod"]) is None
    assert did_you_mean("zzz", ["prod", "dev"]) == "one of: `dev`, `prod`"
    assert did_you_mean("zzz", []) == ""


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (user_message("hello"), "hello"),
        (assistant_message("hello"), "hello"),
        ({"type": "message", "content": "hello"}, "hello"),
        ({"type": "message", "content": [{"type": "refusal", "refusal": "I will not."}]}, "I will not."),
        ({"type": "message", "content": [{"text": "a"}, {"type": "input_image"}, {"text": None}, "odd", 1]}, "a"),
        ({"type": "message", "content": 5}, ""),
        ({"type": "message", "content": {"text": "a"}}, ""),
        ({"type": "message"}, ""),
        ({"type": "reasoning", "content": [{"text": "a"}]}, ""),
        ({}, ""),
    ],
)
def test_the_text_of_an_item(item: Item, text: str) -> None:
    assert text_of(item) == text


def test_a_scopes_folder_is_removed_once_and_none_is_made_later(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> Scope:
        async with Scope() as scope:
            kept, gone = scope.folder("test"), scope.folder("test")
            (kept / "file").write_text("x")
            gone.rmdir()
        assert not kept.exists()
        assert str(gone) in caplog.text
        return scope

    scope = asyncio.run(run())
    with pytest.raises(AssemblerError, match="agent/not-open"):
        scope.folder("test")
