"""The OpenAI SDK's client with nothing from the environment, and what its exceptions mean; importing it is slow."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

from openai import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    AsyncOpenAI,
    AsyncStream,
    DefaultAsyncHttpxClient,
    OpenAIError,
    omit,
)

from assembler.errors import AssemblerError, problem
from assembler.models.event_stream import ReplyReader
from assembler.models.provider_errors import Refused
from assembler.values import clean_text

REQUEST_IDS = ("x-request-id", "request-id", "apim-request-id")
"""Headers in which providers name a request: OpenAI's, Anthropic's, Azure's."""

_DRAINING = 0.1
"""Seconds to wait for the end of a body after the end of its answer."""


class Broken(Exception):
    """The connection broke within an answer."""


class Reply:
    """An answer on its way; to be closed.

    Args:
        stream: The SDK's stream, of which nothing was read.

    Attributes:
        request_id: What the provider calls the request; empty if it does not name it.
    """

    def __init__(self, stream: AsyncStream[object]) -> None:
        self.request_id = _request_id(stream.response.headers)
        self._close = stream.close
        self._bytes = stream.response.aiter_bytes()
        self._reader = ReplyReader()
        self._ended = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._close()

    async def read(self) -> Sequence[str] | None:
        """The JSON texts that came next; None once nothing follows.

        Raises:
            Broken: The connection broke.
            ValueError: What came is no reply, or no UTF-8.
        """
        if self._ended or self._reader.is_done:
            return None
        try:
            data = await anext(self._bytes, None)
        except Exception:  # noqa: BLE001  the HTTP library's own, whose names differ between versions of the SDK
            raise Broken from None
        if data is None:
            self._ended = True
            return self._reader.end()
        return self._reader.feed(data)

    async def drain(self) -> None:
        """Reads what is left of a body whose answer is complete, so that the connection can be used again."""
        with suppress(Exception):
            async with asyncio.timeout(_DRAINING):
                async for _ in self._bytes:
                    pass


class Transport:
    """Sends requests to one server.

    Args:
        base_url: Where the API is.
        api_key: The key as it goes into the header; None for no header.
        headers: More headers.
        organization: Name of the organization; None for no header.
        project: Name of the project; None for no header.
        timeout: Seconds to wait for the server's next sign.
        retries: How often a request is sent again after a failure that may pass.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str | None,
        headers: Mapping[str, str],
        organization: str | None,
        project: str | None,
        timeout: float,
        retries: int,
    ) -> None:
        # Proxies, certificates and `.netrc` of the environment stay alone (`trust_env`): they would see the key.
        http = DefaultAsyncHttpxClient(follow_redirects=False, trust_env=False)
        # The SDK insists on a key; where there is none, the header that it would make is left out of each request.
        self._sdk = AsyncOpenAI(
            api_key=api_key or "none", base_url=base_url, timeout=timeout, max_retries=retries, http_client=http
        )
        # The SDK fills these from OPENAI_ORG_ID, OPENAI_PROJECT_ID, OPENAI_ADMIN_KEY and OPENAI_CUSTOM_HEADERS. It has
        # no public way to leave the last one out.
        self._sdk.organization, self._sdk.project, self._sdk.admin_api_key = organization, project, None
        self._sdk._custom_headers = {}  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        self._headers = {**headers, **({} if api_key else {"Authorization": omit})}
        self.close = self._sdk.close

    async def post(self, path: str, body: Mapping[str, Any]) -> Reply:
        """Sends a request.

        Raises:
            Refused: The provider refused.
            OpenAIError: There is no answer.
        """
        try:
            stream = await self._sdk.post(
                path,
                body=body,
                cast_to=object,
                stream=True,
                stream_cls=AsyncStream[object],
                options={"headers": self._headers},
            )
        except APIStatusError as error:
            headers = error.response.headers
            # Not raised from the SDK's exception: its text is the body, which may repeat the key.
            raise Refused(error.status_code, headers, error.body, _request_id(headers)) from None
        return Reply(stream)


def failure(error: OpenAIError, base_url: str) -> AssemblerError:
    """What an exception of the SDK means, other than a refusal: there is no answer.

    Args:
        error: The exception.
        base_url: Where the request went.
    """
    if isinstance(error, APITimeoutError):
        return problem("model/timeout", f"{base_url} takes too long to answer", hint="`model.timeout` sets how long")
    if isinstance(error, APIConnectionError):
        return problem("model/unreachable", f"no answer from {base_url}", hint="is the server running?")
    return problem("model/failed", f"the request failed: {type(error).__name__}")


def _request_id(headers: Mapping[str, str]) -> str:
    found = next((headers[name] for name in REQUEST_IDS if headers.get(name)), "")
    return clean_text(found)[:100]
