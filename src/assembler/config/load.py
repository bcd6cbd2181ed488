"""From a composition to the declared agent, or to everything that is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from assembler.agent.config import AgentConfig
from assembler.components import UNKNOWN_KEY, BuildContext
from assembler.config.compose import Composition, compose
from assembler.config.consent import NOTHING_AGREED, Consent, Terms
from assembler.config.project import locate
from assembler.config.provenance import Place, trace
from assembler.config.rebase import rebased
from assembler.config.rootfile import OMITTED
from assembler.config.walk import walk
from assembler.errors import AssemblerError, Diagnostic, did_you_mean, nearest
from assembler.folders import repository_of
from assembler.kinds import BUILT_IN, find_kind
from assembler.presets.known import KNOWN_SECRETS
from assembler.secret import Secret, is_reference

_INHERITING_ROOMS = ("runner",)
"""Rooms whose entries elsewhere in the configuration extend what the root says."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A configuration that was read.

    Attributes:
        config: The agent that it declares.
        composition: What it was made of.
        terms: What was agreed to beforehand.
        first: Digest of what had to be agreed to before its variables were read; empty if it reads none.
    """

    config: AgentConfig
    composition: Composition
    terms: Terms
    first: str = ""

    def consent(self) -> Consent:
        """What it asks for, as its files are now, and what of it was agreed to."""
        return Consent(self.composition, self.config, self.terms, self.first)


def load(
    conf: str | Path, overrides: Sequence[str] = (), cwd: Path | None = None, terms: Terms = NOTHING_AGREED
) -> Declared:
    """Locates, composes and validates a configuration.

    Args:
        conf: Name of a root in ``conf/``, or path of a YAML file.
        overrides: In Hydra's grammar.
        cwd: Where to start looking; the working directory by default.
        terms: What was agreed to beforehand. Nothing is asked for here but to read environment variables, which have
            to be read before it is known what else is declared.

    Raises:
        AssemblerError: Everything that is wrong with it, each with its place.
        NotAgreed: Nobody agreed to the variables that it reads.
    """
    composition = compose(locate(conf, cwd), overrides)
    folder = cwd or Path.cwd()
    first = ""
    if composition.variables:
        consent = Consent(composition, validate(composition, folder), terms)
        consent.require(("allow_env",))
        composition, first = composition.revealed(), consent.token
    # Without variables that are not read, there is nothing that a declaration could hang on.
    return Declared(cast("AgentConfig", validate(composition, folder)), composition, terms, first)


def validate(composition: Composition, cwd: Path) -> AgentConfig | None:
    """The declared agent of a composition; None where nothing is wrong but that variables are not read.

    Args:
        composition: What was composed.
        cwd: Against which the paths in overrides resolve.

    Raises:
        AssemblerError: Everything that stopped the composition, and one diagnostic for each value that does not fit, at
            the place that set it; mere consequences are left out.
    """
    data = cast("dict[str, Any]", _with_secrets(composition.data))
    if data.get("name") is None:
        data["name"] = composition.project.root
    rooms = {room: data.get(room) for room in _INHERITING_ROOMS}
    inherit = {room: cast("dict[str, Any]", value) for room, value in rooms.items() if isinstance(value, dict)}
    invalid: list[dict[str, Any]] = []
    wrong = [*composition.unplaced]
    context = BuildContext(inherit, project=repository_of(composition.project.folder))
    try:
        config = AgentConfig.model_validate(data, context=context)
        wrong += _not_allowed(config)
        if not composition.problems and not wrong:
            moved = rebased(data, config, composition.overrides, composition.project.folder, cwd)
            return config if moved is None else AgentConfig.model_validate(moved, context=context)
    except ValidationError as error:
        invalid = cast("list[dict[str, Any]]", error.errors(include_url=False, include_input=False))
    places = trace(composition)
    told = [*composition.problems, *(_placed(path, found, places) for path, found in wrong)]
    for path, found in _by_path(invalid, data):
        is_unread = composition.is_unread(_at(data, path))
        if not is_unread and not composition.is_consequence(path, missing=found["type"] == "missing"):
            told.append(_diagnostic(found, path, places, composition))
    if not told:
        return None
    raise AssemblerError(*told)


def _with_secrets(value: Any) -> Any:
    """The data with each text that refers to a secret as a ``Secret``, which no field of another type takes."""
    if isinstance(value, dict):
        return {key: _with_secrets(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list):
        return [_with_secrets(item) for item in cast("list[Any]", value)]
    return Secret(value) if isinstance(value, str) and is_reference(value) else value


def _not_allowed(config: AgentConfig) -> Iterator[tuple[tuple[str, ...], Diagnostic]]:
    """The secrets in environment variables that the configuration does not list, and no preset is known to read."""
    allowed = {f"env/{name}" for name, on in config.allow_env.items() if on} | KNOWN_SECRETS
    for keys, secret in walk(config):
        for name in secret.references if isinstance(secret, Secret) else ():
            kind, _, variable = name.partition("/")
            if kind == "env" and name not in allowed:
                message = f"`{'.'.join(keys)}` reads the environment variable `{variable}`, which is not allowed"
                yield keys, Diagnostic("secret/not-allowed", message, hint=f"allow_env: {{{variable}: true}}")


def _by_path(
    invalid: Iterable[dict[str, Any]], data: dict[str, Any]
) -> Iterable[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """What is wrong with each value, told once: a union has something to say for each of its members."""
    merged: dict[tuple[str | int, ...], dict[str, Any]] = {}
    for found in invalid:
        path = tuple(_steps(found["loc"], data, missing=found["type"] == "missing"))
        first = merged.setdefault(path, found)
        if isinstance(_at(data, path), Secret) and not found["type"].startswith("secret/"):
            merged[path] = {
                "type": "secret/misplaced",
                "msg": "a secret here would be shown to the model, in output or in records",
                "ctx": {"hint": "only a field for a secret, such as a model's `api_key`, takes a reference"},
            }
        elif first is not found and first["msg"] != found["msg"] and found["type"] != UNKNOWN_KEY:
            merged[path] = {**first, "msg": f"{first['msg']}; or {found['msg'][:1].lower()}{found['msg'][1:]}"}
    # Where something within a value is wrong, that counts: not that it is no text either, nor what is left of a list.
    above = {path[:length] for path in merged for length in range(len(path))}
    return [(path, found) for path, found in merged.items() if path not in above]


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
    if kind.startswith("secret/"):
        where = next((override.masked for override in composition.overrides if override.where == where), where)
    if kind == UNKNOWN_KEY:
        if len(path) == 1:
            hint = _unknown_hint(key, composition, typed=where.override is not None)
        else:
            hint = _leftover_hint(path) or str(context["hint"])
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
    message = re.sub(r"a valid dictionary or instance of \w+", "a mapping", problem["msg"])
    return Diagnostic("config/bad-value", f"`{key}`: {message}", where=where, hint=hint)


def _missing_hint(path: Sequence[str | int], composition: Composition) -> str:
    if tuple(path) == ("model",):
        options = ", ".join(f"`model={option}`" for option in composition.groups.get("model", ()))
        return f"choose a model in `defaults`, or on the command line: {options}" if options else "choose a model"
    return ""


def _steps(location: Iterable[str | int], data: Any, *, missing: bool) -> list[str | int]:
    """The part of a validation error's location that stands in the data: names of union members do not.

    Args:
        location: As Pydantic gives it.
        data: What was validated.
        missing: Whether the last step is a key that should stand there.
    """
    steps: list[str | int] = []
    current = data
    parts = list(location)
    for index, part in enumerate(parts):
        if isinstance(current, dict) and part in current:
            current = cast("dict[Any, Any]", current)[part]
        elif isinstance(current, list) and isinstance(part, int) and part < len(cast("list[Any]", current)):
            current = cast("list[Any]", current)[part]
        elif not missing or index < len(parts) - 1:
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


def _leftover_hint(path: Sequence[str | int]) -> str:
    """What to do about a key of another kind, left over where a kind was changed by value; empty if it is of none."""
    room = str(path[0])
    if len(path) != 2 or room not in OMITTED:
        return ""
    for kind in BUILT_IN.get(room, {}):
        if path[1] in find_kind(room, kind).model_fields:
            return f"it is a key of the kind `{kind}`; to change a kind, choose an option: `{room}=...`"
    return ""


def _unknown_hint(key: str, composition: Composition, *, typed: bool) -> str:
    """What to do about a key that a root does not have; a typed one may have meant a group."""
    options = composition.chosen(key)
    if options:
        return f"write `# @package _global_` as the first line of {' and '.join(options)}"
    if key in composition.groups:
        return f"choose an option of the group `{key}` in `defaults`"
    return did_you_mean(key, {*AgentConfig.model_fields, *(composition.groups if typed else ())})
