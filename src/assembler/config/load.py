"""From a composition to the declared agent, or to everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from assembler.agent.config import AgentConfig
from assembler.components import UNKNOWN_KEY, BuildContext
from assembler.config.compose import Composition, compose
from assembler.config.project import locate
from assembler.config.provenance import Place, trace
from assembler.errors import AssemblerError, Diagnostic, did_you_mean, nearest

_INHERITING_ROOMS = ("runner",)
"""Rooms whose entries elsewhere in the configuration extend what the root says."""


def load(conf: str | Path, overrides: Sequence[str] = (), cwd: Path | None = None) -> tuple[AgentConfig, Composition]:
    """Locates, composes and validates a configuration.

    Args:
        conf: Name of a root in ``conf/``, or path of a YAML file.
        overrides: In Hydra's grammar.
        cwd: Where to start looking; the working directory by default.

    Raises:
        AssemblerError: Everything that is wrong with it, each with its place.
    """
    composition = compose(locate(conf, cwd), overrides)
    return validate(composition), composition


def validate(composition: Composition) -> AgentConfig:
    """The declared agent of a composition.

    Raises:
        AssemblerError: Everything that stopped the composition, and one diagnostic for each value that does not fit, at
            the place that set it; mere consequences are left out.
    """
    data = {"name": composition.project.root, **composition.data}
    rooms = {room: data.get(room) for room in _INHERITING_ROOMS}
    inherit = {room: cast("dict[str, Any]", value) for room, value in rooms.items() if isinstance(value, dict)}
    invalid: list[dict[str, Any]] = []
    try:
        config = AgentConfig.model_validate(data, context=BuildContext(inherit))
        if not composition.problems and not composition.unplaced:
            return config
    except ValidationError as error:
        invalid = cast("list[dict[str, Any]]", error.errors(include_url=False, include_input=False))
    places = trace(composition)
    told = [*composition.problems, *(_placed(path, found, places) for path, found in composition.unplaced)]
    for found in invalid:
        path = _steps(found["loc"], composition.data)
        if not composition.is_consequence(path, missing=found["type"] == "missing"):
            told.append(_diagnostic(found, path, places, composition))
    raise AssemblerError(*told)


def _placed(path: Sequence[str], diagnostic: Diagnostic, places: Place) -> Diagnostic:
    place, exact = places.find(path)
    return replace(diagnostic, where=place.value if exact else place.key)


def _diagnostic(
    problem: Mapping[str, Any], path: Sequence[str | int], places: Place, composition: Composition
) -> Diagnostic:
    kind: str = problem["type"]
    context: Mapping[str, Any] = problem.get("ctx", {})
    key = ".".join(str(step) for step in path)
    place, exact = places.find(path)
    where = place.key if kind in {UNKNOWN_KEY, "missing"} or not exact else place.value
    if kind == UNKNOWN_KEY:
        hint = str(context["hint"]) if len(path) > 1 else did_you_mean(key, _root_keys(composition))
        return Diagnostic(kind, f"there is no key `{key}`", where=where, hint=hint)
    if kind == "missing":
        hint = _missing_hint(path, composition)
        return Diagnostic("config/missing-key", f"`{key}` is required", where=where, hint=hint)
    if "/" in kind:
        return Diagnostic(kind, f"`{key}`: {problem['msg']}", where=where, hint=str(context.get("hint", "")))
    hint = ""
    if kind == "literal_error":
        options = [option.strip(" '") for option in str(context["expected"]).replace(" or ", ",").split(",")]
        given = _at(composition.data, path)
        near = nearest(given, options) if isinstance(given, str) else None
        hint = f"did you mean `{near}`?" if near else ""
    return Diagnostic("config/bad-value", f"`{key}`: {problem['msg']}", where=where, hint=hint)


def _missing_hint(path: Sequence[str | int], composition: Composition) -> str:
    if path == ["model"]:
        options = ", ".join(f"`model={option}`" for option in composition.groups.get("model", ()))
        return f"choose a model in `defaults`, or on the command line: {options}" if options else "choose a model"
    return ""


def _steps(location: Iterable[str | int], data: Any) -> list[str | int]:
    """The part of a validation error's location that stands in the data: names of union members do not."""
    steps: list[str | int] = []
    current = data
    parts = list(location)
    for index, part in enumerate(parts):
        if isinstance(current, dict) and part in current:
            current = cast("dict[Any, Any]", current)[part]
        elif isinstance(current, list) and isinstance(part, int) and part < len(cast("list[Any]", current)):
            current = cast("list[Any]", current)[part]
        elif index < len(parts) - 1:
            continue
        steps.append(part)
    return steps


def _at(data: Any, path: Iterable[str | int]) -> Any:
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _root_keys(composition: Composition) -> list[str]:
    return [*AgentConfig.model_fields, *composition.groups]
