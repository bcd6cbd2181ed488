"""What YAML allows and a configuration does not: keys that stand twice, tags that name types, merge keys."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any

import yaml

from assembler.config.yamlfile import CORE_TAG, Document, pairs, place
from assembler.errors import Diagnostic

MERGE = CORE_TAG + "merge"
PLAIN_TYPES = frozenset({"null", "bool", "int", "float", "str", "seq", "map", "merge", "value", "timestamp"})
MAX_DIGITS = 400
"""Of a number without quotes; Python itself refuses to read more than some thousands."""


@dataclass(slots=True)
class Cleaner:
    """Takes out of a file's tree what YAML allows and a configuration does not, and tells it among its problems."""

    document: Document
    seen: set[int] = field(default_factory=set[int])

    def clean_root(self) -> None:
        """Cleans the whole file."""
        told = _refused_value(self.document.node)
        if told is not None:
            self.document.node.tag = CORE_TAG + "map"
            self._tell(told)
        self.clean(self.document.node, ())

    def clean(self, node: yaml.Node, path: tuple[str, ...]) -> None:
        """Cleans a node and what lies below it, once however often aliases name it."""
        if id(node) in self.seen:
            return
        self.seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            names: set[str] = set()
            for pair in list(node.value):
                key, value = pair
                told = _refused_key(key, names) or _refused_value(value) or _refused_merge(key, value)
                if told is None:
                    self.clean(value, (*path, key.value))
                else:
                    self._take_out(node, pair, told, (*path, str(key.value)))
            self._merge(node)
        elif isinstance(node, yaml.SequenceNode):
            for index, item in enumerate(list(node.value)):
                told = _refused_value(item)
                if told is None:
                    self.clean(item, (*path, str(index)))
                else:
                    self._take_out(node, item, told, path)

    def _merge(self, node: yaml.MappingNode) -> None:
        """Puts what merge keys name in their place.

        Of several mappings the first one wins: https://yaml.org/type/merge.html. PyYAML 6.0.4 lets chance decide.
        """
        named = [value for key, value in node.value if key.tag == MERGE]
        if not named:
            return
        own = [(key, value) for key, value in node.value if key.tag != MERGE]
        names = {key.value for key, _ in own}
        inherited: list[tuple[yaml.Node, yaml.Node]] = []
        for source in (source for value in named for source in _mappings(value)):
            for key, value in pairs(source):
                if key.value not in names:
                    names.add(key.value)
                    inherited.append((copy(key), value))
        node.value = [*inherited, *own]
        self.document.changed = True

    def _take_out(self, node: Any, part: Any, told: _Refused, path: tuple[str, ...]) -> None:
        node.value.remove(part)
        self._tell(told)
        self.document.aside.append(path)

    def _tell(self, told: _Refused) -> None:
        self.document.changed = True
        where = place(self.document.shown, told.mark)
        self.document.problems.append(Diagnostic("config/bad-yaml", told.message, where=where, hint=told.hint))


@dataclass(frozen=True, slots=True)
class _Refused:
    """What is wrong with a key or value.

    Attributes:
        mark: Its place.
        message: What is wrong.
        hint: What to do about it.
    """

    mark: Any
    message: str
    hint: str = ""


def _refused_key(key: yaml.Node, names: set[str]) -> _Refused | None:
    """What is wrong with a key; YAML takes anything for one, and takes one twice."""
    if not isinstance(key, yaml.ScalarNode):
        return _Refused(key.start_mark, "a key is a text")
    if key.value in names:
        return _Refused(key.start_mark, f"the key `{key.value}` stands twice", "remove one")
    names.add(key.value)
    return None


def _refused_value(node: yaml.Node) -> _Refused | None:
    """What is wrong with a value: a tag that names a type, or a number that nobody can read."""
    if node.tag.removeprefix(CORE_TAG) not in PLAIN_TYPES:
        told = f"the tag `{node.tag}` would make something other than plain data"
        return _Refused(node.start_mark, told, "remove it")
    if node.tag == CORE_TAG + "int" and len(node.value) > MAX_DIGITS:
        return _Refused(node.start_mark, f"a number of {len(node.value)} characters", "quote it, or shorten it")
    return None


def _refused_merge(key: yaml.Node, value: yaml.Node) -> _Refused | None:
    """What is wrong with what a merge key names."""
    wrong = [each for each in _mappings(value) if key.tag == MERGE and not isinstance(each, yaml.MappingNode)]
    return _Refused(wrong[0].start_mark, "`<<` takes a mapping, or a list of mappings") if wrong else None


def _mappings(value: yaml.Node) -> list[yaml.Node]:
    """What a merge key names: one mapping, or several in a list."""
    return value.value if isinstance(value, yaml.SequenceNode) else [value]
