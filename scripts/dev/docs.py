"""Writes the pages of docs/ that are made from the code: `make docs`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

from assembler.codes import CODES

DOCS = Path(__file__).parents[2] / "docs"

INTRODUCTION = """\
<!-- Made by `make docs` from src/assembler/codes.py. -->

# Diagnostics

Whatever Assembler skips, weakens, overrides or refuses, it says so in a diagnostic: a code that does not change between
versions, a severity, one sentence, the place that caused it, and what to do. This page lists the codes.
"""


def diagnostics(codes: Mapping[str, str]) -> str:
    """The page that lists diagnostic codes, by the part of Assembler that their first half names."""
    parts = [INTRODUCTION]
    for area, group in groupby(sorted(codes), key=lambda code: code.partition("/")[0]):
        rows = "".join(f"| `{code}` | {codes[code]} |\n" for code in group)
        parts.append(f"\n## {area}\n\n| code | meaning |\n|---|---|\n{rows}")
    return "".join(parts)


PAGES = {"diagnostics.md": lambda: diagnostics(CODES)}
"""How to make each page, by its name in docs/."""


def main() -> int:
    """Writes every page that differs from what the code says."""
    DOCS.mkdir(exist_ok=True)
    for name, make in PAGES.items():
        (DOCS / name).write_text(make())
        print(f"docs/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
