"""Runs that are ended from outside, at each step that anything takes: how they end, and what is left of them."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
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
    left_behind: int = 0
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
    try:
        async with aclosing(agent.stream("go", session="s", approver=approve)) as stream:
            async for event in stream:
                seen.events.append(event)
    finally:
        seen.left_behind = agent.cancel()


async def unwatched(agent: Agent, seen: Seen) -> Result:
    return await agent.run("go", session="s", approver=approve)


async def ended_at(step: int, way: Callable[[Agent, Seen], Any], ending: Ending) -> Seen:
    """Ends a run at a step; afterwards the session goes on."""
    loop, seen = asyncio.get_running_loop(), Seen()
    loop.set_exception_handler(lambda loop, context: seen.complaints.append(context))
    async with agent() as opened:
        seen.steps = Steps(step, lambda: ending(opened, task))
        seen.steps.watch(loop)
        task = asyncio.create_task(way(opened, seen))
        (seen.outcome,) = await asyncio.wait_for(asyncio.gather(task, return_exceptions=True), PROMPT)
        loop.set_task_factory(None)
        assert_consistent((await opened.conversation("s")).items)
        result = await asyncio.wait_for(opened.run("next", session="s"), PROMPT)
        assert result.output_text == "the end"
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert seen.left_behind == 0
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
        assert len(results) == 1
        statuses.update(event["status"] for event in results)
    assert statuses == {"cancelled", "completed"}


@pytest.mark.parametrize("ending", [cancel_task, cancel_twice, cancel_both])
def test_whoever_reads_a_stream_can_be_cancelled_at_every_step(ending: Ending) -> None:
    *ended, last = every_step(watched, ending)
    assert last.outcome is None
    for seen in ended:
        assert seen.outcome is None or isinstance(seen.outcome, asyncio.CancelledError)


async def closed_at(step: int) -> Seen:
    """Closes the agent at a step of a run."""
    loop, seen, closing = asyncio.get_running_loop(), Seen(), list[asyncio.Task[None]]()
    loop.set_exception_handler(lambda loop, context: seen.complaints.append(context))
    opened = await agent().__aenter__()

    def close() -> None:
        closing.append(loop.create_task(opened.__aexit__(None, None, None)))

    task = asyncio.create_task(unwatched(opened, seen))
    watching = asyncio.create_task(watched(opened, seen))
    seen.steps = Steps(step, close)
    seen.steps.watch(loop)
    (seen.outcome, failure) = await asyncio.wait_for(asyncio.gather(task, watching, return_exceptions=True), PROMPT)
    loop.set_task_factory(None)
    if not closing:
        close()
    await asyncio.wait_for(closing[0], PROMPT)
    assert failure is None or "agent/not-open" in str(failure)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return seen


def test_an_agent_can_be_closed_at_every_step_of_its_runs() -> None:
    all_: list[Seen] = []
    while not all_ or (all_[-1].steps is not None and all_[-1].steps.has_happened):
        all_.append(asyncio.run(closed_at(len(all_) + 1)))
    gc.collect()
    assert [seen.complaints for seen in all_ if seen.complaints] == []
    statuses: set[str] = set()
    for seen in all_:
        if isinstance(seen.outcome, Result):
            assert_consistent(seen.outcome.items)
            statuses.add(seen.outcome.status)
        else:
            assert "agent/not-open" in str(seen.outcome)  # it had not begun
        assert [event["type"] for event in seen.events].count("result") == bool(seen.events)
    assert statuses == {"cancelled", "completed"}


def test_a_stream_can_be_left_after_every_event() -> None:
    async def leave_after(count: int) -> int:
        async with agent() as opened:
            events = 0
            async with aclosing(opened.stream("go", session="s", approver=approve)) as stream:
                async for _ in stream:
                    events += 1
                    if events == count:
                        break
            assert asyncio.all_tasks() == {asyncio.current_task()}
            assert_consistent((await opened.conversation("s")).items)
            assert (await opened.run("next", session="s")).output_text == "the end"
        return events

    count = 1
    while asyncio.run(leave_after(count)) == count:
        count += 1
    assert count > 10


def test_a_time_limit_around_a_run_is_a_time_limit() -> None:
    async def main() -> None:
        async def hang(request: ApprovalRequest) -> Answer:
            for _ in range(10):  # long enough for the tool beside it
                await asyncio.sleep(0)
            limit.reschedule(asyncio.get_running_loop().time())
            await asyncio.sleep(3600)
            raise AssertionError

        async with agent() as opened:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(PROMPT) as limit:
                    await opened.run("go", session="s", approver=hang)
            items = (await opened.conversation("s")).items
            assert_consistent(items)
            told = {str(item["call_id"]): item["output"] for item in items if item["type"] == "function_call_output"}
            assert told["1-waits"] == "waited"
            assert told["1-asks"] == "not run: the run was cancelled"

    asyncio.run(main())


def test_closing_goes_on_when_whoever_closes_is_cancelled() -> None:
    closed: list[str] = []
    released = asyncio.Event()

    class Kept(SessionBackend, kind="kept-of-a-test"):
        """Is slow to keep, and tells when it is closed."""

        def open(self, scope: Scope, base: Path) -> SessionStore:
            store = Memory().open(scope, base)
            append = store.append

            async def slow(*what: Any, **more: Any) -> int:
                await released.wait()
                closed.append("kept")
                return await append(*what, **more)

            store.append = slow  # type: ignore[method-assign]
            scope.callback(closed.append, "closed")
            return store

    async def main() -> None:
        opened = agent()
        opened = await Agent(opened.config.model_copy(update={"session": Kept()})).__aenter__()
        run = asyncio.create_task(opened.run("go", session="s", approver=approve))
        await asyncio.sleep(0.05)
        closing = asyncio.create_task(opened.__aexit__(None, None, None))
        for _ in range(3):
            await asyncio.sleep(0.01)
            closing.cancel()
        assert closed == []
        released.set()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(closing, PROMPT)
        assert closed == ["kept", "closed"]
        assert (await run).status in {"cancelled", "completed"}

    asyncio.run(main())


def test_an_interrupted_program_keeps_what_was_said(tmp_path: Path) -> None:
    program = f"""
import asyncio, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has what runs in the background ignore it
sys.path[:0] = {sys.path!r}
from tests.agent.test_cancellation import Agent, Answer, agent, assert_consistent
from assembler.sessions.sqlite import Sqlite

async def interrupt(request):
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.sleep(3600)

config = agent().config.model_copy(update={{"session": Sqlite(path={str(tmp_path / "s.db")!r})}})
try:
    Agent(config).run_sync("go", session="s", approver=interrupt)
except KeyboardInterrupt:
    print("interrupted")

async def look():
    async with Agent(config) as opened:
        items = (await opened.conversation("s")).items
        assert_consistent(items)
        print(len(items), (await opened.run("next", session="s")).output_text)
asyncio.run(look())
"""
    done_ = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done_.stderr == ""
    assert done_.stdout.splitlines() == ["interrupted", "7 the end"]
