"""Where a value comes from that an interpolation takes from elsewhere in the configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from assembler.config import grammar
from assembler.config.measuring import MAX_LEVELS

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """A value that a text takes from elsewhere.

    Attributes:
        text: The interpolation as it is written where the value is used.
        path: The key at which the value was set, at the end of however many interpolations.
    """

    text: str
    path: Path


@dataclass(frozen=True, slots=True)
class Trail:
    """The way of a value to its place.

    Attributes:
        site: The key at which the interpolation stands; the value's own where there is none.
        origins: What it takes; nothing where there is no interpolation.
    """

    site: Path
    origins: tuple[Origin, ...]


def trail(raw: Any, path: Sequence[str | int]) -> Trail:
    """The way of a value to its place.

    Args:
        raw: The configuration before interpolation.
        path: The value's key.
    """
    own = tuple(str(step) for step in path)
    site, named = _named(raw, own)
    known: dict[Path, tuple[Path, ...]] = {own: ()}
    found = [Origin(text, end) for text, target in named for end in _ends(raw, target, known)]
    return Trail(site, tuple(dict.fromkeys(found))) if found else Trail(own, ())


def is_there(raw: Any, path: Path) -> bool:
    """Whether a key is there, also by way of interpolations."""
    return _is_there(raw, path, set())


def text_at(raw: Any, path: Path) -> str:
    """The text that stands at a key; empty if there is none."""
    site, text = _text_on_the_way(raw, path)
    return text if site == path else ""


def child(value: Any, step: str) -> tuple[Any, bool]:
    """What lies under a key or index, and whether anything does."""
    if isinstance(value, dict):
        for key, item in cast("dict[Any, Any]", value).items():
            if str(key) == step:
                return item, True
    elif isinstance(value, list) and step.isdecimal():
        items = cast("list[Any]", value)[int(step) : int(step) + 1]
        return (items[0], True) if items else (None, False)
    return None, False


def _named(raw: Any, path: Path) -> tuple[Path, list[tuple[str, Path]]]:
    """The place of the text that a key has its value from, and each interpolation in it with the key that it names."""
    site, text = _text_on_the_way(raw, path)
    rest = path[len(site) :]
    references = [each for each in grammar.references(text) if not rest or each.text == text]
    return site, [(each.text, (*each.target(site), *rest)) for each in references]


def _ends(raw: Any, path: Path, known: dict[Path, tuple[Path, ...]]) -> tuple[Path, ...]:
    """The keys at which a value was set in the end; itself where it takes nothing, or only what takes it in turn."""
    if len(path) > MAX_LEVELS:
        return ()  # longer than any key is: the way goes in a circle below itself
    if path not in known:
        known[path] = ()  # found again while it is looked at, it is part of a circle
        site, named = _named(raw, path)
        ends = dict.fromkeys(end for _, target in named for end in _ends(raw, target, known))
        known[path] = tuple(ends) or ((path,) if site == path else ())
    return known[path]


def _text_on_the_way(raw: Any, path: Path) -> tuple[Path, str]:
    """The first text on the way to a key, and where it stands: the value itself, or what stands for a mapping."""
    value = raw
    for length, step in enumerate(path):
        if isinstance(value, str):
            return path[:length], value
        value, _ = child(value, step)
    return path, value if isinstance(value, str) else ""


def _is_there(raw: Any, path: Path, seen: set[Path]) -> bool:
    seen.add(path)
    site, text = _text_on_the_way(raw, path)
    if site != path:
        references = grammar.references(text)
        if not references or references[0].text != text:
            # What a resolver or a computed key stands for, nobody can tell from here.
            return grammar.is_interpolated(text)
        target = (*references[0].target(site), *path[len(site) :])
        return target in seen or len(target) > MAX_LEVELS or _is_there(raw, target, seen)
    value, found = raw, True
    for step in path:
        value, found = child(value, step)
    return found
