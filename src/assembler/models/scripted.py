"""A model that follows a script: offline, deterministic, for examples and tests."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any, Self

from pydantic import JsonValue, model_validator
from pydantic_core import PydanticCustomError

from assembler.components import Config, Entry, Named
from assembler.items import Item, assistant_message, function_call, text_of
from assembler.models.base import Model, ModelClient, ModelRequest
from assembler.prompts.template import render
from assembler.scope import Scope
from assembler.values import JSON

MAX_SEARCHED = 10_000
"""Characters of what the user said that patterns are searched in."""


class When(Config):
    """When a turn is played: everything that is given has to hold."""

    input: str | None = None
    """Regular expression, searched in the last thing that the user said, whatever its case; in the first 10,000
    characters of it. One that backtracks without end stops everything: nothing in Python can interrupt it."""
    skill: str | None = None
    """Name of a skill that has to be on offer."""

    @model_validator(mode="after")
    def _is_an_expression(self) -> Self:
        try:
            re.compile(self.input or "")
        except (re.error, OverflowError, RecursionError) as error:
            raise PydanticCustomError(
                "model/bad-pattern", "{why}", {"why": f"`input` is no pattern: {error}"}
            ) from None
        return self


class ScriptedCall(Config):
    """A call of a tool."""

    tool: str
    """Name of the tool."""
    arguments: dict[str, JsonValue] = {}
    """Its arguments; every text in them is a template."""


class Turn(Entry):
    """What the model does: calls, then text. A turn with calls and no text leaves the answer to the next that fits.

    Texts are templates over `input` (what the user said), `match` (named groups of `when.input`), `files` (names of the
    files handed to the run), `outputs` (what the tools answered since then, in order) and `skills` (names on offer).
    """

    when: When | None = None
    """When it is played; a turn without it always fits."""
    calls: list[ScriptedCall] = []
    """Calls that it makes, side by side."""
    text: str | None = None
    """What it answers once its calls are answered."""

    @model_validator(mode="after")
    def _does_something(self) -> Self:
        if not self.calls and self.text is None:
            raise PydanticCustomError("model/empty-turn", "expected `calls`, `text` or both")
        return self


class Scripted(Model, kind="scripted"):
    """Plays the first turn that fits the last input; needs no network and no key."""

    turns: Named[Turn]
    """Turns by name."""

    def open(self, scope: Scope) -> ModelClient:
        """A client that remembers nothing: what it has done already stands in the conversation."""
        return _ScriptedClient(self.turns)


class _ScriptedClient(ModelClient):
    def __init__(self, turns: Mapping[str, Turn]) -> None:
        self._turns = turns

    async def stream(self, request: ModelRequest) -> AsyncGenerator[dict[str, JSON]]:
        for event in _events(self._answer(request)):
            yield event

    def _answer(self, request: ModelRequest) -> list[Item]:
        said, since = _last_input(request.items)
        made = {str(item["call_id"]) for item in since if item.get("type") == "function_call"}
        outputs: list[JSON] = [item.get("output") for item in since if item.get("type") == "function_call_output"]
        position = sum(item.get("type") == "message" and item.get("role") == "user" for item in request.items)
        for name, turn in self._turns.items():
            found = _fits(turn, said, request.skills)
            if found is None:
                continue
            values: dict[str, object] = {
                "input": said,
                "match": found,
                "files": list(request.files),
                "outputs": outputs,
                "skills": list(request.skills),
            }
            ids = [f"{name}-{position}-{number}" for number in range(len(turn.calls))]
            if turn.calls and not made.issuperset(ids):
                return [
                    function_call(call_id, call.tool, json.dumps(_filled(call.arguments, values, name)))
                    for call_id, call in zip(ids, turn.calls, strict=True)
                ]
            if turn.text is not None:
                return [assistant_message(render(turn.text, values, what=f"text of turn `{name}`").strip())]
        return [assistant_message("No turn of this scripted model fits the input.")]


def _last_input(items: Sequence[Item]) -> tuple[str, Sequence[Item]]:
    """What the user said last, and the items since then."""
    for index in range(len(items) - 1, -1, -1):
        if items[index].get("type") == "message" and items[index].get("role") == "user":
            return text_of(items[index]), items[index + 1 :]
    return "", items


def _fits(turn: Turn, said: str, skills: Sequence[str]) -> dict[str, JSON] | None:
    """The named groups of a turn's pattern if the turn fits; None if it does not."""
    when = turn.when or When()
    if when.skill is not None and when.skill not in skills:
        return None
    found = re.search(when.input or "", said[:MAX_SEARCHED], re.IGNORECASE)
    return None if found is None else dict(found.groupdict())


def _filled(value: JSON, values: Mapping[str, object], turn: str) -> JSON:
    """A value with every text in it rendered."""
    if isinstance(value, str):
        return render(value, values, what=f"arguments of turn `{turn}`")
    if isinstance(value, list):
        return [_filled(item, values, turn) for item in value]
    if isinstance(value, dict):
        return {key: _filled(item, values, turn) for key, item in value.items()}
    return value


def _events(output: list[Item]) -> Iterator[dict[str, JSON]]:
    """The Responses events of an answer; a text comes in words, so that streaming is real."""
    usage: dict[str, JSON] = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    response: dict[str, JSON] = {"object": "response", "model": "scripted", "status": "in_progress", "output": []}
    yield {"type": "response.created", "response": dict(response)}
    for index, item in enumerate(output):
        place: dict[str, Any] = {"output_index": index}
        yield {"type": "response.output_item.added", **place, "item": {**item, "status": "in_progress"}}
        for word in re.findall(r"\S+\s*|\s+", text_of(item)):
            yield {"type": "response.output_text.delta", **place, "content_index": 0, "delta": word}
        yield {"type": "response.output_item.done", **place, "item": item}
    done: dict[str, JSON] = {**response, "status": "completed", "output": list(output), "usage": usage}
    yield {"type": "response.completed", "response": done}
