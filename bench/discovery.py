"""Listing many skills, against reading and parsing the same bytes."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import yaml

from assembler import Cache, FilesSource
from assembler.skills.skill import Source, SourceContext
from bench.measure import Figure, at_most, clock, in_turn
from bench.skills import COUNT, write


def measure(rounds: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        write(root, COUNT)
        source = FilesSource(paths=(root,))
        context = SourceContext("all", root)
        cached = Cache().wrap(source)
        listing, kept, floor = in_turn(
            rounds,
            clock(lambda: _list(source, context)),
            clock(lambda: _list(cached, context)),
            clock(lambda: _read(root)),
        )
    return [
        Figure(
            f"list {COUNT} skills", listing, "read, parse with the C loader", floor, bound=at_most(3), goal=at_most(2)
        ),
        Figure(f"list {COUNT} skills, cached", kept, "read, parse with the C loader", floor, bound=at_most(0.2)),
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
