"""Skills to measure with."""

from __future__ import annotations

from pathlib import Path

COUNT = 1000
"""Skills where there are many of them."""
SKILL = """\
---
name: skill-{number}
description: Does task number {number} of a long list of tasks, and is used whenever that task has to be done.
license: MIT
metadata:
  version: "1.{number}"
---
# Task {number}

{body}
"""
BODY = "Do it well: read what was said, find what is asked for, and answer with what the table of the task says. " * 5


def write(root: Path, count: int) -> None:
    """Writes so many skills, each into a folder of its own."""
    for number in range(count):
        folder = root / f"skill-{number}"
        folder.mkdir()
        (folder / "SKILL.md").write_text(SKILL.format(number=number, body=BODY.strip()), "utf-8")
