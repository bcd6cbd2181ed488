"""Values that are no JSON, through a run: what the conversation keeps of them, and that it goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel
from tests.agent.support import CLIENT, TOOLS, agent, call, done, say

from assembler import Agent
from assembler.items import Item
from assembler.sessions.sqlite import Sqlite
from assembler.tools.base import ToolOutput


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    at: datetime


class Model(BaseModel):
    size: Decimal
    note: str | None = None


class Hostile(BaseModel):
    def model_dump(self, **_: Any) -> Any:
        raise SystemExit("hunter2")


NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)

KINDS: dict[str, tuple[object, object]] = {
    "nothing": (None, None),
    "true": (True, True),
    "a number": (1.5, 1.5),
    "an object in its order": ({"b": 1, "a": [None]}, {"b": 1, "a": [None]}),
    "a moment": (NOON, "2026-01-02T12:00:00+00:00"),
    "a decimal": (Decimal("1.10"), "1.10"),
    "a UUID": (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    "a path": (PurePosixPath("a/b"), "a/b"),
    "an enumeration": (Colour.RED, "red"),
    "a set": ({2, 1}, [1, 2]),
    "bytes": (b"\x00\xff", "AP8="),
    "a dataclass": (Point(1, NOON), {"x": 1, "at": "2026-01-02T12:00:00+00:00"}),
    "a Pydantic model": (Model(size=Decimal("0.5")), {"size": "0.5", "note": None}),
    "an exception": ([1, LookupError("no such city")], [1, "LookupError: no such city"]),
    "half a surrogate": ("a\ud800", "a\ufffd"),
}
"""What a tool returns, and what the conversation has of it."""

BAD: dict[str, tuple[object, str]] = {
    "an object of any kind": ({"a": [1, object()]}, "$.a[1]"),
    "no number": ({"a": float("nan")}, "$.a"),
    "a key that is no text": ({"a": {1: 2}}, "$.a"),
    "an iterator": ({"a": iter([1])}, "$.a"),
    "a model that ends the program": ({"a": Hostile()}, "$.a"),
}
"""What has no JSON form, and where it has none."""


def give(kind: str) -> object:
    """Returns a value of that kind."""
    return {**KINDS, **BAD}[kind][0]


async def tool(arguments: Mapping[str, Any]) -> object:
    return ToolOutput(give(str(arguments["do"])))


SKILLS: dict[str, Any] = {
    "sources": {"inline": {"skills": {"values": {"description": "Gives values.", "scripts": {"give": give}}}}}
}

CALLS = {
    "probe": lambda kind: call("c", do=kind),
    "run_skill_script": lambda kind: call(
        "c", "run_skill_script", skill_name="values", script_name="give", arguments=json.dumps({"kind": kind})
    ),
}


def made(tmp_path: Path, *streams: Any, body: Any = tool, **parts: Any) -> Agent:
    session = Sqlite(path=tmp_path / "sessions.db")
    return agent(*streams, body=body, skills=SKILLS, session=session, **parts)


def talked(opened: Agent, *said: str) -> Sequence[Item]:
    """What is stored after these runs, which all end with an answer; read by an agent that was opened anew."""

    async def talk() -> Sequence[Item]:
        for text in said:
            async with opened:
                assert (await opened.run(text, session="s")).status == "completed"
        async with opened:
            return (await opened.conversation("s")).items

    return asyncio.run(talk())


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_tool_returns_is_kept_as_json(kind: str, name: str, tmp_path: Path) -> None:
    items = talked(made(tmp_path, done(CALLS[name](kind)), done(say("x")), done(say("y"))), "one", "two")
    (output,) = [str(item["output"]) for item in items if item["type"] == "function_call_output"]
    expected = KINDS[kind][1]
    assert output == (expected if isinstance(expected, str) else json.dumps(expected))
    assert [*CLIENT.requests[2].items[:-1]] == [*items[:-2]]  # the second run sends what the first one kept


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("kind", BAD)
def test_what_has_no_json_form_is_an_error_that_names_the_tool_and_the_place(
    kind: str, name: str, tmp_path: Path
) -> None:
    items = talked(made(tmp_path, done(CALLS[name](kind)), done(say("x")), done(say("y"))), "one", "two")
    (output,) = [str(item["output"]) for item in items if item["type"] == "function_call_output"]
    assert output.startswith(f"error: `{name}` returned a value that has no JSON form at {BAD[kind][1]}: ")
    assert "hunter2" not in output
    assert len(items) == 6


@pytest.mark.parametrize(
    ("written", "given"),
    [('{"do": null}', {"do": None}), ("{}", {}), ('{"do": "null"}', {"do": "null"})],
)
def test_an_argument_that_is_null_is_null_and_one_that_is_absent_is_absent(
    written: str, given: Any, tmp_path: Path
) -> None:
    seen: list[Any] = []

    async def body(arguments: Mapping[str, Any]) -> object:
        seen.append(dict(arguments))
        return arguments

    asked = {**call("c"), "arguments": written}
    opened = made(tmp_path, done(asked), done(say("x")), body=body, strict="never")
    TOOLS[0].schema = {"type": "object", "properties": {"do": {"type": ["string", "null"]}}}
    items = talked(opened, "one")
    assert seen == [given]
    assert [item["arguments"] for item in items if item["type"] == "function_call"] == [written]
    (output,) = [item["output"] for item in items if item["type"] == "function_call_output"]
    assert json.loads(str(output)) == given
