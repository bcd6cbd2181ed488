"""Where a run ends, whatever the model wants: failures that repeat, and tokens."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from typing import Any

import pytest
from tests.agent.support import CLIENT, agent, call, done, say

from assembler.tools.base import ToolOutput


async def do(arguments: Mapping[str, Any]) -> object:
    """What the tool of these tests does."""
    what = arguments["do"]
    if what == "raise":
        raise LookupError("no")
    if what == "refuse":
        return ToolOutput("error: no", failed=True)
    return object() if what == "object" else "fine"


FAILING: dict[str, dict[str, Any]] = {
    "raises": {"do": "raise"},
    "says so": {"do": "refuse"},
    "has no JSON form": {"do": "object"},
    "does not fit": {"do": 7},
    "unknown argument": {"do": "x", "more": 1},
    "unknown tool": {"name": "prob", "do": "x"},
    "denied": {"name": "load_skill", "skill_name": "one"},
}
"""A call that fails, by why."""

OK = {"do": "fine"}
BAD = FAILING["raises"]
OTHER = FAILING["unknown tool"]

SKILLS = {"sources": {"inline": {"skills": {"one": {"description": "One.", "instructions": "Do."}}}}}
DENIED = {"default": "allow", "rules": {"no": {"tools": ["load_skill"], "action": "deny"}}}


def run(*turns: list[dict[str, Any]], **limits: Any) -> Any:
    """A run whose model makes these calls, turn by turn, and then answers."""
    streams: list[Any] = []
    for number, calls in enumerate(turns):
        streams.append(done(*(call(f"{number}-{index}", **each) for index, each in enumerate(calls))))
    return agent(*streams, done(say("x")), body=do, limits=limits, skills=SKILLS, approval=DENIED).run_sync("go")


@pytest.mark.parametrize("why", FAILING)
def test_a_call_that_fails_counts_whatever_the_reason(why: str) -> None:
    result = run([FAILING[why]], [FAILING[why]], repeated_failures=2)
    assert result.status == "limit"
    assert "every call failed in 2 turns in a row (limits.repeated_failures=2)" in result.reason
    assert run([FAILING[why]], [OK], [FAILING[why]], repeated_failures=2).status == "completed"


@pytest.mark.parametrize(
    ("turns", "limit", "ended_after"),
    [
        pytest.param([[BAD]], 1, 1, id="one is enough"),
        pytest.param([[BAD], [BAD]], 3, None, id="fewer than the limit"),
        pytest.param([[BAD], [BAD], [BAD]], 3, 3, id="one after the other"),
        pytest.param([[BAD, BAD, BAD]], 3, None, id="side by side is one attempt"),
        pytest.param([[BAD, BAD], [BAD, BAD]], 2, 2, id="side by side, twice"),
        pytest.param([[BAD, OK], [BAD, OK], [BAD, OK]], 2, None, id="something was done in each turn"),
        pytest.param([[BAD], [OK], [BAD], [OK], [BAD]], 2, None, id="something was done in between"),
        pytest.param([[BAD], [OTHER], [BAD]], 3, 3, id="alternating tools that both fail"),
        pytest.param([[BAD, OTHER], [OTHER, BAD]], 2, 2, id="two tools side by side"),
        pytest.param([[OK], [OK], [OK], [OK]], 2, None, id="the same call again and again, without a failure"),
        pytest.param([[OK], [BAD], [BAD]], 2, 3, id="after a success"),
    ],
)
def test_failures_are_counted_by_the_turn(turns: Any, limit: int, ended_after: int | None) -> None:
    result = run(*turns, repeated_failures=limit)
    assert result.status == ("completed" if ended_after is None else "limit")
    assert len(CLIENT.requests) == (len(turns) + 1 if ended_after is None else ended_after)


def test_a_script_that_ends_with_another_exit_code_than_0_has_failed(tmp_path: Any) -> None:
    skill = tmp_path / "broken"
    (skill / "scripts").mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: broken\ndescription: Breaks.\n---\nRun it.\n")
    (skill / "scripts" / "break.py").write_text("raise SystemExit(3)")
    calls = [call(str(n), "run_skill_script", skill_name="broken", script_name="scripts/break.py") for n in range(2)]
    made = agent(
        *map(done, calls),
        done(say("x")),
        skills={"sources": {"files": {"paths": [str(tmp_path)]}}},
        runner={"kind": "subprocess", "interpreters": {".py": sys.executable}},
        limits={"repeated_failures": 2},
    )
    result = made.run_sync("go")
    assert "at last of `run_skill_script`" in result.reason


def turns_of(*usages: Any) -> list[Any]:
    """Streams of turns with a call each, and these usages, and an answer."""
    calls = [done(call(str(number), do="fine"), usage=usage) for number, usage in enumerate(usages[:-1])]
    return [*calls, done(say("x"), usage=usages[-1])]


@pytest.mark.parametrize(
    ("usages", "limit", "requests"),
    [
        pytest.param([{"total_tokens": 4}] * 4, 100, 4, id="not reached"),
        pytest.param([{"total_tokens": 4}] * 4, 8, 2, id="reached"),
        pytest.param([{"total_tokens": 4}] * 4, 9, 3, id="passed"),
        pytest.param([{"input_tokens": 3, "output_tokens": 1}] * 4, 8, 2, id="without a total"),
        pytest.param([{"output_tokens": 4}] * 4, 8, 2, id="half counted"),
        pytest.param([{"total_tokens": 1}, {"total_tokens": 9}], 5, 2, id="an answer is an answer"),
        pytest.param([{"total_tokens": 0}] * 3, 1, 3, id="a model that costs nothing"),
    ],
)
def test_tokens_of_all_requests_are_counted_together(usages: Any, limit: int, requests: int) -> None:
    result = agent(*turns_of(*usages), body=do, limits={"tokens": limit}).run_sync("go")
    assert len(CLIENT.requests) == requests
    assert result.status == ("completed" if requests == len(usages) else "limit")
    assert ("limits.tokens=" in result.reason) is (result.status == "limit")


def test_the_answer_that_reaches_the_limit_is_kept_and_what_it_calls_is_not_run() -> None:
    ran: list[object] = []

    async def body(arguments: Mapping[str, Any]) -> object:
        ran.append(arguments)
        return 1

    result = agent(*turns_of({"total_tokens": 4}, {}), body=body, limits={"tokens": 4}).run_sync("go")
    assert [item["type"] for item in result.items] == ["message", "function_call", "function_call_output"]
    assert result.items[-1]["output"] == "not run: the run used 4 tokens (limits.tokens=4)"
    assert result.usage == {"total_tokens": 4}
    assert ran == []


@pytest.mark.parametrize(
    ("usage", "limits", "told"),
    [
        (None, {"tokens": 4}, ["run/uncounted-tokens"]),
        ({"cost": 5}, {"tokens": 4}, ["run/uncounted-tokens"]),
        (None, {}, []),
        ({"total_tokens": 1}, {"tokens": 4}, []),
    ],
)
def test_a_model_that_counts_nothing_is_told_where_it_matters(usage: Any, limits: Any, told: list[str]) -> None:
    async def collect() -> list[Any]:
        async with agent(*turns_of(usage, usage, usage), body=do, limits=limits) as opened:
            return [event async for event in opened.stream("go")]

    events = asyncio.run(collect())
    found = [event["diagnostic"] for event in events if event["type"] == "assembler.diagnostic"]
    assert [diagnostic["code"] for diagnostic in found] == told
    assert events[-1]["status"] == "completed"
