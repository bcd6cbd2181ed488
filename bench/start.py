"""From nothing to a ready agent, and what importing alone costs."""

from __future__ import annotations

from pathlib import Path

from bench.measure import Figure, in_turn, processor

READY = """
import asyncio, sys
from assembler import assemble
async def ready():
    async with assemble("quickstart", ["approval=unattended", "runner=subprocess"], trust=True):
        pass
asyncio.run(ready())
"""
HELP = "import sys; from assembler.cli.main import main; main(['--help'])"


def measure() -> list[Figure]:
    """Processor time: it holds on a busy machine."""
    if not Path("conf/quickstart.yaml").is_file():
        raise SystemExit("run this from the project's root")
    ready, openai, shown, python = in_turn(
        7, processor(READY), processor("import openai"), processor(HELP), processor("import argparse")
    )
    return [
        Figure("start to ready agent, offline", ready, "import openai", openai, bound=1.2),
        Figure("assemble --help", shown, "import argparse", python),
    ]
