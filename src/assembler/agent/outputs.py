"""What a tool hands back, made fit for a conversation."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

from assembler.calling import call
from assembler.items import CUT
from assembler.scrubbing import scrubbed_json
from assembler.tools.base import ToolOutput
from assembler.values import JSON, to_json

_LIGHT = 16 * 1024
"""Characters of JSON that are dealt with in no time; each value counts as eight."""


async def fit(output: ToolOutput, limit: int) -> ToolOutput:
    """An output whose value is text, cut where it is too long, and in which nothing stands that this process revealed.

    Much of it would take long, and other values than JSON may run code of their own, which may block: both go to a
    thread.

    Args:
        output: What the tool handed back.
        limit: Most characters that go to the model.

    Raises:
        Irreducible: Something in it has no JSON form.
    """
    if _is_light([output.value, output.details, *output.events]):
        return _fit(output, limit)
    return cast("ToolOutput", await call(_fit, output, limit))


def _fit(output: ToolOutput, limit: int) -> ToolOutput:
    value = scrubbed_json(to_json(output.value))
    return replace(
        output,
        value=shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), limit),
        details=_object(output.details),
        events=[_object(event) for event in output.events],
    )


def shortened(text: str, limit: int) -> str:
    """A text with its middle cut out where it is longer than it may be."""
    if len(text) <= limit:
        return text
    tail = limit // 4  # the end says how a script ended, so it stays
    left_out = f"\n[... {len(text) - limit} {CUT}]\n"
    return text[: limit - tail] + left_out + text[len(text) - tail :]


def _object(value: object) -> dict[str, JSON]:
    return cast("dict[str, JSON]", scrubbed_json(to_json(value)))


def _is_light(value: object) -> bool:
    """Whether it is JSON, and not much of it."""
    rest, waiting = _LIGHT, [value]
    while waiting and rest > 0:
        item: Any = waiting.pop()
        kind = cast("type[object]", type(item))
        rest -= 8
        if kind is str:
            rest -= len(item)
        elif kind is dict:
            rest -= 8 * len(item)
            waiting += (part for pair in item.items() for part in pair) if rest > 0 else ()
        elif kind is list:
            waiting += item if len(item) < rest else ()
            rest -= len(item)
        elif item is not None and kind not in {bool, int, float}:
            return False
    return rest > 0
