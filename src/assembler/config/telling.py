"""Everything that is wrong with a composition, each thing once, at its place and with a way out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from assembler.agent.config import AgentConfig
from assembler.components import UNKNOWN_KEY
from assembler.config import grammar, origins, wording
from assembler.config.compose import Composition
from assembler.config.findings import MISSING, Finding, by_themselves, findings, other_kind, value_at
from assembler.config.interpolation import Problem
from assembler.config.library import is_preset
from assembler.config.provenance import trace
from assembler.errors import NOWHERE, Diagnostic, Where, did_you_mean, nearest
from assembler.kinds import BUILT_IN


def tell(
    composition: Composition, data: dict[str, Any], wrong: Iterable[Problem], invalid: Iterable[Mapping[str, Any]]
) -> list[Diagnostic]:
    """Everything that is wrong.

    Args:
        composition: What was composed.
        data: What was validated.
        wrong: What is known to be wrong with the values of keys, without their places.
        invalid: What Pydantic found wrong with the data.
    """
    teller = _Teller(composition, data)
    return [
        *composition.problems,
        *(teller.placed(path, found) for path, found in by_themselves(wrong, composition.raw)),
        *(teller.findings(together) for together in teller.together(findings(invalid, data, composition))),
    ]


class _Teller:
    def __init__(self, composition: Composition, data: dict[str, Any]) -> None:
        self._composition = composition
        self._data = data
        self._places = trace(composition)

    def together(self, found: Iterable[Finding]) -> list[list[Finding]]:
        """The findings, those together that are one mistake.

        The keys that a component has of another kind are left over by one change, and what stands once may count in
        several keys, by way of an anchor.
        """
        groups: dict[Hashable, list[Finding]] = {}
        for finding in found:
            place, exact = self._places.find(finding.path)
            mistake: Hashable = finding.path
            if other_kind(finding):
                mistake = ("kind", finding.path[:-1])
            elif exact and place.value.line is not None:
                mistake = (finding.type, finding.path[-1], str(place.value))
            groups.setdefault(mistake, []).append(finding)
        return list(groups.values())

    def findings(self, together: Sequence[Finding]) -> Diagnostic:
        """What is wrong, for findings that are one mistake."""
        first = together[0]
        if first.is_key:
            return self._bad_key(first.path)
        if first.type == MISSING:
            return self._missing(first.path)
        if first.type != UNKNOWN_KEY:
            return self._bad_value(first)
        return self._leftover(together) if other_kind(first) else self._unknown(first)

    def placed(self, path: tuple[str, ...], found: Diagnostic) -> Diagnostic:
        """What is known to be wrong with the value of a key, at its place."""
        place, exact = self._places.find(path)
        where = place.value if exact else place.key
        if found.code == "config/interpolation":
            found = self._not_there(path) or replace(found, message=found.message + self._set_at(path, where))
        return replace(found, message=found.message + self._instead_of(path), where=where)

    def _not_there(self, path: tuple[str, ...]) -> Diagnostic | None:
        """What is wrong with an interpolation that names keys that are not there; None if that is not what is wrong."""
        raw = self._composition.raw
        named = [each for each in grammar.references(origins.text_at(raw, path)) if not each.is_optional]
        missing = [target for each in named if not origins.is_there(raw, target := each.target(path))]
        if not missing:
            return None
        message = f"`{_key(path)}`: there is no key " + ", nor ".join(f"`{_key(target)}`" for target in missing)
        place, exact = self._places.find(missing[0])
        if exact:
            message += f", which {place.value} takes out"
        elif place.shape == "scalar":
            message += f": what would hold it is set at {place.value}"
        return Diagnostic("config/interpolation", message, hint=_nearest_key(raw, missing[0], path))

    def _bad_key(self, path: Sequence[str | int]) -> Diagnostic:
        place, _ = self._places.find(path)
        word = place.name or str(path[-1])
        told = f"`{_key((*path[:-1], word))}`: a key is a text, and YAML reads `{word}` as {_kind_of(path[-1])}"
        return Diagnostic("config/bad-value", told, where=place.key, hint=f'quote it: "{word}"')

    def _missing(self, path: Sequence[str | int]) -> Diagnostic:
        place, exact = self._places.find(path)
        told = f"`{_key(path)}` is required" + (self._instead_of(path) if exact else "")
        hint = f"{_key(path)}=..."
        options = ", ".join(f"`model={option}`" for option in self._composition.groups.get("model", ()))
        if tuple(path) == ("model",) and options:
            hint = f"choose a model in `defaults`, or on the command line: {options}"
        return Diagnostic("config/missing-key", told, where=self._or_root(place.key), hint=hint)

    def _bad_value(self, finding: Finding) -> Diagnostic:
        fault, path = finding.faults[0], finding.path
        trail = origins.trail(self._composition.raw, path)
        source = trail.origins[0].path if len(trail.origins) == 1 else path
        where = self._where(finding, trail.site)
        around = self._set_at(path, where) + self._instead_of(source)
        if "/" in fault.type:
            entry = fault.context.get("entry")
            named = _key(path if entry is None else (*path, entry))
            hint = self._chosen_in_place(path) or _room_of(finding, self._data) or str(fault.context.get("hint", ""))
            return Diagnostic(fault.type, f"`{named}`: {fault.message}{around}", where=where, hint=hint)
        value = value_at(self._data, path)
        told = f"`{_key(path)}`: {wording.mismatch(finding.faults, value)}{around}"
        hint = self._chosen_in_place(path) or self._meant(finding, value, source)
        return Diagnostic("config/bad-value", told, where=where, hint=hint)

    def _chosen_in_place(self, path: Sequence[str | int]) -> str:
        """What to do where the option of a group stands in its place; empty if none does."""
        group, value = str(path[0]), value_at(self._data, path)
        options = self._composition.groups.get(group, ()) if len(path) == 1 and isinstance(value, str) else ()
        near = nearest(str(value), options)
        return f"choose an option in `defaults`: `- {group}: {near}`" if near else ""

    def _where(self, finding: Finding, site: Sequence[str | int]) -> Where:
        """The place that sets a value; of a component that is of no such kind, the place of its kind."""
        fault = finding.faults[0]
        place, exact = self._places.find(site)
        where = place.value if exact else place.key
        if fault.type.startswith("component/") and place.shape == "mapping":
            kind = place.children.get("kind")
            where = kind.value if kind is not None else place.key
        entry = place.children.get(str(fault.context.get("entry")))
        if entry is not None:
            where = entry.key
        if fault.type.startswith("secret/"):
            return next((each.masked for each in self._composition.overrides if each.where == where), where)
        return where

    def _meant(self, finding: Finding, value: Any, source: Sequence[str | int]) -> str:
        """What was meant, as far as that can be told: another word, or a word that YAML reads as something else."""
        options = [option for fault in finding.faults for option in wording.options(fault)]
        place, exact = self._places.find(source)
        word = place.word if exact and place.reads_as else ""
        near = nearest(word or value, options) if word or isinstance(value, str) else None
        takes_text = any(fault.type == "string_type" for fault in finding.faults)
        if word and (takes_text or word in options):
            return f'quote it, since YAML reads `{word}` as {place.reads_as}: "{word}"'
        if near:
            return f"did you mean `{near}`?"
        return f"YAML reads `{word}` as {place.reads_as}" if word and options else ""

    def _unknown(self, finding: Finding) -> Diagnostic:
        path, key = finding.path, _key(finding.path)
        place, _ = self._places.find(path)
        trail = origins.trail(self._composition.raw, path)
        where = place.key
        hint = str(finding.faults[0].context.get("hint", ""))
        if trail.origins:
            site, _ = self._places.find(trail.site)
            where = site.value
        elif len(path) == 1:
            line = self._package_line(str(path[0]))
            where, hint = line or place.key, self._unknown_at_root(key, is_package=line is not None)
        return Diagnostic(UNKNOWN_KEY, f"there is no key `{key}`{self._set_at(path, where)}", where=where, hint=hint)

    def _unknown_at_root(self, key: str, *, is_package: bool) -> str:
        """What to do about a key that a root does not have; a typed one may have meant a group."""
        composition = self._composition
        options = composition.chosen(key)
        place, _ = self._places.find((key,))
        if is_package:
            return f"did you mean `# @package {nearest(key, ['_global_', *AgentConfig.model_fields]) or '_global_'}`?"
        if options:
            return f"write `# @package _global_` as the first line of {' and '.join(options)}"
        if key in composition.groups:
            return f"choose an option of the group `{key}` in `defaults`"
        groups = composition.groups if place.key.override is not None else ()
        return did_you_mean(key, {*AgentConfig.model_fields, *groups})

    def _leftover(self, together: Sequence[Finding]) -> Diagnostic:
        """Keys that a component has of another kind, left over where its kind was changed by value."""
        path, kind = together[0].path, other_kind(together[0])
        room = str(path[0])
        place, _ = self._places.find(path)
        chosen, exact = self._places.find((room, "kind"))
        now = f", and the kind is `{value_at(self._data, (room, 'kind'))}` ({chosen.value})" if exact else ""
        hint = f"it is a key of the kind `{kind}`{now}; to change a kind, choose an option: `{room}=...`"
        message = "there is no key " + ", nor ".join(f"`{_key(finding.path)}`" for finding in together)
        return Diagnostic(UNKNOWN_KEY, message, where=place.key, hint=hint)

    def _set_at(self, path: Sequence[str | int], where: Where) -> str:
        """Where the values were set that interpolations take, as the rest of a sentence; empty without any."""
        told: list[str] = []
        for origin in origins.trail(self._composition.raw, path).origins:
            place, exact = self._places.find(origin.path)
            if exact and place.value != where:
                told.append(f"`{origin.text}` is set at {place.value}")
        return "".join(f"; {each}" for each in dict.fromkeys(told))

    def _instead_of(self, path: Sequence[str | int]) -> str:
        """What a value took the place of, as the rest of a sentence; empty where that is nothing that was meant."""
        for length in range(len(path), 0, -1):
            place, exact = self._places.find(path[:length])
            if not exact or not place.beaten:
                continue
            last = place.beaten[0]
            if last.reads_as != "nothing" and not is_preset(last.value):
                return f"; it takes the place of {last.value}"
            return ""
        return ""

    def _or_root(self, where: Where) -> Where:
        project = self._composition.project
        return Where(project.show(project.file)) if where == NOWHERE else where

    def _package_line(self, key: str) -> Where | None:
        """The `# @package` line that puts a file's content under a key, if one does."""
        for layer in self._composition.layers():
            document = layer.document
            if layer.package[:1] == (key,) and document.package.partition(".")[0] == key:
                line = next(number for number, text in enumerate(document.head, 1) if "@package" in text)
                return Where(document.shown, line, 1)
        return None


