"""YAML files as nodes with places: what is read before Hydra reads it, and where every key stands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from assembler.errors import Diagnostic, Where, problem

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_yaml: Any = yaml  # its stubs leave streams and events untyped
MAX_BYTES = 1024 * 1024
MAX_NODES = 50_000
MAX_DEPTH = 50
MAX_ALIASES = 100


def read(path: Path, shown: str) -> yaml.Node | None:
    """A file's node tree; None for an empty file.

    Args:
        path: The file.
        shown: How to name it in messages.

    Raises:
        AssemblerError: It cannot be read, is not YAML, or is larger or more entangled than any configuration
            (``config/unreadable``, ``config/bad-yaml``, ``config/too-large``).
    """
    try:
        data = path.read_bytes()
        if len(data) > MAX_BYTES:
            raise problem("config/too-large", f"{len(data)} bytes; a file may have {MAX_BYTES}", where=Where(shown))
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise problem("config/unreadable", f"cannot be read: {error.strerror}", where=Where(shown)) from error
    except UnicodeDecodeError as error:
        raise problem("config/unreadable", f"not UTF-8 at byte {error.start}", where=Where(shown)) from error
    _guard_aliases(text, shown)
    try:
        return _yaml.compose(text, Loader=LOADER)
    except yaml.YAMLError as error:
        raise problem(
            "config/bad-yaml", _reason(error), where=place(shown, getattr(error, "problem_mark", None))
        ) from error
    except RecursionError as error:
        raise problem("config/too-large", f"nested deeper than {MAX_DEPTH} levels", where=Where(shown)) from error


def place(shown: str, mark: Any) -> Where:
    """The place of a YAML mark, counted from 1."""
    return Where(shown) if mark is None else Where(shown, mark.line + 1, mark.column + 1)


def pairs(node: yaml.Node | None) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
    """The keys and values of a mapping node; nothing for any other node."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                yield key, value


def empty_values(node: yaml.Node | None, shown: str) -> Iterator[Diagnostic]:
    """A warning for each key without a value: YAML reads null, and null switches off, which is rarely meant."""
    seen: set[int] = set()
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, yaml.SequenceNode):
            waiting.extend(current.value)
        for key, value in pairs(current):
            waiting.append(value)
            if isinstance(value, yaml.ScalarNode) and value.tag.endswith(":null") and value.value == "":
                yield Diagnostic(
                    "config/empty-value",
                    f"`{key.value}:` has no value, which YAML reads as null, and null switches off",
                    "warning",
                    place(shown, key.start_mark),
                    f"write `{key.value}: {{}}` for its defaults, or `{key.value}: null` to switch it off",
                )


def _guard_aliases(text: str, shown: str) -> None:
    """Counts events before a tree is built: aliases make a tree that is small to hold and endless to walk."""
    depth = nodes = aliases = 0
    try:
        for event in _yaml.parse(text, Loader=LOADER):
            nodes += isinstance(event, yaml.NodeEvent)
            aliases += isinstance(event, yaml.AliasEvent)
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > MAX_DEPTH or nodes > MAX_NODES or aliases > MAX_ALIASES:
                what = f"more than {MAX_NODES} values, {MAX_DEPTH} levels or {MAX_ALIASES} aliases"
                raise problem("config/too-large", what, where=place(shown, event.start_mark))
    except yaml.YAMLError:
        return  # composing reports it, with the same place


def _reason(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError):
        return ", ".join(str(part) for part in (error.context, error.problem) if part)
    return str(error).splitlines()[0]
