"""What a run costs beside its model: the loop, the schemas and the tools."""

from __future__ import annotations

import asyncio
from typing import Any

from assembler import Agent, AgentConfig
from bench.measure import Figure, clock, in_turn

ROUNDS = 20
TEXT: dict[str, Any] = {"say": {"text": "done"}}
CALLS: dict[str, Any] = {
    **{f"c{n}": {"calls": [{"tool": "load_skill", "arguments": {"skill_name": "greet"}}]} for n in range(3)},
    **TEXT,
}


def measure() -> list[Figure]:
    three, none = in_turn(7, clock(lambda: asyncio.run(_run(CALLS))), clock(lambda: asyncio.run(_run(TEXT))))
    return [Figure(f"{ROUNDS} runs with three tool calls each", three, f"{ROUNDS} runs without", none)]


async def _run(turns: dict[str, Any]) -> None:
    skills = {"sources": {"inline": {"skills": {"greet": {"description": "Greets.", "instructions": "Say hello."}}}}}
    config = {
        "name": "bench",
        "model": {"kind": "scripted", "turns": turns},
        "skills": skills,
        "approval": {"default": "allow"},
    }
    async with Agent(AgentConfig.model_validate(config)) as agent:
        for _ in range(ROUNDS):
            result = await agent.run("go")
            if result.status != "completed":
                raise SystemExit(f"a run ended as {result.status}: {result.reason}")
