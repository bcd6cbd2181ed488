"""Defaults lists: what an entry chooses, and what is wrong with one, told before Hydra would stumble over it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import yaml

from assembler.config import grammar, yamlfile
from assembler.config.overrides import is_hydras
from assembler.config.project import SUFFIX
from assembler.errors import Diagnostic

SELF = "_self_"
GLOBAL = "_global_"
_KEYWORDS = frozenset({"optional", "override"})
_STR, _MAP, _SEQ = (yamlfile.CORE_TAG + name for name in ("str", "map", "seq"))


Key = tuple[str, ...]
"""A key of the configuration, step by step."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a defaults list.

    Attributes:
        node: The entry as it stands in the list.
        group: The group, from the top; empty for an entry that names a file by itself.
        options: What it chooses, each with its place; none for null.
        package: Where the options' content goes, if the entry says so.
        override: Whether it changes what another entry chooses.
        optional: Whether an option may be missing.
        is_list: Whether the options are written as a list.
        key: The place of the entry.
    """

    node: yaml.Node
    group: str
    options: tuple[yaml.ScalarNode, ...]
    package: str | None
    override: bool
    optional: bool
    is_list: bool
    key: Any

    @property
    def is_self(self) -> bool:
        """Whether it stands for the file's own body."""
        return not self.group and self.options[0].value == SELF

    @property
    def is_choice(self) -> bool:
        """Whether an override of the group's name, without a package, changes it."""
        return bool(self.group) and self.package in {None, self.group.replace("/", ".")}

    def files(self) -> Iterator[tuple[str, yaml.ScalarNode]]:
        """The files that it names, with the place of each name; nothing for one that only Hydra can work out."""
        for option in self.options:
            name = f"{self.group}/{option.value}".lstrip("/").removesuffix(SUFFIX)
            if not grammar.is_interpolated(name):
                yield name, option


def read(node: yaml.MappingNode, parent: str, shown: str) -> tuple[list[Entry], list[tuple[Key, Diagnostic]]]:
    """The entries of a file's defaults list; those that are no entries are taken out of the file.

    Args:
        node: The file's tree.
        parent: The file's name, as a defaults list would give it.
        shown: How to name the file to a person.

    Returns:
        The entries, and what is wrong with the others (``config/bad-defaults``, ``config/refused-resolver``,
        ``config/refused-key``, ``config/interpolation``), each with the key of the group that it was about, or of
        everything that it might have been about.
    """
    entries: list[Entry] = []
    problems: list[tuple[Key, Diagnostic]] = []
    folder = parent.rpartition("/")[0]

    def tell(error: _Malformed, group: str) -> None:
        where = yamlfile.place(shown, error.mark)
        told = Diagnostic(error.code, error.message, where=where, hint=error.hint)
        problems.append((tuple(step for step in group.split("/") if step), told))

    elements = listed(node)
    if elements is None:
        for key, value in list(yamlfile.pairs(node)):
            if key.value == "defaults":
                node.value.remove((key, value))
                tell(_Malformed(value, "`defaults` is a list such as `- model: gpt`"), folder)
        return [], problems
    for element in list(elements):
        try:
            entry = _entry(element, folder)
            if entry.is_self and any(other.is_self for other in entries):
                elements.remove(element)
                tell(_Malformed(element, f"`{SELF}` stands twice", "remove one"), SELF)
            else:
                entries.append(entry)
        except _Malformed as error:
            elements.remove(element)
            key = next(yamlfile.pairs(element), (name(""),))[0].value
            tell(error, _below(folder, key.rpartition(" ")[2].partition("@")[0]))
    return entries, problems


def listed(node: yaml.MappingNode) -> list[yaml.Node] | None:
    """The elements of a file's defaults list, to be changed in place; None if it has none."""
    for key, value in yamlfile.pairs(node):
        if key.value == "defaults" and isinstance(value, yaml.SequenceNode):
            return cast("list[yaml.Node]", value.value)
    return None


def with_defaults(node: yaml.MappingNode, entries: Iterable[yaml.Node]) -> yaml.MappingNode:
    """The same file with another defaults list."""
    body = [(key, value) for key, value in node.value if key.value != "defaults"]
    whole = yaml.SequenceNode(_SEQ, list(entries))
    return yaml.MappingNode(node.tag, [(yaml.ScalarNode(_STR, "defaults"), whole), *body], node.start_mark)


