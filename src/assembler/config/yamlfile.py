"""YAML files as nodes with places: what is read before Hydra reads it, and where every key stands."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml

from assembler.errors import AssemblerError, Diagnostic, Where, problem

DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_yaml: Any = yaml  # its stubs leave streams and events untyped
CORE_TAG = "tag:yaml.org,2002:"
PLAIN_TYPES = frozenset({"null", "bool", "int", "float", "str", "seq", "map", "merge", "value", "timestamp"})
MAX_BYTES = 1024 * 1024
MAX_DIGITS = 400
"""Of a number without quotes; Python itself refuses to read more than some thousands."""
MAX_VALUES = 50_000
MAX_LEVELS = 50


@dataclass(slots=True)
class Document:
    """A file that takes part in a composition; what is wrong in it may be taken out of its tree.

    Attributes:
        name: As a defaults list names it: `agent`, `model/gpt`.
        path: The file.
        shown: How to name it to a person.
        node: Its tree.
        text: What stands in the file.
        changed: Whether the tree is no longer what stands in the file.
    """

    name: str
    path: Path
    shown: str
    node: yaml.MappingNode
    text: str = ""
    changed: bool = False

    @property
    def head(self) -> list[str]:
        """The comments and empty lines before anything else, where Hydra looks for a package."""
        return list(takewhile(lambda line: not line.strip() or line.startswith("#"), self.text.splitlines()))

    @property
    def package(self) -> str:
        """What a `# @package` line of the file says; empty if there is none."""
        found = [match[1] for line in self.head if (match := re.match(r"#\s*@package\s+(\S+)", line))]
        return found[-1] if found else ""

    def render(self) -> str:
        """The file for Hydra: as it stands, or what is left of it."""
        return "\n".join([*self.head, dump(self.node)]) if self.changed else self.text


def read(name: str, path: Path, shown: str) -> Document:
    """Reads a configuration file, which is measured before it is looked at.

    Args:
        name: As a defaults list names it.
        path: The file.
        shown: How to name it in messages.

    Raises:
        AssemblerError: It cannot be read, is not a mapping in YAML, or is larger or more entangled than any
            configuration (``config/unreadable``, ``config/bad-yaml``, ``config/not-a-mapping``, ``config/too-large``).
    """
    text = _text(path, shown)
    _guard(text, shown)
    try:
        node = _yaml.compose(text, Loader=LOADER)
    except yaml.YAMLError as error:
        raise problem(
            "config/bad-yaml", _reason(error), where=place(shown, getattr(error, "problem_mark", None))
        ) from error
    except RecursionError as error:
        raise problem("config/too-large", f"nested deeper than {MAX_LEVELS} levels", where=Where(shown)) from error
    problems = [found for each in _each(node) for found in _refused(each, shown)]
    if problems:
        raise AssemblerError(*problems)
    if node is None or (isinstance(node, yaml.ScalarNode) and node.tag == CORE_TAG + "null"):
        node = empty()
    if not isinstance(node, yaml.MappingNode):
        raise problem(
            "config/not-a-mapping", "a configuration file is a mapping of keys", where=place(shown, node.start_mark)
        )
    return Document(name, path, shown, node, text)


def empty() -> yaml.MappingNode:
    """The tree of a file that says nothing."""
    return yaml.MappingNode(CORE_TAG + "map", [])


def _text(path: Path, shown: str) -> str:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise problem("config/unreadable", "not a file", where=Where(shown))
        if status.st_size > MAX_BYTES:
            raise problem(
                "config/too-large", f"{status.st_size} bytes; a file may have {MAX_BYTES}", where=Where(shown)
            )
        with path.open("rb") as file:
            return file.read(MAX_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise problem("config/unreadable", f"cannot be read: {error.strerror}", where=Where(shown)) from error
    except UnicodeDecodeError as error:
        raise problem("config/unreadable", f"not UTF-8 at byte {error.start}", where=Where(shown)) from error


def dump(node: yaml.Node) -> str:
    """A tree as YAML; every text stays as it was written."""
    return _yaml.serialize(node, Dumper=DUMPER, allow_unicode=True)


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
    for current in _each(node):
        for key, value in pairs(current):
            if isinstance(value, yaml.ScalarNode) and value.tag.endswith(":null") and value.value == "":
                yield Diagnostic(
                    "config/empty-value",
                    f"`{key.value}:` has no value, which YAML reads as null, and null switches off",
                    "warning",
                    place(shown, key.start_mark),
                    f"write `{key.value}: {{}}` for its defaults, or `{key.value}: null` to switch it off",
                )


def _each(node: yaml.Node | None) -> Iterator[yaml.Node]:
    """Every node once, in the order of the text, however often aliases name it."""
    seen: set[int] = set()
    waiting = [] if node is None else [node]
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        if isinstance(current, yaml.SequenceNode):
            waiting.extend(reversed(current.value))
        elif isinstance(current, yaml.MappingNode):
            waiting.extend(part for pair in reversed(current.value) for part in reversed(pair))


def _refused(node: yaml.Node, shown: str) -> Iterator[Diagnostic]:
    """What YAML allows and a configuration does not: keys that stand twice, and tags that name types."""
    if node.tag.removeprefix(CORE_TAG) not in PLAIN_TYPES:
        message = f"the tag `{node.tag}` would make something other than plain data"
        yield Diagnostic("config/bad-yaml", message, where=place(shown, node.start_mark), hint="remove it")
    if node.tag == CORE_TAG + "int" and len(node.value) > MAX_DIGITS:
        message = f"a number of {len(node.value)} characters"
        yield Diagnostic(
            "config/bad-yaml", message, where=place(shown, node.start_mark), hint="quote it, or shorten it"
        )
    if isinstance(node, yaml.MappingNode):
        yield from _odd_keys(node, shown)
    names: set[str] = set()
    for key, _ in pairs(node):
        if key.value in names:
            message = f"the key `{key.value}` stands twice"
            yield Diagnostic("config/bad-yaml", message, where=place(shown, key.start_mark), hint="remove one")
        names.add(key.value)


def _odd_keys(node: yaml.MappingNode, shown: str) -> Iterator[Diagnostic]:
    """YAML takes anything for a key, OmegaConf does not."""
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            yield Diagnostic("config/bad-yaml", "a key is a text", where=place(shown, key.start_mark))


@dataclass(slots=True)
class _Collection:
    """A list or mapping that is being read: how much it holds once its aliases are replaced by what they name."""

    anchor: str | None
    values: int = 1
    levels: int = 1

    def add(self, values: int, levels: int) -> None:
        self.values += values
        self.levels = max(self.levels, levels + 1)


def _guard(text: str, shown: str) -> None:
    """Measures a file before a tree is built: aliases make a tree that is small to hold and endless to walk."""
    anchors: dict[str, _Collection] = {}
    open_ones = [_Collection(None)]
    try:
        for event in _yaml.parse(text, Loader=LOADER):
            if isinstance(event, yaml.CollectionStartEvent):
                open_ones.append(_Collection(event.anchor))
            elif isinstance(event, yaml.CollectionEndEvent | yaml.ScalarEvent):
                done = open_ones.pop() if isinstance(event, yaml.CollectionEndEvent) else _Collection(event.anchor)
                if done.anchor:
                    anchors[done.anchor] = done
                open_ones[-1].add(done.values, done.levels)
            elif isinstance(event, yaml.AliasEvent):
                # An alias to what is still open holds itself, and so is endless.
                named = anchors.get(event.anchor) or _Collection(None, MAX_VALUES, MAX_LEVELS)
                open_ones[-1].add(named.values, named.levels)
            if open_ones[-1].values > MAX_VALUES or len(open_ones) + open_ones[-1].levels > MAX_LEVELS:
                what = (
                    f"more than {MAX_VALUES} values or {MAX_LEVELS} levels, with every alias replaced by what it names"
                )
                raise problem("config/too-large", what, where=place(shown, event.start_mark))
    except yaml.YAMLError:
        return  # composing reports it, with the same place


def _reason(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError):
        return ", ".join(str(part) for part in (error.context, error.problem) if part)
    return str(error).splitlines()[0]
