"""What is told of a provider that refuses, fails or breaks the protocol, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from assembler.errors import AssemblerError, problem
from assembler.models.base import of_request
from assembler.scrubbing import scrubbed
from assembler.values import clean_text

MAX_TEXT = 500
"""Characters of a provider's own words that are shown."""

_BY_CODE: Mapping[str, str] = {
    "insufficient_quota": "the account has no credit left, so waiting does not help",
    "billing_hard_limit_reached": "the account has no credit left, so waiting does not help",
    "context_length_exceeded": "the conversation is longer than the model takes: begin a new one, or choose another",
    "content_filter": "the provider's filter refuses what was sent",
    "model_not_found": "does the provider know a model of the name `model.name`, and may this key use it?",
}
"""What to do, by the provider's code, which says more than the status."""

_UNSUITED = "the server may not know a setting, or take no strict schemas, which `model.dialect: none` leaves out"

_BY_STATUS: Mapping[int, str] = {
    400: _UNSUITED,
    401: "is the key right that `model.api_key` names?",
    402: "the account has to be paid for",
    403: "may this key use this model from here?",
    404: "does `model.base_url` lead to where the API begins, often `/v1`, and does the server know `model.name`?",
    408: "run again, or raise `model.retries`",
    409: "run again, or raise `model.retries`",
    413: "the conversation is larger than the server takes: begin a new one",
    422: _UNSUITED,
}


class Refused(Exception):
    """The provider answered with an HTTP error.

    Args:
        status: The HTTP status.
        headers: The headers of the answer, by their names in lower case.
        body: The body: JSON, a text, or nothing.
        request_id: What the provider calls the request, if it names it.
    """

    def __init__(self, status: int, headers: Mapping[str, str], body: object, request_id: str) -> None:
        super().__init__(status)
        self.status = status
        self.request_id = request_id
        self.retry_after = headers.get("retry-after", "")
        self.location = headers.get("location", "")
        self.error = _error_object(body)
        self.reason = _reason(body, self.error)

    def is_about(self, parameter: str, *words: str) -> bool:
        """Whether it is a parameter of the request that is refused, by its name or by words about it."""
        told = self.reason.lower()
        named = self.error.get("param") == parameter or any(word in told for word in words)
        return self.status in {400, 422} and named

    def problem(self) -> AssemblerError:
        """What the user is told: the status, the provider's own words and its code, and what to do."""
        code = _code(self.error)
        message = f"the provider answered {self.status}: {_with_code(self.reason, code)}"
        return of_request(problem("model/refused", message, hint=self._advice(code)), self.request_id)

    def _advice(self, code: str) -> str:
        if code in _BY_CODE:
            return _BY_CODE[code]
        if self.status == 429:
            wait = f"in {self.retry_after} seconds" if self.retry_after.isdecimal() else "later"
            return f"the provider limits how much may be sent; run again {wait}, or raise `model.retries`"
        if 300 <= self.status < 400 and self.location:
            where = one_line(self.location)
            return f"it sends you on to {where}, and redirects are not followed: if that is right, set `model.base_url`"
        if self.status >= 500:
            return "the provider has a problem of its own; run again later, or raise `model.retries`"
        return _BY_STATUS.get(self.status, "")


def failed(error: object) -> AssemblerError:
    """What the user is told of an error that came in place of an answer.

    Args:
        error: The error object, or a text.
    """
    found = _error_object(error)
    code = _code(found)
    message = f"the model answered with an error: {_with_code(_reason(error, found), code)}"
    return problem("model/failed", message, hint=_BY_CODE.get(code, "run again"))


def cut(*, begun: bool) -> AssemblerError:
    """An answer that came to its end too early."""
    hint = "run again" if begun else "is `model.base_url` right? Nothing came that belongs to an answer"
    return problem("model/cut", "the model's answer ended before it was complete", hint=hint)


def unreadable(why: str) -> AssemblerError:
    """An answer that breaks the protocol; nothing of it is run."""
    return problem("model/malformed", f"the model's answer cannot be read: {why}", hint="is `model.base_url` right?")


def _with_code(reason: str, code: str) -> str:
    return f"{reason} ({code})" if code and code not in reason else reason


def _error_object(body: object) -> Mapping[str, Any]:
    """The error object of a body; some providers wrap it in a list."""
    if isinstance(body, list) and body:
        body = cast("list[object]", body)[0]
    if not isinstance(body, dict):
        return {}
    found = cast("dict[str, Any]", body)
    inner = found.get("error")
    return cast("dict[str, Any]", inner) if isinstance(inner, dict) else found


def _reason(body: object, found: Mapping[str, Any]) -> str:
    """Why a provider refused, in its own words: an error object, a text, a page for people, or nothing at all."""
    told = found.get("message") or found.get("detail") or found.get("error") or (body if isinstance(body, str) else "")
    text = one_line(told if isinstance(told, str) else "")
    if text.startswith("<"):
        return "an HTML page instead of JSON; is `model.base_url` right, or a proxy in between?"
    return text or "no reason given"


def _code(found: Mapping[str, Any]) -> str:
    """The provider's name for what is wrong, if it gives one that is more than the status."""
    for name in (found.get("code"), found.get("type")):
        if isinstance(name, str) and name and not name.isdecimal():
            return one_line(name)[:100]
    return ""


def one_line(text: str) -> str:
    """A provider's text, cut: it may quote what was sent, and where it is cut no part of a key may be left."""
    return clean_text(" ".join(scrubbed(text).split()))[:MAX_TEXT]
