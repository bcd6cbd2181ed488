"""How large a YAML file is, measured before a tree of it is built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from assembler.config.yamlfile import LOADER, place
from assembler.errors import problem

MAX_VALUES = 50_000
MAX_LEVELS = 50
_yaml: Any = yaml  # its stubs leave events untyped


@dataclass(slots=True)
class _Collection:
    """A list or mapping that is being read: how much it holds once its aliases are replaced by what they name."""

    anchor: str | None
    values: int = 1
    levels: int = 1

    def add(self, values: int, levels: int) -> None:
        self.values += values
        self.levels = max(self.levels, levels + 1)


def measure(text: str, shown: str) -> None:
    """Makes sure that a file's tree can be walked: aliases make one that is small to hold and endless to walk.

    Raises:
        AssemblerError: It is larger or more entangled than any configuration (``config/too-large``).
    """
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
