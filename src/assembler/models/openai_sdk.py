"""The OpenAI SDK's client with nothing from the environment, and what its exceptions mean; importing it is slow."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

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


_NO_SUCCESS = 300
"""The lowest HTTP status of an answer that is none."""

_REASON = 3
"""Seconds to wait for the end of a body that says why the provider refuses."""


class Broken(Exception):
    """The connection broke within an answer."""


@dataclass
class Attempts:
    """What is known of a request while the SDK sends it, perhaps several times.

    Attributes:
        status: The HTTP status of the last answer; 0 before the first.
        headers: Its headers.
    """

    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class _Answered(Protocol):
    """An answer of the HTTP library, whose name differs between versions of the SDK."""

    status_code: int
    headers: Mapping[str, str]

    async def aread(self) -> bytes: ...


_ATTEMPTS: ContextVar[Attempts] = ContextVar("_ATTEMPTS")
"""Those of the request that this task sends: the SDK hands nothing through to where answers arrive."""


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
        hooks = {"response": [_note]}
        http = DefaultAsyncHttpxClient(follow_redirects=False, trust_env=False, event_hooks=hooks)
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

    async def post(self, path: str, body: Mapping[str, Any], attempts: Attempts) -> Reply:
        """Sends a request.

        Args:
            path: Where to, below the address.
            body: The request.
            attempts: Told of each answer.

        Raises:
            Refused: The provider refused.
            OpenAIError: There is no answer.
        """
        _ATTEMPTS.set(attempts)
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
        except OpenAIError:
            raise
        except Exception:
            if attempts.status < _NO_SUCCESS:
                raise
            # The HTTP library's own: the reason cannot be read.
            raise Refused(attempts.status, attempts.headers, None, _request_id(attempts.headers)) from None
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
        return problem("model/unreachable", f"no answer from {base_url}", hint=_advice(error))
    return problem("model/failed", f"the request failed: {type(error).__name__}")


async def _note(answer: _Answered) -> None:
    """Notes an answer as it arrives, and reads why it is a refusal while that is sure to end."""
    attempts = _ATTEMPTS.get()
    attempts.status, attempts.headers = answer.status_code, answer.headers
    if answer.status_code >= _NO_SUCCESS:
        with suppress(Exception):
            async with asyncio.timeout(_REASON):
                await answer.aread()


def _advice(error: APIConnectionError) -> str:
    """What to do where no connection came about, by what is behind the exception."""
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return (
                "its certificate is not to be trusted: an authority of your company's own belongs into the store of "
                "the system, where alone it is looked for"
            )
        if isinstance(cause, ssl.SSLError):
            return "it speaks no TLS: is `model.base_url` to begin with `http://`?"
        if isinstance(cause, socket.gaierror | UnicodeError):
            return "is the name of the host right in `model.base_url`?"
        if type(cause).__name__ == "RemoteProtocolError":  # of a library whose name differs between versions of the SDK
            return "is it a server that speaks HTTP, at this port and without TLS?"
    return "is the server running?"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _request_id(headers: Mapping[str, str]) -> str:
    found = next((headers[name] for name in REQUEST_IDS if headers.get(name)), "")
    return clean_text(found)[:100]
