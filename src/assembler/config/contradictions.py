"""What Hydra cannot lay over each other: told in this project's words, and taken out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import yaml

from assembler.config import yamlfile
from assembler.config.overrides import Override
from assembler.config.provenance import Conflict, Layer, Place
from assembler.config.rootfile import OMITTED
from assembler.errors import Diagnostic, nearest


def of_shapes(conflict: Conflict) -> Diagnostic:
    """What is wrong with a list over a mapping or the reverse, at the place of what comes later."""
    *above, last = conflict.path
    key, below, where = ".".join(conflict.path), conflict.below.value, conflict.value.value
    if conflict.is_index:
        told = f"`{'.'.join(above)}` is a list ({below}), which has no `{last}`"
        return Diagnostic("config/override", told, where=where, hint="set the whole list")
    if conflict.value.shape == "list":
        told = f"`{key}` is a mapping ({below}), whose place a list cannot take"
        return Diagnostic("config/bad-value", told, where=where, hint="write a mapping, whose entries have names")
    told = f"`{key}` is a list ({below}), whose place a mapping cannot take"
    return Diagnostic("config/bad-value", told, where=where, hint="write a list")


def of_override(override: Override, message: str, places: Callable[[], Place]) -> Diagnostic:
    """What is wrong with an override that Hydra cannot follow.

    Args:
        override: The override.
        message: What Hydra says.
        places: Finds what it is laid over.
    """
    told = plain(message) if override.is_showable else "it contradicts what it is laid over"
    meant = re.search(r"Did you mean to override ([^?\s]+)\?", message)
    hint = f"did you mean `{meant[1]}`?" if meant else ""
    if message.startswith("Could not delete"):
        told = f"`{override.key}` is not set, so that nothing can be taken out"
        *above, last = override.path
        place, exact = places().find(above)
        near = nearest(last, {*place.children, *(() if above else OMITTED)}) if exact else None
        hint = f"did you mean `{'.'.join((*above, near))}`?" if near else ""
    elif "An item is already at" in message:
        told = f"`{override.key}` is set already"
        hint = "to change it: " + (override.text.lstrip("+") if override.is_showable else f"{override.key}=...")
    return Diagnostic("config/override", told, where=override.where, hint=hint)


def plain(message: str) -> str:
    """Hydra's sentence without its advice to type `+`, which makes a typo permanent."""
    lines = [line.strip() for line in message.splitlines() if line.strip()] or [""]
    said = lines[1] if lines[0].endswith(":") and len(lines) > 1 else lines[0]
    return re.sub(r"^In '[^']+': ", "", said).partition(" To append to your")[0].rstrip(". ")


def take_out(conflict: Conflict, layer: Layer) -> bool:
    """Takes out of a file what is wrong in it; whether it stood there by itself, not by way of a merge key."""
    taken = _remove(layer.document.node, conflict.path[len(layer.package) :])
    layer.document.changed = layer.document.changed or taken
    return taken


def _remove(node: yaml.Node, path: Sequence[str]) -> bool:
    for key, value in list(yamlfile.pairs(node)):
        if yamlfile.key_text(key) == path[0]:
            if len(path) > 1:
                return _remove(value, path[1:])
            node.value.remove((key, value))
            return True
    return False
