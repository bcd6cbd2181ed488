"""The grammar of `${...}`, read from OmegaConf's own parse tree: patterns over the text can be talked around."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_SELECTING = frozenset({"oc.select", "oc.dict.keys", "oc.dict.values"})
"""Resolvers whose first argument is a key of the configuration."""


@dataclass(frozen=True, slots=True)
class Call:
    """A resolver that a text calls, however deep within other interpolations.

    Attributes:
        resolver: Its name as written; one that is computed holds `${`.
        argument: Its first argument as written; empty if there is none.
        follows: The character after the closing brace; empty at the end.
    """

    resolver: str
    argument: str
    follows: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A key of the configuration that a text takes a value from.

    Attributes:
        text: As written, with its braces.
        levels: Dots before the key: none counts from the root, one from what the text stands in, and so on upwards.
        keys: The key, step by step.
        is_optional: Whether nothing is wrong where the key is not there.
    """

    text: str
    levels: int
    keys: tuple[str, ...]
    is_optional: bool

    def target(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """The key from the root, for a text that stands at a path."""
        return (*path[: max(len(path) - self.levels, 0)], *self.keys) if self.levels else self.keys


def is_interpolated(text: str) -> bool:
    """Whether OmegaConf would look at a text at all."""
    return "${" in text


def calls(text: str) -> list[Call]:
    """The resolvers that a text calls.

    Raises:
        ValueError: The text does not follow the grammar; says why.
    """
    from omegaconf.errors import GrammarParseError
    from omegaconf.grammar_parser import parse

    if not is_interpolated(text):
        return []
    try:
        return list(_calls(parse(text), text))
    except GrammarParseError as error:
        # What the parser says repeats the text, which may hold a secret.
        raise ValueError("an interpolation is `${key}` or `${resolver:argument}`") from error
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def references(text: str) -> list[Reference]:
    """The keys that a text takes values from, but those whose names are computed; none if it is malformed."""
    from omegaconf.errors import GrammarParseError
    from omegaconf.grammar_parser import parse

    if not is_interpolated(text):
        return []
    try:
        return list(_references(parse(text)))
    except (GrammarParseError, RecursionError):
        return []


def _calls(tree: Any, text: str) -> Iterator[Call]:
    from omegaconf.grammar_parser import (
        OmegaConfGrammarParser,  # pyright: ignore[reportPrivateImportUsage]  its own place differs between releases
    )

    if isinstance(tree, OmegaConfGrammarParser.InterpolationResolverContext):
        context: Any = tree
        arguments = context.sequence()
        end: int = context.stop.stop + 1
        first: str = arguments.getChild(0).getText() if arguments is not None else ""
        yield Call(context.resolverName().getText(), first, text[end : end + 1])
    for child in getattr(tree, "children", None) or ():
        yield from _calls(child, text)


def _references(tree: Any) -> Iterator[Reference]:
    from omegaconf.grammar_parser import (
        OmegaConfGrammarParser,  # pyright: ignore[reportPrivateImportUsage]  as above
    )

    written: str = tree.getText()
    if isinstance(tree, OmegaConfGrammarParser.InterpolationNodeContext):
        yield from _reference(written, written[2:-1], is_optional=False)
    elif isinstance(tree, OmegaConfGrammarParser.InterpolationResolverContext):
        context: Any = tree
        arguments = context.sequence()
        if arguments is not None and context.resolverName().getText() in _SELECTING:
            yield from _reference(written, arguments.getChild(0).getText(), is_optional=True)
    for child in getattr(tree, "children", None) or ():
        yield from _references(child)


def _reference(written: str, key: str, *, is_optional: bool) -> Iterator[Reference]:
    named = key.strip(" '\"")
    if named and not is_interpolated(named):
        steps = tuple(step for step in re.split(r"[.\[\]]", named) if step)
        yield Reference(written, len(named) - len(named.lstrip(".")), steps, is_optional)
