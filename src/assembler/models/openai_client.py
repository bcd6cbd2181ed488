"""What models behind the OpenAI SDK have in common when they are open: how they are asked, and how answers are read."""

from __future__ import annotations

import asyncio
import json
from abc import abstractmethod
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from assembler.components import laid_over
from assembler.errors import AssemblerError, problem
from assembler.events import Event
from assembler.models.addresses import is_header_text
from assembler.models.base import ModelClient, ModelRequest, of_request
from assembler.models.openai_base import OpenAIModel
from assembler.models.provider_errors import Refused, failed, one_line, unreadable
from assembler.scope import Scope
from assembler.secret import Secret

if TYPE_CHECKING:
    from assembler.models.openai_sdk import Attempts, Reply, Transport

TERMINAL = frozenset({"response.completed", "response.incomplete", "response.failed"})
"""Events that end an answer."""

_BEGINNINGS = frozenset({"response.created", "response.queued", "response.in_progress"})
"""Events that a server sends before the model has said anything."""

_GRACE = 2
"""Seconds to wait for the count of tokens after the last word; some servers then keep the connection open."""


class Reading(Protocol):
    """What one answer means, read value by value."""

    @property
    def is_complete(self) -> bool:
        """Whether the answer is whole, even if the connection breaks now."""
        ...

    def events(self, value: Mapping[str, Any]) -> Iterable[Event]:
        """The Responses events that a JSON object of the reply stands for.

        Raises:
            AssemblerError: It is an error, or breaks the protocol.
        """
        ...

    def end(self) -> Iterable[Event]:
        """The events of a reply that is at its end.

        Raises:
            AssemblerError: It was cut, or makes no sense as a whole.
        """
        ...


class OpenAIClient(ModelClient):
    """An open model behind the SDK.

    Args:
        model: What is declared.
        scope: How long its connections live.
    """

    path: ClassVar[str]
    """Where requests go, below the address."""

    def __init__(self, model: OpenAIModel, scope: Scope) -> None:
        self._model = model
        self._scope = scope
        self._connecting = asyncio.Lock()
        self._transport: Transport | None = None

    @abstractmethod
    def body(self, request: ModelRequest) -> dict[str, Any]:
        """A request as the API takes it, without `extra_body`."""

    @abstractmethod
    def reading(self, request: ModelRequest) -> Reading:
        """Reads one answer."""

    @abstractmethod
    def asks_less(self, error: Refused, body: Mapping[str, Any]) -> bool:
        """Whether a refusal is about something in a request that can be left out, and now is.

        Args:
            error: The refusal.
            body: The request.
        """

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event]:
        """Answers; whatever goes wrong on the way is told with what the provider calls the request."""
        transport = await self._connected()
        from assembler.models.openai_sdk import Attempts, Broken, OpenAIError, failure

        clock = _Clock(self._model)
        attempts = Attempts()
        request_id = ""
        try:
            async with clock.limit():
                reply = await self._post(transport, request, attempts)
            request_id = reply.request_id
            async with reply:
                reading = self.reading(request)
                texts: Sequence[str] | None = ()
                while texts is not None:
                    texts = await _next(reply, reading, clock)
                    for event in reading.end() if texts is None else _events(texts, reading):
                        clock.saw(event)
                        yield await _of_reply(event, reply)
        except Refused as error:
            raise error.problem() from None
        except OpenAIError as error:
            raise failure(error, self._model.base_url) from None
        except Broken:
            why = "the connection broke before the model's answer was complete"
            raise of_request(problem("model/cut", why, hint="run again"), request_id) from None
        except TimeoutError:
            raise of_request(clock.problem(attempts.status), request_id) from None
        except AssemblerError as error:
            raise of_request(error, request_id) from None

    async def _post(self, transport: Transport, request: ModelRequest, attempts: Attempts) -> Reply:
        """Sends a request; what a server refuses to be asked for is left out, and not asked for again."""
        while True:
            body = self.body(request)
            try:
                return await transport.post(self.path, laid_over(body, self._model.extra_body), attempts)
            except Refused as error:
                if not self.asks_less(error, body):
                    raise

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
        return Transport(
            base_url=model.base_url,
            api_key=None if model.api_key is None else _header_text(model.api_key),
            headers={name: _header_text(text) for name, text in model.extra_headers.items()},
            organization=model.organization,
            project=model.project,
            timeout=model.timeout.total_seconds(),
            retries=model.retries,
        )


