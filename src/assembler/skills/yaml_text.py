"""YAML as text: every scalar stays the text that was written, every value keeps its place.

A name ``123`` or ``true`` is a text, a version ``1.10`` does not lose its zero, and no tag makes an object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple, cast

from assembler.values import JSON

MAX_DEPTH = 32
"""Deepest nesting of a value."""

MAX_EXPANDED = 256 * 1024
"""Most that all values may come to once their aliases are written out: code points, and one for each value."""


MAX_BRACKETS = 1000
"""Most opening brackets and braces: the time of a parser in Python grows with the square of how deep they nest."""


class BadYaml(Exception):
    """A text that is not YAML.

    Attributes:
        reason: What the parser says.
        line: Where, counted from 0.
        column: Where, in code points, counted from 0.
        hint: What to do about it.
    """

    def __init__(self, reason: str, line: int, column: int, hint: str) -> None:
        super().__init__(reason)
        self.reason, self.line, self.column, self.hint = reason, line, column, hint


class NoValue(Exception):
    """A node that has no JSON value as text; its text says why."""


class Node(NamedTuple):
    """A key or a value, with its place.

    Attributes:
        line: Counted from 0.
        column: In code points, counted from 0.
        text: The text of a scalar; None for a list or a mapping.
        is_null: Whether it is written as YAML's null: nothing, ``~`` or ``null`` without quotes.
        raw: The node of the YAML library.
    """

    line: int
    column: int
    text: str | None
    is_null: bool
    raw: Any


def entries(text: str) -> list[tuple[Node, Node]] | None:
    """The keys and values of a mapping in the order in which they are written; None if the text is something else.

    Raises:
        BadYaml: The text is not YAML.
    """
    root = _compose(text)
    if root is None or root.id != "mapping":
        return None
    return [(_node(key), _node(value)) for key, value in root.value]


def is_yaml(text: str) -> bool:
    """Whether a text can be read at all."""
    try:
        _compose(text)
    except BadYaml:
        return False
    return True


class Expander:
    """Turns nodes into JSON values, with one allowance for all of them.

    A few hundred bytes of aliases can stand for more values than fit in memory.
    """

    def __init__(self) -> None:
        self._left = MAX_EXPANDED

    def value(self, node: Node) -> JSON:
        """The value of a node: text, lists and mappings.

        Raises:
            NoValue: It is nested too deeply, too large once its aliases are written out, or has a key that is not text.
        """
        return self._expand(node.raw, 0)

    def _expand(self, raw: Any, depth: int) -> JSON:
        if depth > MAX_DEPTH:
            raise NoValue(f"it is nested deeper than {MAX_DEPTH} levels")
        self._spend(1)
        if raw.id == "scalar":
            return self._text(raw)
        if raw.id == "sequence":
            return [self._expand(item, depth + 1) for item in raw.value]
        return {self._key(key): self._expand(item, depth + 1) for key, item in raw.value}

    def _key(self, raw: Any) -> str:
        if raw.id != "scalar":
            raise NoValue("one of its keys is not text")
        return self._text(raw)

    def _text(self, raw: Any) -> str:
        text = cast("str", raw.value)
        self._spend(len(text))
        return text

    def _spend(self, amount: int) -> None:
        self._left -= amount
        if self._left < 0:
            raise NoValue(f"with its aliases written out it is larger than {MAX_EXPANDED // 1024} KiB")


_VALUE_LINE = re.compile(r"(?P<head>-|[^\s#'\"\[\]{}&*!|>%@`?,:-][^\s:]*[ \t]*:)[ \t]+(?P<value>\S.*)$")
_BLOCK_SCALAR = re.compile(r"[|>][+-]?\d?[+-]?[ \t]*(#.*)?$")
_MENDED_LEVELS = 4


def with_quotes(text: str) -> tuple[str, list[tuple[int, int]]]:
    """A text with quotes around the values that cannot stand without, such as ``Two axes: standards and spec``.

    The client guide asks for this second try: unquoted colons are by far the commonest mistake. Only values that fail
    alone are touched, and every line stays on its line.

    Returns:
        The text, and the lines and columns, counted from 0, of the values that were quoted.
    """
    lines = text.split("\n")
    quoted: list[tuple[int, int]] = []
    _mend(lines, 0, len(lines), quoted, _MENDED_LEVELS)
    return "\n".join(lines), quoted


def _mend(lines: list[str], start: int, stop: int, quoted: list[tuple[int, int]], levels: int) -> None:
    """Quotes in place what cannot be read, entry by entry, and inside the entries that hold others."""
    for first, after in _blocks(lines, start, stop):
        if levels == 0 or is_yaml("\n".join(lines[first:after])):
            continue
        indent = _indent(lines[first])
        found = _VALUE_LINE.match(lines[first], indent)
        if found is None:
            _mend(lines, first + 1, after, quoted, levels - 1)
        elif not _BLOCK_SCALAR.match(found["value"]):
            _quote(lines, first, after, f"{lines[first][:indent]}{found['head']} ", found["value"])
            quoted.append((first, found.start("value")))


def _quote(lines: list[str], first: int, after: int, head: str, value: str) -> None:
    lines[first] = f"{head}'{_in_quotes(value)}"
    for number in range(first + 1, after):
        lines[number] = _in_quotes(lines[number])
    last = max(number for number in range(first, after) if lines[number].strip())
    lines[last] += "'"


def _blocks(lines: list[str], start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Entries as spans of lines: a line and those after it that are blank or stand further to the right."""
    while start < stop:
        after = start + 1
        while after < stop and (not lines[after].strip() or _indent(lines[after]) > _indent(lines[start])):
            after += 1
        if lines[start].strip():
            yield start, after
        start = after


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _in_quotes(text: str) -> str:
    return text.rstrip().replace("'", "''")


def _node(raw: Any) -> Node:
    mark = raw.start_mark
    text = raw.value if raw.id == "scalar" else None
    is_null = text in ("", "~", "null", "Null", "NULL") and not raw.style
    return Node(mark.line, mark.column, text, is_null, raw)


@cache
def _loader() -> Any:
    """The loader that resolves no types; in C where PyYAML was built with libyaml, which is ten times faster."""
    import yaml

    base: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

    class TextLoader(base):
        def resolve(self, *_: object) -> None:
            """No node has a tag, which saves a tenth of the time."""

    return TextLoader


def _compose(text: str) -> Any:
    import yaml

    if text.count("[") + text.count("{") > MAX_BRACKETS:
        raise BadYaml(f"it has more than {MAX_BRACKETS} brackets", 0, 0, "write it flatter")
    try:
        loader = _loader()(text)  # a loader of Python, not of C, refuses bad characters here
        try:
            return loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = error.problem or error.context or "it cannot be read"
        line, column = (mark.line, mark.column) if mark else (0, 0)
        raise BadYaml(reason, line, column, _QUOTE) from error
    except yaml.YAMLError as error:
        raise _bad_character(text) from error
    except RecursionError as error:  # a loader of Python; libyaml counts levels itself
        raise BadYaml("it is nested too deeply", 0, 0, "write it flatter") from error


_QUOTE = "put values that hold `: ` or start with a special character in quotes"

_BAD_CHARACTER = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _bad_character(text: str) -> BadYaml:
    found = _BAD_CHARACTER.search(text)
    if found is None:
        return BadYaml("it cannot be read", 0, 0, _QUOTE)
    before = text[: found.start()]
    line = before.count("\n")
    column = len(before) - (before.rfind("\n") + 1)
    return BadYaml(f"the character U+{ord(found[0]):04X} may not stand in it", line, column, "remove it")
