"""The grammar of `${...}`, read from OmegaConf's own parse tree: patterns over the text can be talked around."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from assembler.errors import first_line


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
        raise ValueError(first_line(error)) from error
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


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
