"""Paths in overrides: whoever types one means the folder that they stand in, not the project's."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from assembler.config.overrides import Override

Steps = tuple[str | int, ...]


def rebased(
    data: dict[str, Any], config: BaseModel, overrides: Sequence[Override], project: Path, cwd: Path
) -> dict[str, Any] | None:
    """The data with each path that an override set made relative to the project; None if there is none to change.

    A path inside the project stays relative, so that digests do not depend on where the project lies.

    Args:
        data: What was validated.
        config: What came of it, which knows which values are paths.
        overrides: The overrides.
        project: The folder against which paths resolve.
        cwd: The folder that the person stands in.
    """
    changed = deepcopy(data)
    found = False
    for override in overrides:
        if override.is_group or override.deletes or cwd == project:
            continue
        for steps in _paths_below(config, override.path):
            written = _at(changed, steps)
            if isinstance(written, str) and not Path(written).expanduser().is_absolute():
                path = Path(os.path.normpath(cwd / written))
                inside = path.is_relative_to(project)
                _at(changed, steps[:-1])[steps[-1]] = str(path.relative_to(project) if inside else path)
                found = True
    return changed if found else None


def _paths_below(config: BaseModel, path: Sequence[str]) -> Iterator[Steps]:
    """Where the paths are in what an override set."""
    value: Any = config
    for step in path:
        value = getattr(value, step, None) if isinstance(value, BaseModel) else _item(value, step)
    yield from _paths(value, tuple(path))


def _paths(value: Any, steps: Steps) -> Iterator[Steps]:
    if isinstance(value, Path):
        yield steps
    items: Any = ()
    if isinstance(value, BaseModel):
        items = [(name, getattr(value, name)) for name in type(value).model_fields]
    elif isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
    elif isinstance(value, list | tuple):
        items = enumerate(cast("Sequence[Any]", value))
    for key, item in items:
        yield from _paths(item, (*steps, key))


def _item(value: Any, step: str) -> Any:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(step)
    if isinstance(value, list | tuple) and step.isdigit() and int(step) < len(cast("Sequence[Any]", value)):
        return cast("Sequence[Any]", value)[int(step)]
    return None


def _at(data: Any, steps: Steps) -> Any:
    """What lies there; None where a value was written in a short form that has no such place."""
    for step in steps:
        try:
            data = data[int(step) if isinstance(data, list) else step]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
    return data
