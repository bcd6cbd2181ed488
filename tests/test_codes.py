"""The table of diagnostic codes and the code that uses them agree."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import assembler
from assembler.codes import CODES

SOURCE = Path(assembler.__file__).parent
AREAS = sorted({code.partition("/")[0] for code in CODES})
CODE = re.compile(rf"({'|'.join(AREAS)})/[a-z0-9-]+")


def used() -> dict[str, str]:
    """Every text in the source that has the form of a code, with the file that it stands in."""
    found: dict[str, str] = {}
    for file in SOURCE.rglob("*.py"):
        if file.name == "codes.py":
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
                found[node.value] = str(file.relative_to(SOURCE))
    return found


def test_every_code_stands_in_the_table() -> None:
    assert {code: file for code, file in used().items() if code not in CODES} == {}


def test_every_code_of_the_table_is_used() -> None:
    assert sorted(set(CODES) - set(used())) == []


def test_meanings_are_sentences() -> None:
    assert [
        code for code, meaning in CODES.items() if not (meaning[0].isupper() or meaning[0] == "`") or meaning[-1] != "."
    ] == []
