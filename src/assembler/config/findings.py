"""What validation finds wrong with each value of a composition, told once, and without mere consequences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from assembler.components import UNKNOWN_KEY
from assembler.config import grammar, origins
from assembler.config.compose import Composition
from assembler.config.interpolation import Problem
from assembler.config.rootfile import OMITTED
from assembler.config.wording import Fault
from assembler.errors import nearest
from assembler.kinds import BUILT_IN, find_kind
from assembler.secret import Secret

Steps = tuple[str | int, ...]

MISSING = "missing"
BAD_KEY = "[key]"
"""What Pydantic puts at the end of the location of a key that is no text."""

_MISPLACED_SECRET = Fault(
    "secret/misplaced",
    "a secret here would be shown to the model, in output or in records",
    {"hint": "only a field for a secret, such as a model's `api_key`, takes a reference"},
)


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a value.

    Attributes:
        path: Its key.
        faults: What is wrong; several where it may be one thing or another and is neither.
        is_key: Whether it is the key itself, which is no text.
    """

    path: Steps
    faults: tuple[Fault, ...]
    is_key: bool = False

    @property
    def type(self) -> str:
        """What is wrong, or the first of it."""
        return self.faults[0].type


def findings(invalid: Iterable[Mapping[str, Any]], data: dict[str, Any], composition: Composition) -> list[Finding]:
    """What is wrong, but for what is missing or wrong only because of something that is told already.

    Args:
        invalid: What Pydantic found.
        data: What was validated.
        composition: What it was composed from.
    """
    found = _by_path(invalid, data)
    mistyped = {finding.path for finding in found if finding.type == UNKNOWN_KEY}
    changed = {finding.path[:-1] for finding in found if other_kind(finding)}
    return [
        finding
        for finding in found
        if not composition.is_unread(value_at(data, finding.path))
        and not _is_consequence(finding, data, composition)
        and not (finding.type == MISSING and (finding.path[:-1] in changed or _is_meant(finding.path, mistyped)))
    ]


def by_themselves(wrong: Iterable[Problem], raw: Any) -> list[Problem]:
    """What is wrong with values, but for those that cannot be resolved as they take another one; of a circle, one.

    Args:
        wrong: What is wrong with the values of keys.
        raw: The configuration before interpolation.
    """
    everything = list(wrong)
    told: list[tuple[str, ...]] = []
    failing = [path for path, found in everything if found.code == "config/interpolation"]
    takes = {path: _taken(raw, path, failing) for path in failing}
    for path in failing:
        reached = _reached(path, takes)
        is_in_circle = path in reached
        if not reached or (is_in_circle and not any(other in told for other in reached)):
            told.append(path)
    return [(path, found) for path, found in everything if path not in failing or path in told]


def other_kind(finding: Finding) -> str:
    """The kind of the room that has an unknown key of a component; empty if none has, or it is no such key."""
    path = finding.path
    room = str(path[0])
    if finding.type != UNKNOWN_KEY or len(path) != 2 or room not in OMITTED:
        return ""
    return next((kind for kind in BUILT_IN.get(room, {}) if path[1] in find_kind(room, kind).model_fields), "")


def value_at(data: Any, path: Iterable[str | int]) -> Any:
    """The value of a key; None where there is none."""
    for step in path:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _by_path(invalid: Iterable[Mapping[str, Any]], data: dict[str, Any]) -> list[Finding]:
    """What is wrong with each value, told once: a union has something to say for each of its members."""
    merged: dict[Steps, Finding] = {}
    for error in invalid:
        fault = Fault(error["type"], error["msg"], error.get("ctx", {}))
        path = tuple(_steps(error["loc"], data, missing=fault.type == MISSING))
        before = merged.get(path)
        if isinstance(value_at(data, path), Secret) and not fault.type.startswith(("secret/", UNKNOWN_KEY)):
            merged[path] = Finding(path, (_MISPLACED_SECRET,))
        elif before is None or fault.type == UNKNOWN_KEY:
            merged[path] = Finding(path, (fault,), is_key=error["loc"][-1] == BAD_KEY)
        elif fault.message not in {told.message for told in before.faults}:
            merged[path] = Finding(path, (*before.faults, fault), before.is_key)
    # Where something within a value is wrong, that counts: not that it is no text either, nor what is left of a list.
    above = {path[:length] for path in merged for length in range(len(path))}
    return [finding for path, finding in merged.items() if path not in above]


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
        entries = cast("dict[Any, Any]", current) if isinstance(current, dict) else {}
        # Pydantic says 0 where a key is False, and "1.5" where it is 1.5.
        keys = [key for key in entries if part in (key, str(key))]
        if keys:
            part = keys[0]
            current = entries[part]
        elif isinstance(current, list) and isinstance(part, int) and part < len(cast("list[Any]", current)):
            current = cast("list[Any]", current)[part]
        elif not missing or index < len(parts) - 1:
            continue
        steps.append(part)
    return steps


def _is_consequence(finding: Finding, data: Any, composition: Composition) -> bool:
    """Whether something is wrong only because something was set aside: there, within it, or where it comes from."""
    path = tuple(str(step) for step in finding.path)
    if finding.type == "component/no-kind" and composition.is_consequence(path[-1:], missing=True):
        return True  # it would be of the kind of the agent's own
    without = composition.aside | composition.absent
    misses = _misses(finding, data, is_kind_aside=(*path, "kind") in without)
    return (
        composition.is_consequence(path, missing=misses)
        or (misses and any(key[: len(path)] == path for key in without))
        or any(
            composition.is_consequence(origin.path, missing=False)
            for origin in origins.trail(composition.raw, path).origins
        )
    )


def _misses(finding: Finding, data: Any, *, is_kind_aside: bool) -> bool:
    """Whether something that is not there may be all that is wrong: what is there is judged as it is."""
    if finding.type in {MISSING, UNKNOWN_KEY}:
        return finding.type == MISSING
    value = value_at(data, finding.path)
    if not isinstance(value, Mapping):
        return False
    kind = cast("Mapping[str, Any]", value).get("kind")
    return is_kind_aside or not (finding.type.startswith("component/") and isinstance(kind, str))


def _is_meant(missing: Steps, mistyped: Iterable[Steps]) -> bool:
    """Whether an unknown key beside it is the missing one, mistyped."""
    return any(nearest(str(path[-1]), [str(missing[-1])]) is not None for path in mistyped if path[:-1] == missing[:-1])


def _taken(raw: Any, path: tuple[str, ...], failing: Iterable[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """The failing values that a failing value takes; none if it is wrong by itself."""
    named = [each for each in grammar.references(origins.text_at(raw, path)) if not each.is_optional]
    targets = [each.target(path) for each in named]
    if not all(origins.is_there(raw, target) for target in targets):
        return set()
    return {
        other
        for other in failing
        for target in targets
        if other[: len(target)] == target or target[: len(other)] == other
    }


def _reached(start: tuple[str, ...], takes: Mapping[tuple[str, ...], set[tuple[str, ...]]]) -> set[tuple[str, ...]]:
    """Everything that a value takes, directly or through others."""
    reached: set[tuple[str, ...]] = set()
    waiting = list(takes[start])
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting += takes[path]
    return reached
