"""The kind that CONTRIBUTING shows is one."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import ModuleType

import pytest

from assembler import Skills
from assembler.kinds import BUILT_IN
from assembler.skills.skill import SourceContext

from .pages import Page

PAGE = Page.read(Path("CONTRIBUTING.md"))


def test_the_kind_works_as_the_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = [block for block in PAGE.blocks if block.language == "python"]
    module = ModuleType("contributed")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(example.text, str(PAGE.path), "exec"), vars(module))  # noqa: S102 - this repository's own page
    monkeypatch.setitem(BUILT_IN["sources"], "greetings", "contributed:Greetings")
    skills = Skills.model_validate({"sources": {"hello": {"kind": "greetings", "languages": ["en", "fr"]}}})
    listed = asyncio.run(skills.open().list_skills(SourceContext()))
    assert [(skill.name, skill.source) for skill in listed] == [("greet-en", "hello"), ("greet-fr", "hello")]