def name(text: str, like: yaml.Node | None = None) -> yaml.ScalarNode:
    """An entry that names a file by itself, in the place of another one."""
    return yaml.ScalarNode(_STR, text, like.start_mark if like else None, like.end_mark if like else None)


def choice(group: str, option: str | list[str] | None) -> yaml.Node:
    """An entry that chooses an option, no option, or a list of none."""
    if isinstance(option, list):
        value: yaml.Node = yaml.SequenceNode(_SEQ, [name(each) for each in option])
    else:
        value = yaml.ScalarNode(yamlfile.CORE_TAG + "null", "null") if option is None else name(option)
    return yaml.MappingNode(_MAP, [(name(group), value)])


class _Malformed(Exception):
    def __init__(self, node: yaml.Node, message: str, hint: str = "", code: str = "config/bad-defaults") -> None:
        self.mark, self.message, self.hint, self.code = node.start_mark, message, hint, code


def _entry(node: yaml.Node, folder: str) -> Entry:
    if isinstance(node, yaml.ScalarNode):
        _check_text(node)
        text, _, package = node.value.partition("@")
        _check_target(node, text, package)
        file = text.removesuffix(SUFFIX)
        option = name(file if file == SELF else _below(folder, file), node)
        return Entry(node, "", (option,), package or None, False, False, False, node.start_mark)
    if not isinstance(node, yaml.MappingNode) or len(node.value) != 1:
        raise _Malformed(node, "an entry of `defaults` is a file's name, or one group with its option", "- model: gpt")
    key, value = node.value[0]
    if not isinstance(key, yaml.ScalarNode):
        raise _Malformed(key, "the name of a group is a text")
    _check_text(key)
    *keywords, last = key.value.split(" ")
    group, _, package = last.partition("@")
    if not group.strip("/") or not _KEYWORDS.issuperset(keywords):
        raise _Malformed(key, f"`{key.value}` names no group", "- model: gpt, or - override model: gpt")
    _check_target(key, group, package)
    return Entry(
        node=node,
        group=_below(folder, group),
        options=_options(value),
        package=package or None,
        override="override" in keywords,
        optional="optional" in keywords,
        is_list=isinstance(value, yaml.SequenceNode),
        key=key.start_mark,
    )


def _options(value: yaml.Node) -> tuple[yaml.ScalarNode, ...]:
    if value.tag == yamlfile.CORE_TAG + "null":
        return ()
    written: list[yaml.Node] = value.value if isinstance(value, yaml.SequenceNode) else [value]
    for option in written:
        if not isinstance(option, yaml.ScalarNode):
            raise _Malformed(option, "an option is named by a text, or several by a list of texts")
        _check_text(option)
    return cast("tuple[yaml.ScalarNode, ...]", tuple(written))


def _check_text(node: yaml.ScalarNode) -> None:
    """Makes sure that a key or option is a text that names something below `conf/`, and reads nothing."""
    read = yamlfile.reads_as(node)
    if read:
        raise _Malformed(node, f"quote it: YAML reads `{node.value}` as {read}", f'"{node.value}"')
    try:
        called = grammar.calls(node.value)
    except ValueError as error:
        raise _Malformed(node, f"malformed: {error}", code="config/interpolation") from error
    if called:
        raise _Malformed(
            node,
            f"`{called[0].resolver}` is called in `defaults`, where only other choices may be named",
            "name the option, or another group's choice: ${group}",
            "config/refused-resolver",
        )
    steps = re.split(r"[/ @]", node.value)
    if ".." in steps or "." in steps or "\\" in node.value or "\0" in node.value or not node.value.strip():
        raise _Malformed(node, f"`{node.value}` does not name anything in conf/")


def _check_target(node: yaml.ScalarNode, name: str, package: str) -> None:
    """Makes sure that an entry is not about Hydra itself."""
    if is_hydras(name) or is_hydras(package):
        raise _Malformed(
            node, "`hydra` settings are not a configuration's to change", "remove it", "config/refused-key"
        )


def _below(folder: str, text: str) -> str:
    """A group or file of a defaults list, from the top: below the file's own group, unless it starts with `/`."""
    return text.strip("/") if text.startswith("/") else "/".join(part for part in (folder, text.strip("/")) if part)
