"""The page that lists every key says what the classes say.

A table under `<!-- fields: module:Class -->` lists the fields of that class that no table above it lists already.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from assembler import AgentConfig, assemble
from assembler.config.rootfile import OMITTED, OVERLAY

from .fields import is_default, reachable, rows
from .pages import ROOT, Page

PAGE = Page.read(Path("docs/configuration.md"))
PRESETS = ROOT / "src" / "assembler" / "presets"

FROM_ELSEWHERE = {"name": "name of the root's file"}
"""Defaults that the composition gives, not the class."""


def tables() -> dict[str, list[list[str]]]:
    """The cells of each table by what its comment says; the empty text for the others."""
    found: dict[str, list[list[str]]] = {}
    mark = ""
    for _, line in PAGE.prose:
        comment = re.fullmatch(r"<!-- fields: (\S+) -->", line)
        if comment:
            mark = comment[1]
        elif line.startswith("| `"):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            found.setdefault(mark, []).append([cell.strip().replace(r"\|", "|") for cell in cells])
        elif line and not line.startswith("|"):
            mark = ""
    return found


TABLES = tables()
SHOWN = [name for name in TABLES if name]


def named(mark: str) -> type[BaseModel]:
    module, _, name = mark.partition(":")
    return getattr(import_module(module), name)


@pytest.mark.parametrize("mark", SHOWN)
def test_a_table_lists_the_fields_of_its_class(mark: str) -> None:
    before = [named(other) for other in SHOWN[: SHOWN.index(mark)]]
    expected = list(rows(named(mark), before))
    listed = [(key.strip("`"), values, meaning) for key, values, _, meaning in TABLES[mark]]
    lines = "\n".join(f"| `{key}` | {values} | … | {meaning} |" for key, values, meaning in expected)
    assert listed == expected, f"write:\n{lines}"


@pytest.mark.parametrize("mark", SHOWN)
def test_a_table_says_the_defaults_of_its_class(mark: str) -> None:
    fields = named(mark).model_fields
    elsewhere = FROM_ELSEWHERE if named(mark) is AgentConfig else {}
    wrong = {
        key: text
        for key, _, text, _ in ((key.strip("`"), *rest) for key, *rest in TABLES[mark])
        if text != elsewhere.get(key, text) or (key not in elsewhere and not is_default(fields[key], text))
    }
    assert not wrong


def test_every_class_of_a_configuration_has_a_table() -> None:
    shown = [named(mark) for mark in SHOWN]
    missing = {f"{cls.__module__}:{cls.__name__}" for cls in reachable(AgentConfig) if list(rows(cls, shown))}
    assert missing - set(SHOWN) == set()


def test_a_root_without_a_name_is_called_after_its_file(echo: Path) -> None:
    assert assemble("agent").name == "agent"


def test_the_groups_with_their_presets_and_defaults() -> None:
    expected: list[Any] = []
    for group in [*OMITTED, OVERLAY]:
        presets = [f"`{file.stem}`" for file in sorted((PRESETS / group).glob("*.yaml"))]
        option = OMITTED.get(group)
        expected.append([f"`{group}`", ", ".join(presets) or "none", f"`{option}`" if option is not None else "none"])
    listed = [[group, presets, re.split("[:;]", option)[0]] for group, presets, option in TABLES[""]]
    assert listed == expected
