"""From nothing to a ready agent and to a first answer, and what importing alone costs."""

from __future__ import annotations

from pathlib import Path

from bench.measure import Figure, at_most, in_turn, processor
from bench.server import TEXT, serving

READY = """
import asyncio
from assembler import assemble
async def ready():
    async with assemble("quickstart", ["approval=unattended", "runner=subprocess"], trust=True):
        pass
asyncio.run(ready())
"""
ANSWER = """
import sys
from assembler import assemble
url, expected = sys.argv[1:]
model = ["model=local", f"model.base_url={url}", "model.stream=false"]
agent = assemble("quickstart", [*model, "approval=unattended", "runner=subprocess"], trust=True)
assert agent.run_sync("How long is a marathon?").output_text == expected
"""
BARE = """
import asyncio, sys
from openai import AsyncOpenAI
url, expected = sys.argv[1:]
async def answer():
    async with AsyncOpenAI(api_key="none", base_url=url) as client:
        items = [{"role": "user", "content": "How long is a marathon?"}]
        response = await client.responses.create(model="local", instructions="Be exact.", input=items, store=False)
        assert response.output_text == expected
asyncio.run(answer())
"""
HELP = "import sys; from assembler.cli.main import main; main(['--help'])"


def measure(rounds: int) -> list[Figure]:
    """Processor time: it holds on a busy machine."""
    if not Path("conf/quickstart.yaml").is_file():
        raise SystemExit("run this from the project's root")
    with serving() as url:
        ready, answer, bare, openai, shown, python = in_turn(
            rounds,
            processor(READY),
            processor(ANSWER, url, TEXT),
            processor(BARE, url, TEXT),
            processor("import openai"),
            processor(HELP),
            processor("import argparse"),
        )
    return [
        Figure("start to ready agent, offline", ready, "import openai", openai, bound=at_most(1.2), goal=at_most(1)),
        Figure("start to first answer", answer, "bare client", bare, bound=at_most(1.6), goal=at_most(1.3)),
        Figure("assemble --help", shown, "import argparse", python),
    ]
