"""Models behind the OpenAI Responses API, through the SDK's own transport with plain JSON."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, ClassVar, cast
from urllib.parse import urlsplit

from pydantic import Field

from assembler.errors import AssemblerError, problem
from assembler.models.base import Model, ModelClient, ModelRequest
from assembler.quantities import Duration
from assembler.scope import Scope
from assembler.secret import Secret
from assembler.values import JSON

if TYPE_CHECKING:
    from openai import AsyncOpenAI

KNOWN = frozenset({("env/OPENAI_API_KEY", "https://api.openai.com")})
"""Secrets with the origin that each may go to unasked; every other pair needs consent, which does not exist yet."""


class OpenAIResponses(Model, kind="openai"):
    """Answers through `POST /responses`; nothing is taken from the environment but the secrets that it names."""

    dialect: ClassVar[str] = "openai"

    name: str = Field(min_length=1)
    """Name of the model, as the provider knows it."""
    base_url: str = "https://api.openai.com/v1"
    """Where the API is."""
    api_key: Secret | None = None
    """The key; None for a server that wants none."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Sampling temperature; None leaves it to the provider."""
    max_output_tokens: int | None = Field(default=None, ge=1)
    """Most tokens of one answer; None leaves it to the provider."""
    timeout: Duration = timedelta(minutes=2)
    """Time for one request."""
    retries: int = Field(default=2, ge=0)
    """How often a request is sent again after a failure that may pass."""

    def open(self, scope: Scope) -> ModelClient:
        """A client that imports the SDK when the first request is about to be sent.

        Raises:
            AssemblerError: The conversation or a secret would go where nobody consented to (``model/foreign-origin``).
        """
        self._refuse_foreign()
        return _Client(self, scope)

    def _refuse_foreign(self) -> None:
        parts = urlsplit(self.base_url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if _is_loopback(parts.hostname or ""):
            return
        secrets = self.api_key.references if self.api_key else ()
        if origin in {known for _, known in KNOWN} and all((secret, origin) in KNOWN for secret in secrets):
            return
        what = f"the conversation and {', '.join(secrets)}" if secrets else "the conversation"
        raise problem(
            "model/foreign-origin",
            f"`model.base_url` would send {what} to {origin}, which nobody consented to",
            hint="use a server on this machine (127.0.0.1), or the provider that the preset names",
        )


class _Client(ModelClient):
    def __init__(self, model: OpenAIResponses, scope: Scope) -> None:
        self._model = model
        self._scope = scope
        self._sdk: AsyncOpenAI | None = None

    async def stream(self, request: ModelRequest) -> AsyncIterator[dict[str, JSON]]:
        from openai import APIConnectionError, APIStatusError, AsyncStream, OpenAIError

        sdk = self._sdk or self._connect()
        try:
            events = await sdk.post(
                "/responses", body=self._body(request), cast_to=object, stream=True, stream_cls=AsyncStream[object]
            )
            async with events:
                async for event in events:
                    yield cast("dict[str, JSON]", event)
        except APIStatusError as error:
            raise _refused(error) from error
        except APIConnectionError as error:
            where = self._model.base_url
            raise problem("model/unreachable", f"no answer from {where}", hint="is the server running?") from error
        except OpenAIError as error:
            raise problem("model/failed", f"the request failed: {type(error).__name__}") from error

    def _connect(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        model = self._model
        sdk = AsyncOpenAI(
            api_key=model.api_key.reveal() if model.api_key else "none",
            base_url=model.base_url,
            timeout=model.timeout.total_seconds(),
            max_retries=model.retries,
            http_client=DefaultAsyncHttpxClient(follow_redirects=False),
        )
        # The SDK would fill these from the environment, and send them wherever base_url points.
        sdk.organization = sdk.project = None
        self._scope.push_async_callback(sdk.close)
        self._sdk = sdk
        return sdk

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        model = self._model
        body: dict[str, Any] = {
            "model": model.name,
            "instructions": request.instructions,
            "input": list(request.items),
            "stream": True,
            "store": False,
        }
        if request.tools:
            body["tools"] = list(request.tools)
        settings = {"temperature": model.temperature, "max_output_tokens": model.max_output_tokens}
        return body | {name: value for name, value in settings.items() if value is not None}


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _refused(error: Any) -> AssemblerError:
    """A provider's refusal: status, its own code and request id; its text may quote what was sent, so it is cut."""
    is_object = isinstance(error.body, dict)
    body: dict[str, Any] = error.body if is_object else {"message": error.body}
    reason = str(body.get("message") or "no reason given")[:500]
    request = f", request {error.request_id}" if error.request_id else ""
    return problem("model/refused", f"the provider answered {error.status_code}: {reason}{request}")
