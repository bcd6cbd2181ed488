"""A conversation as Chat Completions takes it: Responses items to messages, and tools to functions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from assembler.errors import AssemblerError, problem
from assembler.items import Item, text_of
from assembler.models.growing_items import EXTRA
from assembler.values import JSON

Message = dict[str, Any]
"""One message of Chat Completions."""


def messages(instructions: str, items: Sequence[Item]) -> list[Message]:
    """The messages that say what a conversation says.

    What a model said at one time, its text and its calls, is one message. Its reasoning is left out: no field of the
    API takes it back.

    Args:
        instructions: The rendered prompt.
        items: The conversation.

    Raises:
        AssemblerError: It holds what the API has no message for (``model/unsupported``).
    """
    said: list[Message] = [{"role": "system", "content": instructions}] if instructions else []
    for item in items:
        kind, role = item.get("type"), item.get("role")
        if kind == "message" and role == "assistant":
            if text := text_of(item):
                own = _own(said)
                own["content"] = f"{own['content']}\n{text}" if own["content"] else text
        elif kind == "message":
            said.append({"role": "user" if role == "user" else "system", "content": _content(item)})
        elif kind == "function_call":
            _own(said).setdefault("tool_calls", []).append(_call(item))
        elif kind == "function_call_output":
            output = _content({"content": item.get("output")})
            said.append({"role": "tool", "tool_call_id": item["call_id"], "content": output})
        elif kind != "reasoning":
            raise _unsupported(f"an item of the type `{kind}`")
    return said


def functions(tools: Sequence[Mapping[str, JSON]], *, strict: bool) -> list[dict[str, Any]]:
    """The tools as they are sent.

    Args:
        tools: As the Responses API takes them.
        strict: Whether the server knows the flag `strict`; others may refuse a request that has it.
    """
    left_out = {"type"} if strict else {"type", "strict"}
    return [
        {"type": "function", "function": {key: value for key, value in tool.items() if key not in left_out}}
        for tool in tools
    ]


def _own(said: list[Message]) -> Message:
    """The model's message at the end of what was said, a new one if somebody else spoke last."""
    if not said or said[-1]["role"] != "assistant":
        said.append({"role": "assistant", "content": None})
    return said[-1]


def _call(item: Item) -> dict[str, Any]:
    function = {"name": item["name"], "arguments": _replayable(str(item["arguments"]))}
    extra = {EXTRA: item[EXTRA]} if EXTRA in item else {}
    return {"id": item["call_id"], "type": "function", "function": function, **extra}


def _replayable(arguments: str) -> str:
    """The arguments of a call as the model wrote them, if that is a JSON object.

    Servers read them again at each request, and refuse one in which they are none, however long ago that was
    (https://github.com/vllm-project/vllm/pull/48922, https://github.com/ggml-org/llama.cpp/issues/25510). The model
    still finds what it wrote, beside the error that was its answer.
    """
    try:
        is_object = isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        is_object = False
    return arguments if is_object else json.dumps({"malformed": arguments})


def _content(item: Mapping[str, Any]) -> str | list[dict[str, Any]]:
    """What a message says: a text, which every server takes, or parts where it holds more."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    parts = [*_parts(content)]
    if all(part["type"] == "text" for part in parts):
        return "".join(part["text"] for part in parts)
    return parts


def _parts(content: object) -> Iterator[dict[str, Any]]:
    for given in cast("list[object]", content) if isinstance(content, list) else ():
        part = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        kind = part.get("type")
        if kind in {"input_text", "output_text", "text"}:
            yield {"type": "text", "text": str(part.get("text", ""))}
        elif kind == "input_image" and isinstance(part.get("image_url"), str):
            detail = {"detail": part["detail"]} if part.get("detail") else {}
            yield {"type": "image_url", "image_url": {"url": part["image_url"], **detail}}
        else:
            raise _unsupported(f"a part of the type `{kind}`")


def _unsupported(what: str) -> AssemblerError:
    hint = "begin a new session, or choose a model of the kind `openai`"
    return problem("model/unsupported", f"the conversation holds {what}, which Chat Completions cannot say", hint=hint)