def _key(path: Iterable[str | int]) -> str:
    return ".".join(str(step) for step in path)


def _room_of(finding: Finding, data: Any) -> str:
    """Where a kind belongs that the room of a component does not have; empty if it is of no other room."""
    if finding.type != "component/unknown-kind":
        return ""
    given = value_at(data, (*finding.path, "kind")) or finding.path[-1]
    rooms = [room for room, kinds in BUILT_IN.items() if given in kinds]
    return f"`{given}` is a kind of `{rooms[0]}`" if rooms else ""


def _kind_of(key: object) -> str:
    return "a boolean" if isinstance(key, bool) else "nothing" if key is None else "a number"


def _nearest_key(raw: Any, path: tuple[str, ...], own: tuple[str, ...]) -> str:
    """The key that one that is not there most likely meant, but for the one whose value names it."""
    value = raw
    for length, step in enumerate(path):
        below, found = origins.child(value, step)
        if not found:
            beside = [str(key) for key in cast("Mapping[Any, Any]", value)] if isinstance(value, Mapping) else []
            meant = [(*path[:length], key, *path[length + 1 :]) for key in beside]
            near = nearest(step, [key[length] for key in meant if key != own])
            return f"did you mean `{_key((*path[:length], near, *path[length + 1 :]))}`?" if near else ""
        value = below
    return ""
