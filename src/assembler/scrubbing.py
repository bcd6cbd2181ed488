"""What secrets stood for, hidden from the moment on in which somebody revealed them."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock
from typing import TypeVar, cast
from urllib.parse import quote, quote_plus

from assembler.errors import AssemblerError, Diagnostic
from assembler.values import clean_text

MARK = "[secret]"
"""Stands where a secret stood."""

LEAST = 4
"""Fewest characters of a text that is hidden: a shorter one would be found everywhere, and protects nothing."""

_WORD = re.compile("[A-Za-z]{,8}", re.ASCII)
"""What nobody has to guess: a word in place of a key, such as the `EMPTY` or `ollama` of servers that want none. Hidden
wherever it stands, it would make nonsense of the protocol itself."""

_LEAST_CORE = 8
"""Fewest characters of a base64 text that is looked for within another one: fewer would be found by chance."""

_SAFE = ("", "/", "!*'()", ";,/?:@&=+$#!*'()")
"""What is left as it is where text is percent-encoded: a query, a path, JavaScript's two functions."""

_T = TypeVar("_T")


class Scrubber:
    """Puts ``[secret]`` in place of each text that it was told of.

    It finds a text as it stands and in the forms in which tools and servers repeat one: escaped for JSON once or twice,
    percent-encoded, and in base64, alone or anywhere within something longer. What comes in pieces, each a text of its
    own, is not found, and numbers stay as they are.
    """

    def __init__(self) -> None:
        self._adding = Lock()
        self._known: set[str] = set()
        self._forms: tuple[str, ...] = ()
        """The longest first, so that no part of a text is hidden before the whole."""

    def add(self, text: str) -> None:
        """Tells it of a text; what surrounds it as white space is no part of it.

        A text of fewer than ``LEAST`` characters, a short word, or a part of ``[secret]`` itself is not looked for.
        """
        text = text.strip()
        if len(text) < LEAST or _WORD.fullmatch(text) or text in MARK:
            return
        with self._adding:
            if text not in self._known:
                self._known.add(text)
                forms = {*self._forms, *_forms(text)}
                self._forms = tuple(sorted(forms, key=lambda form: (-len(form), form)))

    def text(self, text: str) -> str:
        """A text with each known one hidden; itself if it holds none."""
        for form in self._forms:
            text = text.replace(form, MARK)
        return text

    def json(self, value: _T) -> _T:
        """A JSON value with each known text hidden in its texts and keys; itself if no text is known."""
        return cast("_T", self._json(value)) if self._forms else value

    def _json(self, value: object) -> object:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._json(item) for item in cast("list[object]", value)]
        if isinstance(value, dict):
            hidden: dict[str, object] = {}
            for key, item in cast("dict[str, object]", value).items():
                name = self.text(key)
                while name in hidden:  # two keys that differ in nothing but secrets
                    name += MARK
                hidden[name] = self._json(item)
            return hidden
        return value


_REVEALED = Scrubber()
"""Knows what this process revealed."""


def hide(text: str) -> None:
    """Hides a text that was revealed, from now on and in the whole process."""
    _REVEALED.add(text)


def scrubbed(text: str) -> str:
    """A text with ``[secret]`` in place of what this process revealed; itself if there is nothing to hide."""
    return _REVEALED.text(text)


def scrubbed_json(value: _T) -> _T:
    """A JSON value with ``[secret]`` in place of what this process revealed, in texts and keys."""
    return _REVEALED.json(value)


def scrubbed_diagnostic(diagnostic: Diagnostic) -> Diagnostic:
    """A diagnostic with ``[secret]`` in place of what this process revealed."""
    where = diagnostic.where
    if where.override is not None:
        where = replace(where, override=scrubbed(where.override))
    return replace(diagnostic, message=scrubbed(diagnostic.message), where=where, hint=scrubbed(diagnostic.hint))


def scrubbed_error(error: AssemblerError) -> AssemblerError:
    """A new error that says the same, with ``[secret]`` in place of what this process revealed.

    Raise it ``from None``: what is behind an error may repeat a secret as well.
    """
    return AssemblerError(*(scrubbed_diagnostic(diagnostic) for diagnostic in error.diagnostics))


@contextmanager
def scrubbed_errors() -> Generator[None]:
    """Has errors say ``[secret]`` where they would say what this process revealed."""
    try:
        yield
    except AssemblerError as error:
        raise scrubbed_error(error) from None


def _forms(text: str) -> Iterator[str]:
    """A text in all the forms in which it is looked for."""
    data = text.encode("utf-8", "surrogateescape")  # a variable may hold any bytes
    yield text
    yield clean_text(text)
    for escaped in _in_json(text):
        yield escaped
        yield from _in_json(escaped)
    for encoded in (*(quote(data, safe) for safe in _SAFE), quote_plus(data)):
        yield encoded
        yield re.sub("%..", lambda escape: escape[0].lower(), encoded)
    for encoded in _in_base64(data):
        yield encoded
        yield encoded.replace("+", "-").replace("/", "_")


def _in_json(text: str) -> Iterator[str]:
    """Within a text of JSON; some encoders leave what is not ASCII as it is, and some escape slashes."""
    for ascii_only in (True, False):
        escaped = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield escaped
        yield escaped.replace("/", "\\/")


def _in_base64(data: bytes) -> Iterator[str]:
    """Alone, and within something longer: there it begins at one of three places in a group of four characters.

    The first and the last character may be shared with what stands around, and are no part of what is looked for.
    """
    alone = b64encode(data).decode()
    yield alone
    yield alone.rstrip("=")
    for before, shared in enumerate((0, 2, 3)):
        whole = (before + len(data)) * 8 // 6
        core = b64encode(bytes(before) + data)[shared:whole].decode()
        if len(core) >= _LEAST_CORE:
            yield core
