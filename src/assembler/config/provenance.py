"""Where every value of a composition was set. It costs tens of milliseconds, so only errors and explanations ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import yaml

from assembler.config import yamlfile
from assembler.config.compose import Composition
from assembler.errors import NOWHERE, Where


@dataclass(slots=True)
class Place:
    """Where a value was set, and what lies below it; mirrors the composed tree.

    Attributes:
        key: The place of its key.
        value: The place of the value itself.
        children: By key or index; empty for a scalar.
    """

    key: Where
    value: Where
    children: dict[str, Place] = field(default_factory=dict[str, "Place"])
    is_mapping: bool = False

    def find(self, path: Sequence[str | int]) -> tuple[Place, bool]:
        """The place of a path, or of the nearest thing above it, and whether it is the path's own."""
        place = self
        for step in path:
            below = place.children.get(str(step))
            if below is None:
                return place, False
            place = below
        return place, True


def trace(composition: Composition) -> Place:
    """The places of everything in a composition: files in their order, then overrides.

    Mappings are laid over each other; scalars and lists replace what was there, as in Hydra.
    """
    root = Place(NOWHERE, NOWHERE, is_mapping=True)
    for layer in composition.layers():
        node = layer.document.node
        tree = _from_node(node, layer.document.shown, node.start_mark)
        tree.children.pop("defaults", None)
        for key in reversed(layer.package):
            tree = Place(tree.key, tree.value, {key: tree}, is_mapping=True)
        _lay_over(root, tree)
    for override in composition.overrides:
        if override.is_group:
            continue
        tree = _from_value(override.value, override.where)
        for key in reversed(override.key.split(".")):
            tree = Place(override.where, override.where, {key: tree}, is_mapping=True)
        _lay_over(root, tree)
    return root


def _from_node(node: yaml.Node, shown: str, key: Any) -> Place:
    place = Place(yamlfile.place(shown, key), yamlfile.place(shown, node.start_mark))
    if isinstance(node, yaml.MappingNode):
        place.is_mapping = True
        for name, value in node.value:
            if name.tag == "tag:yaml.org,2002:merge":
                merged = value.value if isinstance(value, yaml.SequenceNode) else [value]
                for source in merged:
                    inherited = _from_node(source, shown, name.start_mark).children
                    place.children = {**inherited, **place.children}
            else:
                place.children[str(name.value)] = _from_node(value, shown, name.start_mark)
    elif isinstance(node, yaml.SequenceNode):
        place.children = {str(index): _from_node(item, shown, item.start_mark) for index, item in enumerate(node.value)}
    return place


def _from_value(value: Any, where: Where) -> Place:
    items: Any = ()
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
    elif isinstance(value, list):
        items = enumerate(cast("list[Any]", value))
    children = {str(key): _from_value(item, where) for key, item in items}
    return Place(where, where, children, is_mapping=isinstance(value, dict))


def _lay_over(below: Place, above: Place) -> None:
    """Lays a tree over another one, in place."""
    for key, place in above.children.items():
        old = below.children.get(key)
        if old is not None and old.is_mapping and place.is_mapping:
            old.key, old.value = place.key, place.value
            _lay_over(old, place)
        else:
            below.children[key] = place
