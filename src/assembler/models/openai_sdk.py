"""The OpenAI SDK's client with nothing from the environment, and what its exceptions mean; importing it is slow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from openai import (
    APIConnectionError,
    APIError,
    APIStatusError,
    APITimeoutError,
    AsyncOpenAI,
    AsyncStream,
    DefaultAsyncHttpxClient,
    OpenAIError,
    omit,
)

from assembler.errors import AssemblerError, problem
from assembler.scrubbing import scrubbed
from assembler.values import clean_text

Events = AsyncStream[object]
"""A response on its way, event by event."""


class Refused(Exception):
    """The provider answered with an HTTP error.

    Args:
        error: The SDK's exception.
    """

    def __init__(self, error: APIStatusError) -> None:
        super().__init__(error.status_code)
        self.status: int = error.status_code
        self.request_id = error.request_id or ""
        self.retry_after: str = error.response.headers.get("retry-after", "")
        self.body: Mapping[str, Any] = _first_object(error.body)
        self.reason = _reason(error.body, self.body)


class Transport:
    """Sends requests to one server.

    Args:
        base_url: Where the API is.
        api_key: The key as it goes into the header; None for no header.
        timeout: Seconds to wait for the server's next sign.
        retries: How often a request is sent again after a failure that may pass.
    """

    def __init__(self, *, base_url: str, api_key: str | None, timeout: float, retries: int) -> None:
        # Proxies, certificates and `.netrc` of the environment stay alone (`trust_env`): they would see the key.
        http = DefaultAsyncHttpxClient(follow_redirects=False, trust_env=False)
        # The SDK insists on a key; where there is none, the header that it would make is left out of each request.
        self._sdk = AsyncOpenAI(
            api_key=api_key or "none", base_url=base_url, timeout=timeout, max_retries=retries, http_client=http
        )
        # The SDK fills these from OPENAI_ORG_ID, OPENAI_PROJECT_ID, OPENAI_ADMIN_KEY and OPENAI_CUSTOM_HEADERS. It has
        # no public way to leave the last one out.
        self._sdk.organization = self._sdk.project = self._sdk.admin_api_key = None
        self._sdk._custom_headers = {}  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        self._headers = {} if api_key else {"Authorization": omit}
        self.close = self._sdk.close

    async def post(self, path: str, body: Mapping[str, Any]) -> Events:
        """Sends a request; the answer is a stream that has to be closed.

        Raises:
            Refused: The provider refused.
            OpenAIError: There is no answer.
        """
        try:
            return await self._sdk.post(
                path, body=body, cast_to=object, stream=True, stream_cls=Events, options={"headers": self._headers}
            )
        except APIStatusError as error:
            raise Refused(error) from None  # its text is the body, which may repeat the key


def failure(error: OpenAIError, base_url: str, *, begun: bool) -> AssemblerError:
    """What an exception of the SDK means, other than a refusal.

    Args:
        error: The exception.
        base_url: Where the request went.
        begun: Whether a part of the answer had come.
    """
    if isinstance(error, APITimeoutError):
        return problem("model/timeout", f"{base_url} takes too long to answer", hint="`model.timeout` sets how long")
    if isinstance(error, APIConnectionError) and begun:
        return problem("model/cut", "the connection broke before the model's answer was complete", hint="run again")
    if isinstance(error, APIConnectionError):
        return problem("model/unreachable", f"no answer from {base_url}", hint="is the server running?")
    if isinstance(error, APIError):
        # An event with an `error`, which the SDK raises instead of handing it over.
        return problem("model/failed", f"the model answered with an error: {_one_line(error.message)}")
    return problem("model/failed", f"the request failed: {type(error).__name__}")


def _first_object(body: object) -> Mapping[str, Any]:
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
    text = _one_line(told if isinstance(told, str) else "")
    if text.startswith("<"):
        return "an HTML page instead of JSON; is `model.base_url` right, or a proxy in between?"
    return text or "no reason given"


def _one_line(text: str) -> str:
    """A provider's text, cut: it may quote what was sent, and where it is cut no part of a key may be left."""
    return clean_text(" ".join(scrubbed(text).split()))[:500]
