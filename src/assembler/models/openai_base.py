"""What models behind the OpenAI SDK have in common as they are declared: where they are, and how they are asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, ClassVar, TypeVar

from pydantic import Field, JsonValue, ValidationError, field_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from assembler.components import Config
from assembler.models.addresses import is_header_text, wrong_address, wrong_header
from assembler.models.base import Model
from assembler.powers import Keys, Power, contacts
from assembler.quantities import Duration
from assembler.secret import Secret

T = TypeVar("T")


class Effort(Config):
    """How much a model thinks."""

    effort: str | None = Field(default=None, min_length=1)
    """How much it thinks before it answers, as the provider calls it: `minimal`, `low`, `medium`, `high`."""


class OpenAIModel(Model):
    """Nothing is taken from the environment but the secrets that it names."""

    owned: ClassVar[frozenset[str]] = frozenset()
    """Keys of a request that `extra_body` may not touch, since they are said by the conversation or the settings."""

    name: str = Field(min_length=1)
    """Name of the model, as the provider knows it."""
    base_url: str = "https://api.openai.com/v1"
    """Where the API is."""
    api_key: Secret | None = None
    """The key; None for a server that wants none."""
    organization: str | None = None
    """Organization that is charged, where a key belongs to several."""
    project: str | None = None
    """Project that is charged, where a key belongs to several."""
    temperature: float | None = Field(default=None, ge=0, le=2)
    """Sampling temperature; None leaves it to the provider."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    """Share of the likeliest tokens that are sampled; None leaves it to the provider."""
    max_output_tokens: int | None = Field(default=None, ge=1)
    """Most tokens of one answer; None leaves it to the provider."""
    parallel_tool_calls: bool | None = None
    """Whether one answer may call several tools; None leaves it to the provider."""
    stream: bool = True
    """Whether an answer comes piece by piece; `false` for a server that cannot stream calls of tools."""
    extra_headers: dict[str, Annotated[Secret | str, Field(union_mode="left_to_right")]] = {}
    """More headers by name: texts, and references to secrets."""
    extra_body: dict[str, JsonValue] = {}
    """More of the request, laid over it: what this server knows beside the settings above."""
    timeout: Duration = timedelta(minutes=2)
    """Time for one request, from the first attempt to the last word of the answer."""
    first_token_timeout: Duration | None = None
    """Time to the first word, call or thought of a streamed answer; None for no other limit than `timeout`."""
    retries: int = Field(default=2, ge=0)
    """How often a request is sent again after a failure that may pass."""

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        why = wrong_address(value)
        if why:
            raise PydanticCustomError("model/bad-url", "{why}", {"why": f"expected `https://HOST/PATH`: {why}"})
        return value

    @field_validator("organization", "project")
    @classmethod
    def _fits_a_header(cls, value: str | None) -> str | None:
        if value is not None and not is_header_text(value):
            raise PydanticCustomError("model/bad-header", "expected one line of printable ASCII characters")
        return value

    @field_validator("extra_headers")
    @classmethod
    def _are_headers(cls, value: dict[str, Secret | str]) -> dict[str, Secret | str]:
        names = [name.lower() for name in value]
        wrong: dict[str, PydanticCustomError] = {}
        for name, text in value.items():
            why = wrong_header(name, text if isinstance(text, str) else None)
            if not why and names.count(name.lower()) > 1:
                why = "it stands twice, upper and lower case being the same"
            if why:
                wrong[name] = PydanticCustomError("model/bad-header", "{why}", {"why": why})
        return _without_wrong(value, wrong)

    @field_validator("extra_body")
    @classmethod
    def _leaves_ours(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        told = {"hint": "leave it out: the conversation, the tools and the settings say it"}
        ours = PydanticCustomError("model/owned-key", "a request says this by itself", told)
        return _without_wrong(value, dict.fromkeys(sorted(value.keys() & cls.owned), ours))

    def powers(self, base: Path) -> Iterable[Power]:
        """Sending the conversation to the server, and with it every secret that goes into a header."""
        headers = {("extra_headers", name): text for name, text in self.extra_headers.items()}
        return contacts(self.base_url, ("base_url",), _references({("api_key",): self.api_key, **headers}))


def _without_wrong(value: dict[str, T], wrong: Mapping[str, PydanticCustomError]) -> dict[str, T]:
    """A mapping, if nothing is wrong with its keys; each that is wrong is told at its own place."""
    if wrong:
        lines = [InitErrorDetails(type=error, loc=(key,), input=None) for key, error in wrong.items()]
        raise ValidationError.from_exception_data("mapping", lines, hide_input=True)
    return value


def _references(texts: Mapping[Keys, Secret | str | None]) -> Iterator[tuple[str, Keys]]:
    """The secrets that are sent, each with the keys that hold it."""
    for keys, text in texts.items():
        if isinstance(text, Secret):
            yield from ((reference, keys) for reference in text.references)
