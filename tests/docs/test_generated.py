"""The pages of docs/ that are made from the code say what the code says."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GENERATOR = runpy.run_path(str(ROOT / "scripts" / "dev" / "docs.py"))


@pytest.mark.parametrize("name", GENERATOR["PAGES"])
def test_the_page_is_what_the_code_says(name: str) -> None:
    assert (ROOT / "docs" / name).read_text() == GENERATOR["PAGES"][name](), "run `make docs`"


def test_codes_stand_by_area_with_their_meaning() -> None:
    page = GENERATOR["diagnostics"]({"b/two": "Second.", "a/one": "First.", "b/one": "Third."})
    lines = [line for line in page.splitlines() if line.startswith(("## ", "| `"))]
    assert lines == ["## a", "| `a/one` | First. |", "## b", "| `b/one` | Third. |", "| `b/two` | Second. |"]
