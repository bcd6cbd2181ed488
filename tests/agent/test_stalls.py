"""What takes long in one run, and that every other run on the loop goes on meanwhile.

What blocks here is let go by the test, once the other run is done: no clock decides, but that a loop which is stalled
is let go in the end, and found out.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, computed_field
from tests.agent.support import FunctionTool, agent, call, done, say

from assembler import Agent, AgentConfig, Answer, ApprovalRequest, AssemblerError, Result
from assembler.scope import Scope
from assembler.sessions.base import SessionBackend, SessionStore
from assembler.sessions.memory import Memory
from assembler.skills.skill import Skill
from assembler.tools.base import Tool, ToolOutput, Toolset

STALLED = 20.0
"""Seconds after which something that blocks gives up, since nobody can let it go."""


class Blocker:
    """Blocks the thread that calls it until the test lets go."""

    def __init__(self) -> None:
        self.is_entered = threading.Event()
        self.has_stalled = False
        self._released = threading.Event()

    def block(self) -> None:
        """Waits."""
        self.is_entered.set()
        self.has_stalled |= not self._released.wait(STALLED)

    def compute(self) -> None:
        """Is busy, in Python alone."""
        self.is_entered.set()
        end = time.monotonic() + STALLED
        while not self._released.is_set():
            self.has_stalled |= time.monotonic() > end
            if self.has_stalled:
                return

    def release(self) -> None:
        """Lets go."""
        self._released.set()


@pytest.fixture
def blocker() -> Any:
    made = Blocker()
    yield made
    made.release()


async def goes_on_beside(blocker: Blocker, opened: Agent, approver: Any = None) -> Result:
    """Another run, from start to end, while the first one is blocked; what comes of the first one then."""
    blocked = asyncio.create_task(opened.run("block", approver=approver))
    await asyncio.to_thread(blocker.is_entered.wait, STALLED)
    async with Agent(AgentConfig.model_validate(scripted({"text": "beside"}))) as other:
        assert (await other.run("go")).output_text == "beside"
    assert not blocked.done()
    blocker.release()
    result = await blocked
    assert not blocker.has_stalled
    return result


def scripted(*turns: Mapping[str, Any], **parts: Any) -> dict[str, Any]:
    model = {"kind": "scripted", "turns": {f"t{number}": turn for number, turn in enumerate(turns)}}
    return {"name": "a", "model": model, "approval": {"default": "allow"}, **parts}


class Body(BaseModel):
    """A value that takes its time to say what it is."""

    @computed_field
    def slow(self) -> int:
        BLOCKER[0].block()
        return 1


class Values(Toolset, kind="values-of-a-stall"):
    """A tool whose value blocks while it is read."""

    async def tools(self, name: str, scope: Scope) -> Sequence[Tool]:
        async def body(arguments: object) -> object:
            return ToolOutput(Body())

        return [FunctionTool(body)]


BLOCKER: list[Blocker] = []


def run_script(context: None = None) -> str:
    BLOCKER[0].block()
    return "done"


def compute() -> str:
    BLOCKER[0].compute()
    return "done"


def hidden_script() -> Any:
    async def later() -> object:
        return Body()

    return later()


def value() -> object:
    return Body()


def keep(skill: Skill) -> bool:
    if not BLOCKER[0].is_entered.is_set():
        BLOCKER[0].block()
    return True


SKILL: dict[str, Any] = {
    "description": "Blocks.",
    "scripts": {"run": run_script, "compute": compute, "value": value, "hidden": hidden_script},
    "resources": {"read": run_script, "value": value},
}


def with_skill(call: Mapping[str, Any]) -> dict[str, Any]:
    return scripted(
        {"when": {"input": "block"}, "calls": [call], "text": "{{ outputs | last }}"},
        skills={"sources": {"inline": {"skills": {"slow": SKILL}}}},
    )


def script(name: str) -> dict[str, Any]:
    return with_skill({"tool": "run_skill_script", "arguments": {"skill_name": "slow", "script_name": name}})


def resource(name: str) -> dict[str, Any]:
    return with_skill({"tool": "read_skill_resource", "arguments": {"skill_name": "slow", "resource_name": name}})


PLACES: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "a script that waits": (lambda: script("run"), "done"),
    "a script that computes": (lambda: script("compute"), "done"),
    "the value of a script": (lambda: script("value"), '{"slow": 1}'),
    "the value of a script that is async": (lambda: script("hidden"), '{"slow": 1}'),
    "a resource": (lambda: resource("read"), "done"),
    "the value of a resource": (lambda: resource("value"), '{"slow": 1}'),
    "the value of a tool": (
        lambda: scripted({"calls": [{"tool": "probe"}], "text": "{{ outputs | last }}"}, tools={"own": Values()}),
        '{"slow": 1}',
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_code_that_blocks_stalls_nothing_but_its_own_run(place: str, blocker: Blocker) -> None:
    BLOCKER[:] = [blocker]
    config, output = PLACES[place]

    async def main() -> None:
        async with Agent(AgentConfig.model_validate(config())) as opened:
            assert (await goes_on_beside(blocker, opened)).output_text == output

    asyncio.run(main())


def test_a_predicate_that_blocks_stalls_nothing_but_its_agent(blocker: Blocker) -> None:
    BLOCKER[:] = [blocker]
    blocker.is_entered.set()  # it blocks in the run, and not while the agent is opened
    config = scripted(
        {"text": "ok"},
        skills={
            "sources": {"inline": {"skills": {"slow": SKILL}}},
            "decorators": {"filter": {"predicate": keep}},
        },
    )

    async def main() -> None:
        async with Agent(AgentConfig.model_validate(config)) as opened:
            blocker.is_entered.clear()
            assert (await goes_on_beside(blocker, opened)).output_text == "ok"

    asyncio.run(main())


def test_an_approver_may_block(blocker: Blocker) -> None:
    def approver(request: ApprovalRequest) -> Answer:
        blocker.block()
        return Answer("approve", request.digest)

    async def main() -> None:
        async with agent(done(call("c", do="it")), done(say("x")), approval={"default": "ask"}) as opened:
            result = await goes_on_beside(blocker, opened, approver)
            assert result.items[-2]["output"] == '{"done": "it"}'

    asyncio.run(main())


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    both_ends = os.open(tmp_path / "pipe", os.O_RDWR)  # so that nobody who opens it has to wait
    try:
        with pytest.raises(AssemblerError, match="run/no-such-file"):
            agent(done(say("x"))).run_sync("go", files=[tmp_path / "pipe"])
    finally:
        os.close(both_ends)


def test_a_run_goes_on_when_nobody_reads_its_events() -> None:
    async def main() -> None:
        streams = [done(call("c", do="it")), done(say("x")), done(say("next"))]
        async with agent(*streams) as opened, aclosing(opened.stream("go", session="s")) as stream:
            first = await anext(stream)
            # It waits for the run that nobody reads, since it goes on with what that said.
            result = await asyncio.wait_for(opened.run("next", session="s"), STALLED)
            assert result.output_text == "next"
            rest = [event async for event in stream]
            assert [event["sequence_number"] for event in (first, *rest)] == list(range(len(rest) + 1))
            assert rest[-1]["status"] == "completed"

    asyncio.run(main())


def test_a_store_that_takes_long_holds_up_its_own_session_alone() -> None:
    release = asyncio.Event()

    class SlowOne(SessionBackend, kind="slow-one"):
        """Takes long for one conversation."""

        def open(self, scope: Scope, base: Path) -> SessionStore:
            store = Memory().open(scope, base)
            load = store.load

            async def slow(name: str) -> Any:
                if name == "slow":
                    await release.wait()
                return await load(name)

            store.load = slow  # type: ignore[method-assign]
            return store

    async def main() -> None:
        async with agent(done(say("quick")), done(say("slow")), session=SlowOne()) as opened:
            slow = asyncio.create_task(opened.run("go", session="slow"))
            quick = await asyncio.wait_for(opened.run("go", session="quick"), STALLED)
            assert quick.output_text == "quick"
            release.set()
            assert (await slow).output_text == "slow"

    asyncio.run(main())


async def longest_gap(work: Any) -> tuple[float, float]:
    """The longest time for which nothing else could run while work was done, and how long all of it took."""
    gap, last, is_over = 0.0, time.monotonic(), False

    async def beat() -> None:
        nonlocal gap, last
        while not is_over:
            await asyncio.sleep(0)
            now = time.monotonic()
            gap, last = max(gap, now - last), now

    beating = asyncio.create_task(beat())
    started = time.monotonic()
    await work
    took = time.monotonic() - started
    is_over = True
    await beating
    return gap, took


def test_a_huge_output_is_dealt_with_in_pieces() -> None:
    async def body(arguments: object) -> object:
        return HUGE

    async def main() -> tuple[float, float]:
        async with agent(done(call("c")), done(say("x")), body=body) as opened:
            return await longest_gap(opened.run("go"))

    gap, took = asyncio.run(main())
    assert gap < took / 2


HUGE = [[{"a": number}] for number in range(300_000)]


def test_a_thousand_files_of_skills_are_listed_and_hashed_in_pieces(tmp_path: Path) -> None:
    for number in range(250):
        folder = tmp_path / f"skill-{number}"
        (folder / "references").mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: skill-{number}\ndescription: Does {number}.\n---\nDo it.\n")
        for name in range(3):
            (folder / "references" / f"{name}.txt").write_text("text " * 1000)
    config = scripted({"text": "ok"}, skills={"sources": {"files": {"paths": [str(tmp_path)]}}})

    async def main() -> list[tuple[float, float]]:
        opened = Agent(AgentConfig.model_validate(config))
        opening = await longest_gap(opened.__aenter__())
        running = await longest_gap(opened.run("go"))
        await opened.__aexit__(None, None, None)
        return [opening, running]

    for gap, took in asyncio.run(main()):
        assert gap < took / 2
