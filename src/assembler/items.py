"""Conversation items: the Responses API's, as plain JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from assembler.values import JSON

CUT = "characters left out ..."
"""Ends the mark that stands where an output was cut."""

Item = dict[str, JSON]
"""One item: a message, a function call, its output, reasoning."""


def user_message(text: str) -> Item:
    """What a person says."""
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def assistant_message(text: str) -> Item:
    """What a model says."""
    content: list[JSON] = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "status": "completed", "content": content}


def function_call(call_id: str, name: str, arguments: str) -> Item:
    """A model's call; the arguments are JSON text, as the model wrote them."""
    return {
        "type": "function_call",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": "completed",
    }


def function_call_output(call_id: str, output: JSON) -> Item:
    """The answer to a call: text goes as it is, anything else as JSON text."""
    text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def text_of(item: Item) -> str:
    """The text of a message, its parts joined, a model's refusals among them; empty for any other item.

    What is not of the form that the API documents has no text: a provider's odd answer is no reason to fail.
    """
    if item.get("type") != "message":
        return ""
    content = item.get("content")
    if isinstance(content, str):
        return content
    parts = cast("Sequence[Any]", content) if isinstance(content, list) else ()
    return "".join(_text_of_part(cast("Mapping[str, Any]", part)) for part in parts if isinstance(part, Mapping))


def _text_of_part(part: Mapping[str, Any]) -> str:
    text = part.get("refusal" if part.get("type") == "refusal" else "text")
    return text if isinstance(text, str) else ""
