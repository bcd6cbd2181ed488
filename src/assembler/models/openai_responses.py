"""Models behind the OpenAI Responses API, through the SDK's own transport with plain JSON."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast
from urllib.parse import urlsplit

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from assembler.errors import AssemblerError, problem
from assembler.items import Item
from assembler.models.base import Model, ModelClient, ModelRequest
from assembler.powers import Power, contacts
from assembler.quantities import Duration
from assembler.scope import Scope
from assembler.secret import Secret
from assembler.values import JSON, Irreducible, to_json

if TYPE_CHECKING:
    from assembler.models.openai_sdk import Events, Refused, Transport

REASONING = "reasoning.encrypted_content"
"""What has to be asked for so that reasoning can be sent back to a provider that stores nothing:
https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items."""

_HOST = re.compile(r"\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_INLINE = frozenset({"message", "reasoning", "function_call", "function_call_output"})
"""Items that say all that they are about; others, such as those of a provider's own tools, need their ids."""

_END = object()


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
    """Time for one request, from the first attempt to the last word of the answer."""
    retries: int = Field(default=2, ge=0)
    """How often a request is sent again after a failure that may pass."""

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        why = _wrong_with(value)
        if why:
            raise PydanticCustomError("model/bad-url", "{why}", {"why": f"expected `https://HOST/PATH`: {why}"})
        return value

    def powers(self, base: Path) -> Iterable[Power]:
        """Sending the conversation, and the key, to the server."""
        return contacts(self.base_url, self.api_key.references if self.api_key else (), ("base_url",), ("api_key",))

    def open(self, scope: Scope) -> ModelClient:
        """A client that imports the SDK when the first request is about to be sent."""
        return _Client(self, scope)


class _Client(ModelClient):
    def __init__(self, model: OpenAIResponses, scope: Scope) -> None:
        self._model = model
        self._scope = scope
        self._connecting = asyncio.Lock()
        self._transport: Transport | None = None
        self._asks_for_reasoning = True

    async def stream(self, request: ModelRequest) -> AsyncGenerator[dict[str, JSON]]:
        transport = await self._connected()
        from assembler.models.openai_sdk import OpenAIError, Refused, failure

        # The time for a request ends at one moment, however many reads its answer takes. It is not watched across a
        # `yield`, where the loop would interrupt whoever reads the events.
        deadline = asyncio.get_running_loop().time() + self._model.timeout.total_seconds()
        begun = False
        try:
            async with asyncio.timeout_at(deadline):
                answer = await self._post(transport, request)
            async with answer:
                events = aiter(answer)
                while (event := await _next(events, deadline)) is not _END:
                    begun = True
                    yield _checked(event)
        except Refused as error:
            raise _refused(error) from None
        except OpenAIError as error:
            raise failure(error, self._model.base_url, begun=begun) from None
        except TimeoutError:
            what = f"no whole answer from {self._model.base_url} within model.timeout={self._model.timeout}"
            raise problem("model/timeout", what, hint="`model.timeout` is the time for all of it") from None

    async def _post(self, transport: Transport, request: ModelRequest) -> Events:
        """Sends a request; a model that has no reasoning to encrypt refuses to be asked for it, and is not again."""
        from assembler.models.openai_sdk import Refused

        try:
            return await transport.post("/responses", self._body(request))
        except Refused as error:
            if not (self._asks_for_reasoning and _is_about_reasoning(error)):
                raise
        self._asks_for_reasoning = False
        return await transport.post("/responses", self._body(request))

    async def _connected(self) -> Transport:
        async with self._connecting:
            if self._transport is None:
                # The SDK takes half a second to import: in a thread, so that the loop goes on.
                self._transport = await asyncio.to_thread(self._connect)
                self._scope.push_async_callback(self._transport.close)
            return self._transport

    def _connect(self) -> Transport:
        from assembler.models.openai_sdk import Transport

        model = self._model
        key = None if model.api_key is None else _header_text(model.api_key)
        seconds = model.timeout.total_seconds()
        return Transport(base_url=model.base_url, api_key=key, timeout=seconds, retries=model.retries)

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        model = self._model
        body: dict[str, Any] = {
            "model": model.name,
            "instructions": request.instructions,
            "input": _replayed(request.items),
            "stream": True,
            "store": False,
        }
        if self._asks_for_reasoning:
            body["include"] = [REASONING]
        if request.tools:
            body["tools"] = list(request.tools)
        settings = {"temperature": model.temperature, "max_output_tokens": model.max_output_tokens}
        return body | {name: value for name, value in settings.items() if value is not None}


