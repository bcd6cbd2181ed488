"""What a model answers, checked before anything comes of it: a provider's stream is foreign data."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from assembler.errors import AssemblerError, problem
from assembler.events import Event
from assembler.items import Item, text_of
from assembler.models.base import of_request
from assembler.scrubbing import scrubbed_json
from assembler.values import JSON, Irreducible, to_json

TERMINAL = frozenset({"response.completed", "response.incomplete", "response.failed"})
"""Events that end a stream; without one it was cut."""

OURS = frozenset({"function_call_output"})
"""Items that only this side of a conversation says."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of a model.

    Attributes:
        items: Its items, as they enter the conversation.
        calls: The function calls among them; of an answer that was cut none may run, since a call may be cut too.
        text: What it says, its messages joined; empty where it only calls.
        usage: Tokens, by the names of the Responses API.
        cut: Why it stopped before it was done; empty if it did not.
    """

    items: Sequence[Item]
    calls: Sequence[Item]
    text: str
    usage: Mapping[str, int]
    cut: str


def checked_event(event: object) -> Event | None:
    """An event as it may be passed on; None for one that is none of the Responses API's.

    Raises:
        AssemblerError: It is an error (``model/failed``), or no JSON object (``model/malformed``).
    """
    if not isinstance(event, Mapping):
        raise _malformed("an event that is no object")
    try:
        # Scrubbed before anything is taken from it: a message that is cut might end within a secret.
        known = cast("dict[str, Any]", scrubbed_json(to_json(cast("Mapping[str, Any]", event))))
    except Irreducible as error:
        raise _malformed(f"an event that is no JSON at {error.path}") from error
    kind = known.get("type")
    if kind == "error":
        said = _message(known) or _message(known.get("error")) or "no reason given"
        raise problem("model/failed", f"the model answered with an error: {said}")
    return known if isinstance(kind, str) and kind.startswith("response.") else None


def checked_answer(event: Event, seen: Sequence[Any], used: Collection[str]) -> Answer:
    """The answer in a stream's last event.

    Args:
        event: The last event.
        seen: Items that the stream announced as done; some servers leave them out of the response itself.
        used: Ids of the calls that the conversation has already.

    Raises:
        AssemblerError: The model failed (``model/failed``), or its answer breaks the protocol (``model/malformed``).
    """
    response = event.get("response")
    try:
        return _answer(event, response, seen, used)
    except AssemblerError as error:
        request_id = response.get("request_id") if isinstance(response, dict) else None
        raise of_request(error, request_id) from None


def _answer(event: Event, response: JSON, seen: Sequence[Any], used: Collection[str]) -> Answer:
    if not isinstance(response, dict):
        raise _malformed("no response in its last event")
    if event["type"] == "response.failed":
        raise problem("model/failed", f"the model failed: {_message(response.get('error')) or 'no reason given'}")
    output = response.get("output") or list(seen)
    if not isinstance(output, list):
        raise _malformed("an output that is no list")
    items = [_checked_item(item) for item in output]
    if event["type"] == "response.completed" and all(item["type"] == "reasoning" for item in items):
        raise _malformed("neither a text nor a call")
    ids = [str(item["call_id"]) for item in items if item["type"] == "function_call"]
    if len({*ids, *used}) != len(ids) + len(used):
        raise _malformed("two calls with one id")
    cut = ""
    if event["type"] == "response.incomplete":
        details = response.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        cut = str(reason or "no reason given")
    return Answer(
        items=items,
        calls=[item for item in items if item["type"] == "function_call"],
        text="\n".join(text for item in items if (text := text_of(item))),
        usage=_usage(response.get("usage")),
        cut=cut,
    )


def _checked_item(item: object) -> Item:
    known = cast("Item", item) if isinstance(item, dict) else {}
    if not isinstance(known.get("type"), str):
        raise _malformed("an item without a type")
    if known["type"] in OURS or (known["type"] == "message" and known.get("role") != "assistant"):
        raise _malformed("an item that only a user or a tool can say")
    if known["type"] == "function_call":
        for key in ("call_id", "name", "arguments"):
            if not isinstance(known.get(key), str) or (key != "arguments" and not known[key]):
                raise _malformed(f"a call without `{key}`")
    return known


def _usage(usage: object) -> dict[str, int]:
    if not isinstance(usage, dict):
        return {}
    counted = cast("dict[str, Any]", usage).items()
    return {name: number for name, number in counted if isinstance(number, int) and not isinstance(number, bool)}


def _message(value: object) -> str:
    """What an error object says; some servers send a text instead."""
    if isinstance(value, dict):
        value = cast("dict[str, Any]", value).get("message")
    return value[:500] if isinstance(value, str) else ""


def _malformed(what: str) -> AssemblerError:
    hint = "nothing was run; run again, and if it stays so, look whether the server speaks the API of `model.kind`"
    return problem("model/malformed", f"the model answered with {what}", hint=hint)
