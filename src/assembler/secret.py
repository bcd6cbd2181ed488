"""Secrets: references that stay references until the moment of use."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from assembler.errors import problem
from assembler.folders import located
from assembler.scrubbing import hide

_REFERENCE = re.compile(r"secret://(?:(env)/([A-Za-z_]\w*)|(file)/([\w/~%.-]+))", re.ASCII)
"""A variable's name, or a file's path in which everything else is percent-encoded, so that other text may follow."""


class Secret:
    """A text with references to secrets in it, such as ``secret://env/OPENAI_API_KEY``.

    In YAML it is written ``${secret:env,NAME}`` or ``${secret:file,PATH}``, alone or within a text; a file's path is
    absolute or starts with ``~/``. Dumps, errors and ``repr`` show the reference; only ``reveal`` reads what it stands
    for.

    Args:
        text: The text with its references.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return f"Secret({self._text!r})"

    def __str__(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    @property
    def references(self) -> tuple[str, ...]:
        """What it refers to, as ``env/NAME`` or ``file/PATH``."""
        return tuple("/".join(_parts(found)) for found in _REFERENCE.finditer(self._text))

    def reveal(self) -> str:
        """The text with what its references stand for; never to be kept, shown or logged.

        From then on ``scrubbing`` hides the text, and what each of its references stands for.

        Raises:
            AssemblerError: A variable is not set, or a file cannot be read (``secret/missing``).
        """
        text = _REFERENCE.sub(lambda found: _read(*_parts(found)), self._text)
        hide(text)
        return text

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        dump = core_schema.plain_serializer_function_ser_schema(str)
        return core_schema.no_info_plain_validator_function(cls._validate, serialization=dump)

    @classmethod
    def _validate(cls, value: Any) -> Secret:
        text = str(value) if isinstance(value, Secret) else value
        if not isinstance(text, str) or not is_reference(text):
            raise PydanticCustomError(
                "secret/literal",
                "expected a reference such as `${secret:env,NAME}`, so that no secret stands in a file",
            )
        for found in _REFERENCE.finditer(text):
            kind, name = _parts(found)
            if kind == "file" and not name.startswith(("/", "~/")):
                raise PydanticCustomError(
                    "secret/relative-file",
                    "the file of a secret is named by an absolute path, or from `~/`",
                    {"hint": '${secret:file,/run/secrets/NAME}, or ${secret:file,"~/NAME"}'},
                )
        return cls(text)


def is_reference(text: str) -> bool:
    """Whether a text refers to a secret."""
    return _REFERENCE.search(text) is not None


def _parts(found: re.Match[str]) -> tuple[str, str]:
    """Kind and name of a reference."""
    return (found[1], found[2]) if found[1] else (found[3], unquote(found[4]))


def _read(kind: str, name: str) -> str:
    """What a reference stands for, hidden from now on."""
    value = _variable(name) if kind == "env" else _file(name)
    hide(value)
    return value


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise problem("secret/missing", f"the environment variable `{name}` is not set", hint=f"export {name}=...")
    return value


def _file(name: str) -> str:
    try:
        return located(Path(name), Path("/")).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise problem("secret/missing", f"the secret file `{name}` cannot be read") from error
