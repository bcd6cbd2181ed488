"""Links of the documentation lead somewhere, and the codes that it names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assembler.codes import CODES

from .pages import PAGES, ROOT, Page

LINKED = (*PAGES, Path("CONTRIBUTING.md"), Path("CHANGELOG.md"))

_CODE = re.compile(r"[`\[]([a-z]+/[a-z0-9]+(?:-[a-z0-9]+)*)[`\]]")


@pytest.mark.parametrize("path", LINKED, ids=str)
def test_links_lead_somewhere(path: Path) -> None:
    broken: list[str] = []
    for line, target in Page.read(path).links:
        name, _, anchor = target.partition("#")
        if name.startswith(("http://", "https://")):
            continue
        linked = (ROOT / path.parent / name).resolve() if name else ROOT / path
        if not linked.is_relative_to(ROOT) or not linked.exists():
            broken.append(f"{path}:{line}: there is no {name}")
        elif anchor and anchor not in Page.read(linked.relative_to(ROOT)).anchors:
            broken.append(f"{path}:{line}: {name} has no heading #{anchor}")
    assert not broken


def test_every_page_is_linked_from_the_first() -> None:
    linked = {Path(target) for _, target in Page.read(Path("README.md")).links}
    assert set(PAGES) - linked == {Path("README.md")}


def is_path(text: str) -> bool:
    """Whether a text that has the form of a code is a path of this checkout, or a module of the package."""
    return (ROOT / text).exists() or (ROOT / "src" / "assembler" / f"{text}.py").exists()


def test_the_codes_that_pages_name_exist() -> None:
    areas = {code.partition("/")[0] for code in CODES}
    unknown: list[str] = []
    for path in LINKED:
        for number, line in enumerate((ROOT / path).read_text("utf-8").splitlines(), 1):
            named = [code for code in _CODE.findall(line) if code.partition("/")[0] in areas and not is_path(code)]
            unknown += [f"{path}:{number}: {code}" for code in named if code not in CODES]
    assert not unknown


def test_headings_become_anchors_as_on_github() -> None:
    headings = ("# Run it", "## What it *does*, and `--json`!", "### A_b \u2013 c", "no heading")
    page = Page(Path("x.md"), (), tuple(enumerate(headings, 1)))
    assert page.anchors == {"run-it", "what-it-does-and---json", "a_b--c"}
