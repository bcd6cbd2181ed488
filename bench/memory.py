"""Memory of a process, as the system counts it: ready to run, and for each live session."""

from __future__ import annotations

from bench.measure import MEBIBYTES, Figure, at_most, in_turn, printed
from bench.server import serving

SESSIONS = 1000
TURNS = 5
"""Each adds two messages: what is said and what is answered."""

RESIDENT = """
import gc, os, sys
def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
"""
READY = f"""{RESIDENT}
import asyncio
from assembler import assemble
async def ready():
    async with assemble("quickstart", ["approval=unattended", "runner=subprocess"], trust=True):
        print(resident())
asyncio.run(ready())
"""
OPENAI = f"""{RESIDENT}
import openai
print(resident())
"""
LIVE = f"""{RESIDENT}
import asyncio
from assembler import Agent, AgentConfig
model = {{"kind": "openai", "name": "loopback", "base_url": sys.argv[1], "stream": False}}
async def live(agent, name):
    for turn in range({TURNS}):
        result = await agent.run(f"question {{turn}} of {{name}}", session=name)
        assert result.status == "completed", result
async def main():
    async with Agent(AgentConfig.model_validate({{"name": "bench", "model": model}})) as agent:
        await asyncio.gather(*(live(agent, f"first-{{number}}") for number in range(20)))
        before = resident()
        for start in range(0, {SESSIONS}, 20):
            await asyncio.gather(*(live(agent, f"session-{{start + number}}") for number in range(20)))
        print(resident() - before)
asyncio.run(main())
"""
PLAIN = f"""{RESIDENT}
import json
from bench.server import TEXT
said, answered = [{{"type": "message", "role": role, "content": [{{"type": kind, "text": TEXT}}]}}
    for role, kind in (("user", "input_text"), ("assistant", "output_text"))]
text = json.dumps([{{**said, "content": "question"}}, answered] * {TURNS})
before = resident()
sessions = [json.loads(text) for _ in range({SESSIONS})]
print(resident() - before)
"""


def measure(rounds: int) -> list[Figure]:
    with serving() as url:
        ready, openai = in_turn(rounds, printed(READY), printed(OPENAI))
        # Each takes five thousand requests.
        live, plain = in_turn(min(rounds, 2), printed(LIVE, url), printed(PLAIN))
    return [
        Figure("memory of a ready agent", ready, "import openai", openai, unit=MEBIBYTES, bound=at_most(1.3)),
        Figure(
            f"{SESSIONS} sessions of {2 * TURNS} messages",
            live,
            "the same as plain JSON",
            plain,
            unit=MEBIBYTES,
            bound=at_most(1),
        ),
    ]
