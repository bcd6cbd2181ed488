"""What a person reads before a call: all of it, and nothing that could pass for a line of ours."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from assembler.approval.requests import ApprovalRequest
from assembler.cli.question import MAX_ROWS, MAX_TEXT, question
from assembler.matching import Facts
from assembler.tools.base import CallFacts

DIGEST = "sha256:" + 64 * "0"


def asked(arguments: dict[str, Any], columns: int = 80, runs: str = "greet/scripts/hello.py") -> list[str]:
    """The rows of a question."""
    facts = CallFacts(
        Facts(tool="run_skill_script", skill="greet"), arguments, runs=runs, digests=(("skill greet", DIGEST),)
    )
    return question(ApprovalRequest.of("call_1", facts, None, None), columns).splitlines()


@pytest.mark.parametrize(
    ("arguments", "rows"),
    [
        ({}, ["  arguments: {}"]),
        ({"name": "Ada", "n": [1, None]}, ['  arguments: {"name": "Ada", "n": [1, null]}']),
        ({"name": "Zoë 你好"}, ['  arguments: {"name": "Zoë 你好"}']),
        ({"name": "\u202eabc\x1b[2J\u200b"}, ['  arguments: {"name": "\\u202eabc\\u001b[2J\\u200b"}']),
        (
            {"code": "import os\n  print(1)\n", "n": 1},
            ["  arguments:", '    "code":', "      | import os", "      |   print(1)", "      | ", '    "n": 1'],
        ),
        (
            {"a": 30 * "x", "b": {"c": 60 * "y", "d": [1, 2]}},
            ["  arguments:", f'    "a": "{30 * "x"}"', '    "b":', f'      "c": "{60 * "y"}"', '      "d": [1, 2]'],
        ),
        (
            {"long": 100 * "x"},
            ["  arguments:", '    "long":', f"      | {71 * 'x'}", f"      : {29 * 'x'}"],
        ),
        (
            {"list": [70 * "x", {"b": 1}]},
            ["  arguments:", '    "list":', "      -", f"        | {69 * 'x'}", "        : x", '      - {"b": 1}'],
        ),
    ],
)
def test_arguments_are_laid_out(arguments: dict[str, Any], rows: list[str]) -> None:
    first, *shown, name, digest = asked(arguments)
    assert first == "The agent asks to call run_skill_script: greet/scripts/hello.py"
    assert shown == rows
    assert (name, digest) == ("  skill greet:", f"    {DIGEST}")


def test_what_is_cut_is_counted() -> None:
    rows = asked({"lines": "\n".join(map(str, range(200)))})
    assert len(rows) <= MAX_ROWS + 4
    (cut,) = [row for row in rows if "left out" in row]
    assert int(re.findall(r"\d+", cut)[0]) + sum(bool(re.match(r" +\| \d+$", row)) for row in rows) == 200
    assert any(row.endswith("| 199") for row in rows)
    rows = asked({"text": MAX_TEXT * "x" + 123 * "y"}, columns=1000)
    assert any("[... 123 characters left out ...]" in row for row in rows)


TEXTS = st.text(max_size=300) | st.text(alphabet="x \n\u202e", max_size=300)
VALUES = st.recursive(
    st.none() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
)


@given(arguments=st.dictionaries(TEXTS, VALUES, max_size=4), runs=TEXTS, columns=st.integers(60, 200))
def test_no_text_passes_for_a_line_of_ours(arguments: dict[str, Any], runs: str, columns: int) -> None:
    rows = asked(arguments, columns, runs)
    assert all(row.isprintable() for row in rows)
    assert all(cell_len(row) < columns for row in rows if DIGEST not in row)
    begins = re.compile(
        r'The agent asks|  (arguments:|skill greet:|: )|    sha256:| {4,}("|- ?|\| |: |\[\.\.\. \d+ rows)'
    )
    assert all(begins.match(row) for row in rows)


def test_a_value_in_many_others_is_one_text() -> None:
    value: Any = 100 * "x"
    for _ in range(50):
        value = {"in": value}
    assert all(len(row) < 80 for row in asked({"deep": value}))
