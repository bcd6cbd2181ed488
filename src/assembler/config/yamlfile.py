"""YAML files as nodes with places: where every key stands, and what Hydra gets to see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml

from assembler.errors import Diagnostic, Where

DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_yaml: Any = yaml  # its stubs leave streams and events untyped
CORE_TAG = "tag:yaml.org,2002:"


@dataclass(slots=True)
class Document:
    """A file that takes part in a composition; what is wrong in it may be taken out of its tree.

    Attributes:
        name: As a defaults list names it: `agent`, `model/gpt`.
        path: The file.
        shown: How to name it to a person.
        node: Its tree.
        text: What stands in the file.
        package: What a `# @package` line of the file says; empty if there is none.
        changed: Whether the tree is no longer what stands in the file.
        problems: What was wrong in the file and was taken out of its tree.
        aside: The keys that were taken out with that.
    """

    name: str
    path: Path
    shown: str
    node: yaml.MappingNode
    text: str = ""
    package: str = ""
    changed: bool = False
    problems: list[Diagnostic] = field(default_factory=list[Diagnostic])
    aside: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])

    @property
    def head(self) -> list[str]:
        """The comments and empty lines before anything else, where Hydra looks for a package."""
        return list(takewhile(lambda line: not line or line.startswith("#"), map(str.strip, self.text.splitlines())))

    def render(self) -> str:
        """The file for Hydra: as it stands, or what is left of it."""
        if not self.changed:
            return self.text
        return (f"# @package {self.package}\n" if self.package else "") + dump(self.node)


def empty() -> yaml.MappingNode:
    """The tree of a file that says nothing."""
    return yaml.MappingNode(CORE_TAG + "map", [])


def without_content(name: str, path: Path, shown: str) -> Document:
    """A file that cannot be used, as one that says nothing about any key."""
    return Document(name, path, shown, empty(), package="_global_", changed=True)


def key_text(key: yaml.ScalarNode) -> str:
    """The text of a key as a composition has it, where YAML may have read `no` as False."""
    return key.value if key.tag == CORE_TAG + "str" else str(_yaml.safe_load(key.value))


def reads_as(node: yaml.ScalarNode) -> str:
    """What YAML takes a word without quotes for: `a boolean`, `a number` or `nothing`; empty for a text."""
    kind = node.tag.removeprefix(CORE_TAG)
    return {"bool": "a boolean", "int": "a number", "float": "a number", "null": "nothing"}.get(kind, "")


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
