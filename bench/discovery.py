"""Listing many skills, against reading and parsing the same bytes."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import yaml

from assembler import Cache, FilesSource
from assembler.skills.skill import Source, SourceContext
from bench.measure import Figure, clock, in_turn

COUNT = 1000
SKILL = """\
---
name: skill-{number}
description: Does task number {number} of a long list of tasks, and is used whenever that task has to be done.
license: MIT
metadata:
  version: "1.{number}"
---
# Task {number}

Do it well.
"""


def measure() -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for number in range(COUNT):
            folder = root / f"skill-{number}"
            folder.mkdir()
            (folder / "SKILL.md").write_text(SKILL.format(number=number), "utf-8")
        source = FilesSource(paths=(root,))
        context = SourceContext("all", root)
        cached = Cache().wrap(source)
        listing, kept, floor = in_turn(
            7,
            clock(lambda: _list(source, context)),
            clock(lambda: _list(cached, context)),
            clock(lambda: _read(root)),
        )
    return [
        Figure(f"list {COUNT} skills", listing, "read and parse with the C loader", floor, bound=3.0),
        Figure(f"list {COUNT} skills, cached", kept, "read and parse with the C loader", floor, bound=0.2),
    ]


def _list(source: Source, context: SourceContext) -> None:
    async def listed() -> int:
        return len(await source.list_skills(context))

    found = asyncio.run(listed())
    if found != COUNT:
        raise SystemExit(f"listed {found} skills instead of {COUNT}")


def _read(root: Path) -> None:
    for number in range(COUNT):
        text = (root / f"skill-{number}" / "SKILL.md").read_bytes().decode("utf-8")
        yaml.load(text.split("---\n")[1], Loader=yaml.CSafeLoader)
