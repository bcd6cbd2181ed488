"""Where every value of a composition was set. It costs tens of milliseconds, so only errors and explanations ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, cast

import yaml

from assembler.config import grammar, yamlfile
from assembler.config.overrides import Override
from assembler.config.yamlfile import Document
from assembler.errors import NOWHERE, Where

Shape = Literal["scalar", "list", "mapping"]


@dataclass(frozen=True, slots=True)
class Layer:
    """A file that took part in a composition.

    Attributes:
        document: The file.
        package: Keys under which its content lies.
    """

    document: Document
    package: tuple[str, ...]


@dataclass(slots=True)
class Place:
    """Where a value was set, and what lies below it; mirrors the composed tree.

    Attributes:
        key: The place of its key.
        value: The place of the value itself.
        shape: What it is.
        children: By key or index; empty for a scalar.
        beaten: The values whose place it took, the last one first.
        name: The key as it was written, where a file has it.
        word: A scalar as it was written; empty for any other value.
        reads_as: What YAML reads the word as, where that is no text.
    """

    key: Where
    value: Where
    shape: Shape = "scalar"
    children: dict[str, Place] = field(default_factory=dict[str, "Place"])
    beaten: tuple[Place, ...] = ()
    name: str = ""
    word: str = ""
    reads_as: str = ""

    def find(self, path: Sequence[str | int]) -> tuple[Place, bool]:
        """The place of a path, or of the nearest thing above it, and whether it is the path's own."""
        place = self
        for step in path:
            below = place.children.get(str(step))
            if below is None:
                return place, False
            place = below
        return place, True


@dataclass(frozen=True, slots=True)
class Conflict:
    """A value that cannot be laid over what is there: a list over a mapping, or a mapping over a list.

    Attributes:
        path: Its key.
        value: The value.
        below: What is there; the list, where that has no such index.
        source: The file or the override that sets it.
        is_index: Whether it is the index of a list that does not have it.
    """

    path: tuple[str, ...]
    value: Place
    below: Place
    source: Layer | Override
    is_index: bool


class Composed(Protocol):
    """What files and overrides were composed to."""

    @property
    def overrides(self) -> Sequence[Override]:
        """The overrides that took part."""
        ...

    def layers(self) -> list[Layer]:
        """The files that took part, in their order."""
        ...


def trace(composed: Composed) -> Place:
    """The places of everything in a composition."""
    return lay(composed.layers(), composed.overrides)


def lay(layers: Iterable[Layer], overrides: Iterable[Override]) -> Place:
    """The places of everything in files, laid over each other in their order, and then in overrides.

    Mappings are laid over each other; scalars and lists replace what was there, as in Hydra.
    """
    return _Tracer().trace(layers, overrides)


def conflicts(layers: Iterable[Layer], overrides: Iterable[Override]) -> list[Conflict]:
    """What of files and overrides cannot be laid over what comes before it."""
    tracer = _Tracer()
    tracer.trace(layers, overrides)
    return tracer.conflicts


class _Tracer:
    def __init__(self) -> None:
        self.root = Place(NOWHERE, NOWHERE, "mapping")
        self.conflicts: list[Conflict] = []
        self._source: Any = None

    def trace(self, layers: Iterable[Layer], overrides: Iterable[Override]) -> Place:
        for layer in layers:
            self._source = layer
            node = layer.document.node
            tree = _from_node(node, layer.document.shown, node.start_mark)
            tree.children.pop("defaults", None)
            for key in reversed(layer.package):
                tree = Place(tree.key, tree.value, "mapping", {key: tree})
            self._lay_over(self.root, tree, ())
        for override in overrides:
            if not override.is_group:
                self._source = override
                self._set(override)
        return self.root

    def _set(self, override: Override) -> None:
        """Lays what an override says over its key."""
        *above, last = override.path
        place = self.root
        for number, key in enumerate(above):
            path = override.path[: number + 1]
            found = place.children.get(key)
            if place.shape == "list" and found is None:
                self._refuse(path, Place(override.where, override.where), place, is_index=True)
                return
            if found is None or found.shape == "scalar":
                found = self._expanded(found, path) or _over(Place(override.where, override.where, "mapping"), found)
                place.children[key] = found
            place = found
        value = _from_value(override.value, override.where)
        if place.shape == "list" and last not in place.children:
            self._refuse(override.path, value, place, is_index=True)
            return
        wrapped = Place(place.key, place.value, place.shape, {last: value})
        self._lay_over(place, wrapped, tuple(above))

    def _lay_over(self, below: Place, above: Place, path: tuple[str, ...]) -> None:
        """Lays a tree over another one of its shape, in place."""
        for key, place in above.children.items():
            here = (*path, key)
            old = below.children.get(key)
            if place.shape == "mapping" and old is not None and old.shape == "scalar":
                old = self._expanded(old, here) or old
            if old is None:
                below.children[key] = place
            elif {old.shape, place.shape} == {"list", "mapping"}:
                self._refuse(here, place, old)
            elif old.shape == place.shape == "mapping":
                old.key, old.value = place.key, place.value
                below.children[key] = old
                self._lay_over(old, place, here)
            else:
                below.children[key] = _over(place, old)

    def _expanded(self, place: Place | None, path: tuple[str, ...]) -> Place | None:
        """A copy of the mapping or list that an interpolation stands for, which Hydra puts in its place."""
        if place is None or not grammar.is_interpolated(place.word):
            return None
        references = grammar.references(place.word)
        if len(references) != 1 or references[0].text != place.word:
            return None
        target, exact = self.root.find(references[0].target(path))
        return _copy(target, place.beaten) if exact and target.shape != "scalar" else None

    def _refuse(self, path: tuple[str, ...], value: Place, below: Place, *, is_index: bool = False) -> None:
        self.conflicts.append(Conflict(path, value, below, self._source, is_index))


def _over(place: Place, old: Place | None) -> Place:
    """A place with what it beat."""
    if old is not None:
        place.beaten = (*place.beaten, old, *old.beaten)
    return place


def _copy(place: Place, beaten: tuple[Place, ...]) -> Place:
    children = {key: _copy(child, child.beaten) for key, child in place.children.items()}
    return replace(place, children=children, beaten=beaten)


def _from_node(node: yaml.Node, shown: str, key: Any) -> Place:
    place = Place(yamlfile.place(shown, key), yamlfile.place(shown, node.start_mark))
    if isinstance(node, yaml.MappingNode):
        place.shape = "mapping"
        for name, value in yamlfile.pairs(node):
            child = _from_node(value, shown, name.start_mark)
            child.name = name.value
            place.children[yamlfile.key_text(name)] = child
    elif isinstance(node, yaml.SequenceNode):
        place.shape = "list"
        place.children = {str(index): _from_node(item, shown, item.start_mark) for index, item in enumerate(node.value)}
    elif isinstance(node, yaml.ScalarNode):
        place.word, place.reads_as = node.value, yamlfile.reads_as(node)
    return place


def _from_value(value: Any, where: Where) -> Place:
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return Place(where, where, "mapping", {str(key): _from_value(item, where) for key, item in items})
    if isinstance(value, list):
        elements = enumerate(cast("list[Any]", value))
        return Place(where, where, "list", {str(index): _from_value(item, where) for index, item in elements})
    return Place(where, where, word=value if isinstance(value, str) else "")