class _Clock:
    """The time for one request, which ends at one moment however many reads its answer takes.

    It is not watched across a `yield`, where the loop would interrupt whoever reads the events.
    """

    def __init__(self, model: OpenAIModel) -> None:
        self._model = model
        now = asyncio.get_running_loop().time()
        self._end = now + model.timeout.total_seconds()
        first = model.first_token_timeout if model.stream else None
        self._first = None if first is None else now + first.total_seconds()

    def limit(self) -> asyncio.Timeout:
        """Ends what takes too long with a ``TimeoutError``."""
        return asyncio.timeout_at(self._end if self._first is None else min(self._end, self._first))

    def saw(self, event: Event) -> None:
        """Notes that the model has begun to answer."""
        if event["type"] not in _BEGINNINGS:
            self._first = None

    def ends_soon(self) -> None:
        """Notes that the answer is whole: what may still come tells how many tokens it took."""
        self._end = min(self._end, asyncio.get_running_loop().time() + _GRACE)

    def problem(self, status: int) -> AssemblerError:
        """What the user is told when time is up.

        Args:
            status: The HTTP status of the last answer; 0 for none.
        """
        model = self._model
        if self._first is not None and self._first < self._end:
            name, of, hint = "first_token_timeout", "beginning of an answer", "is the time to its first word"
        else:
            name, of, hint = "timeout", "whole answer", "is the time for all of it"
        written = model.model_dump(mode="json")[name]
        message = f"no {of} from {model.base_url} within model.{name}={written}"
        if status >= 300:
            message += f": it answered {status}, and was to be asked again"
        return problem("model/timeout", message, hint=f"`model.{name}` {hint}")


def _events(texts: Sequence[str], reading: Reading) -> Iterator[Event]:
    """What JSON texts mean; each is parsed when it is its turn, since what follows the end of an answer is nothing."""
    for text in texts:
        yield from reading.events(_parsed(text))


async def _next(reply: Reply, reading: Reading, clock: _Clock) -> Sequence[str] | None:
    """The JSON texts that came next; None at the end, and where nothing is missing from the answer any more."""
    from assembler.models.openai_sdk import Broken

    if reading.is_complete:
        clock.ends_soon()
    try:
        async with clock.limit():
            return await reply.read()
    except (Broken, TimeoutError):
        if reading.is_complete:
            return None
        raise
    except UnicodeDecodeError:
        raise unreadable("what came is not JSON in UTF-8") from None
    except ValueError as error:
        raise unreadable(str(error)) from None


async def _of_reply(event: Event, reply: Reply) -> Event:
    """An event; the last one names the request, and comes when the connection is free for the next."""
    if event["type"] in TERMINAL:
        await reply.drain()
        response = event.get("response")
        if isinstance(response, dict) and reply.request_id:
            return {**event, "response": {**response, "request_id": reply.request_id}}
    return event


def _parsed(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise unreadable(f"what came is not JSON ({type(error).__name__}): `{one_line(text)[:100]}`") from None
    if not isinstance(value, dict):
        raise unreadable(f"what came is a JSON {type(value).__name__} instead of an object")
    found = cast("dict[str, Any]", value)
    if found.get("error") or found.get("type") == "error":
        raise failed(found)
    return found


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no JSON")


def _header_text(text: Secret | str) -> str:
    """What a header carries: of a secret, its value without the newline that files and shells add."""
    if isinstance(text, str):
        return text
    value = text.reveal().strip()
    if not is_header_text(value):
        hint = "it has to be one line of ASCII characters"
        raise problem("secret/unusable", f"what `{text}` stands for cannot be sent in a header", hint=hint)
    return value