async def _next(events: AsyncIterator[object], deadline: float) -> object:
    """The next event, as it came, or the end."""
    try:
        async with asyncio.timeout_at(deadline):
            return await anext(events, _END)
    except (ValueError, RecursionError) as error:
        raise _malformed(f"what came is not JSON in UTF-8 ({type(error).__name__})") from None


def _checked(event: object) -> dict[str, JSON]:
    """An event as JSON that can be stored and shown."""
    if not isinstance(event, dict):
        raise _malformed(f"an event is a JSON {type(event).__name__} instead of an object")
    try:
        return cast("dict[str, JSON]", to_json(cast("object", event)))
    except Irreducible as error:
        raise _malformed(f"an event has no JSON form: {error.reason}") from None


def _malformed(why: str) -> AssemblerError:
    return problem("model/malformed", f"the model's answer cannot be read: {why}", hint="is `model.base_url` right?")


def _replayed(items: Sequence[Item]) -> list[Item]:
    """A conversation as a provider takes it that has stored nothing of it (`store: false`).

    It would look up each `id` that it once gave, and answer "Item with id 'rs_...' not found. Items are not persisted
    when `store` is set to false". Without their ids, items are taken as they stand. Reasoning without its encrypted
    content is nothing but an id, so it is left out:
    https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items.
    """
    return [
        {key: value for key, value in item.items() if key != "id"} if item.get("type") in _INLINE else item
        for item in items
        if item.get("type") != "reasoning" or item.get("encrypted_content")
    ]


def _header_text(secret: Secret) -> str:
    """A key without the newline that files and shells add."""
    key = secret.reveal().strip()
    if not key or not key.isascii() or not key.isprintable():
        hint = "it has to be one line of ASCII characters"
        raise problem("secret/unusable", f"what `{secret}` stands for cannot be sent as a key", hint=hint)
    return key


def _wrong_with(url: str) -> str:
    """What is wrong with an address, without the address: it may hold a password."""
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return "it has a character that addresses do not have"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "its host or port is none"
    if parts.scheme not in {"http", "https"}:
        return "it begins with neither `https://` nor `http://`"
    if "@" in parts.netloc:
        return "credentials do not belong into it, but into `api_key`"
    host = parts.netloc.removesuffix(f":{port}") if port is not None else parts.netloc
    if not _HOST.fullmatch(host) or port == 0:
        return "its host or port is none"
    if parts.query or parts.fragment:
        return "nothing may follow its path"
    return ""


def _is_about_reasoning(error: Refused) -> bool:
    """Whether a model without reasoning was asked for it: "Encrypted content is not supported with this model"."""
    is_named = error.body.get("param") == "include" or "encrypted content" in error.reason.lower()
    return error.status in {400, 422} and is_named


def _refused(error: Refused) -> AssemblerError:
    """A provider's refusal: its status, its own words and its request id."""
    request = f", request {error.request_id}" if error.request_id else ""
    hint = ""
    if error.status == 429:
        wait = f"in {error.retry_after} seconds" if error.retry_after.isdecimal() else "later"
        hint = f"the provider limits how much may be sent; run again {wait}, or raise `model.retries`"
    return problem("model/refused", f"the provider answered {error.status}: {error.reason}{request}", hint=hint)
