"""What lies between a model's call and its output: decoding, judging, running, telling."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from assembler import Agent, AgentConfig
from assembler.agent.calls import Caller, calls_of
from assembler.agent.snapshot import Snapshot
from assembler.agent.steps import Steps
from assembler.items import Item, function_call, function_call_output
from assembler.scope import Scope
from assembler.skills.skill import RunContext
from assembler.tools.base import Tool, ToolOutput, Toolset
from assembler.values import JSON
from bench.measure import MICROSECONDS, Figure, clock, in_turn

CALLS = 1000
ARGUMENTS = json.dumps({"city": "Nairobi", "days": 3})
CALL = function_call("call_1", "forecast", ARGUMENTS)
CONVERSATION: Sequence[Item] = ()


class Forecast(Tool):
    name = "forecast"
    description = "Tells the weather."
    owner = "weather"
    schema: Mapping[str, Any] = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city", "days"],
        "additionalProperties": False,
    }

    async def invoke(self, arguments: Mapping[str, JSON], context: RunContext) -> ToolOutput:
        return ToolOutput(forecast(**arguments))


class Weather(Toolset, kind="weather"):
    async def tools(self, name: str, scope: Scope) -> Sequence[Tool]:
        return [Forecast()]


def forecast(city: JSON, days: JSON) -> str:
    return f"sunny in {city} for {days} days"


FUNCTIONS = {"forecast": forecast}


def measure(rounds: int) -> list[Figure]:
    model = {"kind": "scripted", "turns": {"say": {"text": "done"}}}
    config = AgentConfig.model_validate(
        {"name": "bench", "model": model, "tools": {"weather": Weather()}, "approval": {"default": "allow"}}
    )
    with asyncio.Runner() as loop:
        agent = loop.run(Agent(config).__aenter__())
        snapshot = loop.run(agent.snapshot())
        context = RunContext(Scope(), config.runner)
        ours, bare = in_turn(
            rounds,
            clock(lambda: loop.run(_ours(snapshot, context))),
            clock(lambda: loop.run(_bare())),
        )
        loop.run(agent.__aexit__(None, None, None))
    return [
        Figure("a call of a tool", ours / CALLS, "json.loads, a dict and the call", bare / CALLS, unit=MICROSECONDS)
    ]


async def _ours(snapshot: Snapshot, context: RunContext) -> None:
    caller = Caller(snapshot, Steps(), context, None, _ignore)
    for _ in range(CALLS):
        calls = calls_of([CALL])
        await caller.make(calls, CONVERSATION)
        item = calls[0].item(65536)
        assert item["output"] == "sunny in Nairobi for 3 days", item


async def _bare() -> None:
    for _ in range(CALLS):
        function = FUNCTIONS[str(CALL["name"])]
        output = function(**json.loads(str(CALL["arguments"])))
        item = function_call_output(str(CALL["call_id"]), output)
        assert item["output"] == "sunny in Nairobi for 3 days", item


def _ignore(event: dict[str, JSON]) -> None:
    """Where events go that nobody watches."""
