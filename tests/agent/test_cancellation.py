"""Runs that are ended from outside, at each step that anything takes: how they end, and what is left of them."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.agent.stepping import Steps
from tests.agent.support import call, done, say

from assembler import Agent, AgentConfig, Answer, ApprovalRequest, Result
from assembler.calling import call as call_function
from assembler.items import Item
from assembler.models.base import Model, ModelClient, ModelRequest
from assembler.scope import Scope
from assembler.sessions.base import Conversation, SessionBackend, SessionStore
from assembler.sessions.memory import Memory
from assembler.skills.skill import RunContext
from assembler.tools.base import Tool, ToolOutput, Toolset
from assembler.values import JSON

PROMPT = 10.0
"""Seconds in which everything is over, on the slowest machine; what would go on by itself takes far longer."""


class SlowAnswers(Model, kind="slow-answers"):
    """Calls three tools, then says something; lets others go on between all that it says."""

    def open(self, scope: Scope) -> ModelClient:
        return _Client()


class _Client(ModelClient):
    async def stream(self, request: ModelRequest) -> AsyncGenerator[dict[str, JSON]]:
        assert_consistent(request.items)
        said = request.items[-1]
        number = sum(item.get("role") == "user" for item in request.items)
        calls = [call(f"{number}-{name}", name) for name in ("waits", "blocks", "asks")]
        is_next = said.get("role") == "user" and "next" in str(said["content"])
        asked = said.get("role") == "user" and not is_next
        yield {"type": "response.created", "response": {}}
        await asyncio.sleep(0)
        yield {"type": "response.output_text.delta", "delta": "w"}
        await asyncio.sleep(0)
        for event in done(*calls) if asked else done(say("the end")):
            yield event
        await asyncio.sleep(0)


class _Waits(Tool):
    name, description, owner = "waits", "Waits.", "own"
    schema: Mapping[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}

    async def invoke(self, arguments: Mapping[str, JSON], context: RunContext) -> ToolOutput:
        for _ in range(3):
            await asyncio.sleep(0)
        return ToolOutput("waited")


class _Blocks(_Waits):
    name = "blocks"

    async def invoke(self, arguments: Mapping[str, JSON], context: RunContext) -> ToolOutput:
        await call_function(threading.Event().wait, 0.001)
        return ToolOutput({"blocked"})


class _Asks(_Waits):
    name = "asks"


class Three(Toolset, kind="three-of-a-test"):
    """Brings three tools."""

    async def tools(self, name: str, scope: Scope) -> Sequence[Tool]:
        return [_Waits(), _Blocks(), _Asks()]


class SlowStore(SessionBackend, kind="slow-store"):
    """Keeps conversations in memory, and takes its time."""

    def open(self, scope: Scope, base: Path) -> SessionStore:
        store = Memory().open(scope, base)
        load, append = store.load, store.append

        async def slow_load(name: str) -> Conversation:
            await asyncio.sleep(0)
            return await load(name)

        async def slow_append(*what: Any, **more: Any) -> int:
            await asyncio.sleep(0)
            version = await append(*what, **more)
            await asyncio.sleep(0)
            return version

        store.load, store.append = slow_load, slow_append  # type: ignore[method-assign]
        return store


async def approve(request: ApprovalRequest) -> Answer:
    await asyncio.sleep(0)
    return Answer("approve", request.digest)


def agent() -> Agent:
    declared = {
        "name": "a",
        "model": SlowAnswers(),
        "session": SlowStore(),
        "tools": {"own": Three()},
        "approval": {"default": "allow", "rules": {"asked": {"tools": ["asks"], "action": "ask"}}},
        "skills": {"sources": {"inline": {"skills": {"one": {"description": "One.", "instructions": "Do."}}}}},
    }
    return Agent(AgentConfig.model_validate(declared))


def assert_consistent(items: Sequence[Item]) -> None:
    """Every call has one answer, and no answer comes before its call."""
    open_: list[object] = []
    for item in items:
        if item["type"] == "function_call":
            open_.append(item["call_id"])
        elif item["type"] == "function_call_output":
            open_.remove(item["call_id"])
    assert open_ == []


@dataclass
class Seen:
    """What came of a run that was ended from outside."""

    events: list[Any] = field(default_factory=list)
    outcome: Any = None
    complaints: list[Any] = field(default_factory=list[Any])
    steps: Steps | None = None


Ending = Callable[[Agent, "asyncio.Task[Any]"], object]


def cancel_task(agent: Agent, task: asyncio.Task[Any]) -> object:
    return task.cancel()


def cancel_agent(agent: Agent, task: asyncio.Task[Any]) -> object:
    return agent.cancel()


def cancel_twice(agent: Agent, task: asyncio.Task[Any]) -> object:
    loop = asyncio.get_running_loop()
    task.cancel()
    return loop.call_soon(loop.call_soon, task.cancel)


def cancel_both(agent: Agent, task: asyncio.Task[Any]) -> object:
    agent.cancel()
    return asyncio.get_running_loop().call_soon(task.cancel)


ENDINGS = [cancel_task, cancel_agent, cancel_twice, cancel_both]


async def watched(agent: Agent, seen: Seen) -> None:
    async with aclosing(agent.stream("go", session="s", approver=approve)) as stream:
        async for event in stream:
            seen.events.append(event)  # noqa: PERF401  what came before the end is wanted too


async def unwatched(agent: Agent, seen: Seen) -> Result:
    return await agent.run("go", session="s", approver=approve)


async def ended_at(step: int, way: Callable[[Agent, Seen], Any], ending: Ending) -> Seen:
    """Ends a run at a step; afterwards the session goes on."""
    loop, seen = asyncio.get_running_loop(), Seen()
    loop.set_exception_handler(lambda loop, context: seen.complaints.append(context))
    async with agent() as opened:
        task = asyncio.create_task(way(opened, seen))
        seen.steps = Steps(step, lambda: ending(opened, task))
        seen.steps.watch(loop)
        (seen.outcome,) = await asyncio.wait_for(asyncio.gather(task, return_exceptions=True), PROMPT)
        loop.set_task_factory(None)
        assert_consistent((await opened.conversation("s")).items)
        result = await asyncio.wait_for(opened.run("next", session="s"), PROMPT)
        assert result.output_text == "the end"
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return seen


def every_step(way: Callable[[Agent, Seen], Any], ending: Ending) -> list[Seen]:
    """What is seen when a run is ended at each of its steps."""
    all_: list[Seen] = []
    while not all_ or (all_[-1].steps is not None and all_[-1].steps.has_happened):
        all_.append(asyncio.run(ended_at(len(all_) + 1, way, ending)))
    gc.collect()  # an error that nobody looked at is told when its task is gone
    assert [seen.complaints for seen in all_ if seen.complaints] == []
    assert len(all_) > 20  # so that it is known to look at many moments
    return all_


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_run_can_be_cancelled_at_every_step(ending: Ending) -> None:
    *ended, last = every_step(unwatched, ending)
    assert last.outcome.status == "completed"
    for seen in ended:
        assert isinstance(seen.outcome, asyncio.CancelledError) or seen.outcome.status == "completed"


def test_a_stream_ends_with_its_result_whenever_the_run_is_cancelled() -> None:
    *ended, last = every_step(watched, cancel_agent)
    assert last.outcome is None
    statuses: set[str] = set()
    for seen in ended:
        results = [event for event in seen.events if event["type"] == "result"]
        assert results == seen.events[-1:]
        statuses.update(event["status"] for event in results)
    assert statuses == {"cancelled", "completed"}


@pytest.mark.parametrize("ending", [cancel_task, cancel_twice, cancel_both])
def test_whoever_reads_a_stream_can_be_cancelled_at_every_step(ending: Ending) -> None:
    *ended, last = every_step(watched, ending)
    assert last.outcome is None
    for seen in ended:
        assert seen.outcome is None or isinstance(seen.outcome, asyncio.CancelledError)
