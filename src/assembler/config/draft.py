"""A composition on its way: what is wrong is told and set aside, so that the rest can be told too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import yaml

from assembler.config import contradictions, defaults, grammar, reading, yamlfile
from assembler.config.defaults import Entry
from assembler.config.engine import hydra_over
from assembler.config.library import Library
from assembler.config.overrides import HYDRA, Override, is_hydras
from assembler.config.provenance import Layer, Place, conflicts, lay
from assembler.config.rootfile import OMITTED, OVERLAY, CompletedRoot
from assembler.config.yamlfile import Document
from assembler.errors import AssemblerError, Diagnostic, Where, did_you_mean, first_line, nearest

MAX_ATTEMPTS = 50
"""More mistakes than this are not looked for one by one."""


class Draft:
    """The files that take part and the overrides, without whatever had to be set aside.

    Attributes:
        documents: The files by name.
        overrides: The overrides that are left.
        chosen: What the root, and then the overrides, choose of each group.
        problems: What was set aside and why.
        aside: Keys whose content was set aside; whatever is wrong with what is left of them is a mere consequence.
        absent: Keys of which something that was set aside would have said more; that something is missing there is a
            mere consequence.
    """

    def __init__(self, library: Library, root: CompletedRoot, overrides: Sequence[Override]) -> None:
        self.documents = dict(root.documents)
        self.overrides = list(overrides)
        self.chosen = dict(root.chosen)
        self.problems = list(root.problems)
        self.aside = set(root.aside)
        self.absent = set(root.absent)
        self._library = library
        self._root = root
        self._decided: set[str] = set()

    def compose(self) -> Any:
        """The composed ``DictConfig`` of what can be composed.

        Raises:
            AssemblerError: What is wrong, if nothing can be composed whatever is set aside.
        """
        for override in list(self.overrides):
            told = self._choose(override) if override.is_group else None
            if told is not None:
                self._drop(override, told)
        self._read_on(self._library.project.root, ())
        for _ in range(MAX_ATTEMPTS):
            try:
                return self._load(self.overrides)
            except Exception as error:  # noqa: BLE001  Hydra, OmegaConf and YAML raise many types; each is explained
                if not self._explain(error):
                    break
        raise AssemblerError(*self.problems)

    def layers(self) -> list[Layer]:
        """The files that take part, in the order in which they are laid over each other."""
        return self._layers(self.overrides)

    def _layers(self, overrides: Sequence[Override]) -> list[Layer]:
        with hydra_over(self._library.project.root, self._texts(), self._groups()) as engine:
            parts = engine.parts([override.hydra for override in overrides])
        return [Layer(self.documents[part.name], part.package) for part in parts if part.name in self.documents]

    def _load(self, overrides: Sequence[Override]) -> Any:
        with hydra_over(self._library.project.root, self._texts(), self._groups()) as engine:
            return engine.load([override.hydra for override in overrides])

    def _texts(self) -> dict[str, str]:
        return {name: document.render() for name, document in self.documents.items()}

    def _groups(self) -> set[str]:
        return {*self._library.groups, *OMITTED, OVERLAY}

    def _choose(self, override: Override) -> Diagnostic | None:
        """Takes in the options that an override chooses; what is wrong with it, if it cannot be followed."""
        chosen = self.chosen.get(override.key, [])
        if override.deletes and override.value is not None and override.value not in chosen:
            hint = f"~{override.key}, or {override.key}=[...] with those that shall stay"
            told = f"`{override.key}` has not chosen `{override.value}`"
            return Diagnostic("config/override", told, where=override.where, hint=hint)
        if override.deletes and override.value is not None and len(chosen) > 1:
            hint = f"{override.key}=[{','.join(name for name in chosen if name != override.value)}]"
            told = f"`{override.key}` has chosen more than `{override.value}`"
            return Diagnostic("config/override", told, where=override.where, hint=hint)
        if isinstance(override.value, list) and override.options and override.key not in self._root.lists:
            told = f"`{override.key}` takes one option, not a list"
            return Diagnostic(
                "config/override", told, where=override.where, hint=f"{override.key}={override.options[0]}"
            )
        for option in override.options:
            told = self._take(f"{override.key}/{option}", override.where, ())
            if told is not None:
                return told
        if override.package is None:
            self._decided.add(override.key)
            self.chosen[override.key] = override.options
        return None

    def _read_on(self, name: str, ancestors: tuple[str, ...]) -> None:
        """Takes in what a file's defaults list names, and what that names, before Hydra asks for it."""
        document = self.documents[name]
        self._without_malformed(document)
        entries, problems = defaults.read(document.node, name, document.shown)
        for path, told in problems:
            self.problems.append(told)
            self._miss("/".join(path))
            document.changed = True
        here = (*ancestors, name)
        for entry in sorted(entries, key=lambda entry: not entry.override):
            if entry.is_self or (entry.is_choice and entry.group in self._decided):
                continue
            if entry.override and entry.is_choice:
                self._decided.add(entry.group)
                self.chosen[entry.group] = [option.value for option in entry.options]
            for file, option in entry.files():
                told = self._take(file, yamlfile.place(document.shown, option.start_mark), here)
                if told is not None and not (entry.optional and told.code == "config/unknown-option"):
                    self._take_out(document, entry, told)
                    break

    def _take(self, name: str, where: Where, ancestors: tuple[str, ...]) -> Diagnostic | None:
        """Takes in a file; what is wrong with naming it there, if it cannot be."""
        if name in ancestors:
            hint = "an option that extends a preset needs another name" if self._library.hides_preset(name) else ""
            return Diagnostic(
                "config/recursion", f"`{name}` names itself, directly or through others", where=where, hint=hint
            )
        if name in self.documents:
            return None
        try:
            path = self._library.find(name)
        except AssemblerError as error:
            return replace(error.diagnostics[0], where=where)
        if path is None:
            return self._unknown(name, where)
        shown = self._library.shown(path)
        try:
            document = _option(reading.read(name, path, shown))
        except AssemblerError as error:
            self.problems += error.diagnostics
            self._miss(name.rpartition("/")[0])
            document = yamlfile.without_content(name, path, shown)
        self.documents[name] = document
        self.problems += document.problems
        self.aside |= {(*self._package(document), *key) for key in document.aside}
        self._read_on(name, ancestors)
        return None

    def _unknown(self, name: str, where: Where) -> Diagnostic:
        group, _, option = name.rpartition("/")
        groups = self._library.groups
        misnamed = self._library.misnamed(name, where)
        if misnamed is not None:
            return misnamed
        if group in groups:
            message, hint = f"`{group}` has no option `{option}`", did_you_mean(option, groups[group])
        elif group in self._groups():
            message, hint = f"`{group}` has no option `{option}`", f"conf/{group}/ holds no options yet"
        elif group:
            message, hint = f"there is no group `{group}`", did_you_mean(group, self._groups())
        else:
            message, hint = f"there is no file `{option}.yaml` in conf/", ""
        return Diagnostic("config/unknown-option", message, where=where, hint=hint)

    def _take_out(self, document: Document, entry: Entry, told: Diagnostic) -> None:
        """Takes an entry out of a file's defaults list."""
        self.problems.append(told)
        elements = defaults.listed(document.node)
        if elements is not None and entry.node in elements:
            elements.remove(entry.node)
            document.changed = True
        self._miss(entry.group or entry.options[0].value.rpartition("/")[0])

    def _miss(self, group: str) -> None:
        """Notes that a group's option is missing, so that what it would have said is not missed."""
        meant = {group, nearest(group, self._groups()) or group if group not in self._groups() else group}
        self.absent |= {tuple(step for step in each.split("/") if step) for each in meant}

    def _drop(self, override: Override, told: Diagnostic) -> None:
        """Sets an override aside, and tells why unless it would take out what was set aside before."""
        self.overrides.remove(override)
        if not (override.deletes and any(override.path[: len(key)] == key for key in self.absent)):
            self.problems.append(told)
        self.absent.add(override.path)

    def _package(self, document: Document) -> tuple[str, ...]:
        """The keys under which a file's content lies, unless whoever chose it said otherwise."""
        is_global = document.package == defaults.GLOBAL or document.name in self._root.documents
        return () if is_global else tuple(document.name.split("/")[:-1])

    def _without_malformed(self, document: Document) -> None:
        """Takes out the interpolations that do not parse."""
        package = self._package(document)
        for path, key, value in _texts(document.node):
            try:
                grammar.calls(value.value)
            except ValueError as error:
                here = (*package, *path)
                where = yamlfile.place(document.shown, value.start_mark)
                beaten_by = [each.where for each in self.overrides if each.sets(here)]
                hint = f"{beaten_by[-1]} takes its place, yet every file has to be readable" if beaten_by else ""
                message = f"`{key.value}`: malformed: {error}"
                self.problems.append(Diagnostic("config/interpolation", message, where=where, hint=hint))
                self.aside.add(here)
                value.value = ""
                document.changed = True

    def _explain(self, error: Exception) -> bool:
        """Tells what stopped Hydra in this project's words; whether it could be set aside, so that it may try again."""
        from hydra.errors import MissingConfigException

        message = _message(error)
        if isinstance(error, MissingConfigException) and error.missing_cfg_file not in {None, *self.documents}:
            return self._take_late(message, str(error.missing_cfg_file))
        if self._without_conflicts() or self._without_culprit(message) or self._without_repetition(message):
            return True
        inside = re.match(r"In '([^']+)'", message)
        document = self.documents.get(inside[1] if inside else "", self.documents[self._library.project.root])
        told = Diagnostic("config/composition", contradictions.plain(message), where=Where(document.shown))
        self.problems.append(told)
        return False

    def _without_culprit(self, message: str) -> bool:
        """Drops the override that Hydra cannot follow; whether there was one."""
        # The last of two that contradict each other is the one that cannot be followed.
        for override in reversed(self.overrides):
            others = [each for each in self.overrides if each is not override]
            # Hydra names the culprit by the text that it was given, or by its key, which may be any word.
            mentions = override.hydra in message or override.key in message
            if mentions and self._outcome(others) != message:
                places = partial(self._places, others)
                self._drop(override, contradictions.of_override(override, message, places))
                return True
        return False

    def _places(self, overrides: Sequence[Override]) -> Place:
        return lay(self._layers(overrides), overrides)

    def _without_repetition(self, message: str) -> bool:
        """Takes out the entry of a defaults list that Hydra cannot follow; whether there was one."""
        for pattern, what in (
            (r"Could not override '([^'@]+)", "no entry before this one chooses an option of `{}`"),
            (r"([\w/]+)(?:@\S+)? appears more", "`{}` is chosen twice"),
            (r"Multiple values for ([\w/]+)", "`{}` is chosen twice"),
        ):
            found = re.search(pattern, message)
            if found is not None and self._without_entry(found[1], what.format(found[1])):
                return True
        return False

    def _take_late(self, message: str, name: str) -> bool:
        """Takes in a file that only Hydra could know of, since other choices are a part of its name."""
        inside = re.match(r"In '([^']+)'", message)
        document = self.documents.get(inside[1] if inside else "", self.documents[self._library.project.root])
        entries, _ = defaults.read(document.node, document.name, document.shown)
        computed = [entry for entry in entries if not any(entry.files()) and entry.options]
        where = yamlfile.place(document.shown, computed[0].key) if computed else Where(document.shown)
        told = self._take(name, where, ())
        if told is None:
            return True
        if computed:
            self._take_out(document, computed[0], told)
            return True
        self.problems.append(told)
        return False

    def _without_conflicts(self) -> bool:
        """Takes out what cannot be laid over what comes before it; whether there was any."""
        try:
            found = conflicts(self.layers(), self.overrides)
        except Exception:  # noqa: BLE001  what is wrong with the defaults lists is explained elsewhere
            return False
        settled = False
        for conflict in found:
            if isinstance(conflict.source, Override):
                self._drop(conflict.source, contradictions.of_shapes(conflict))
                settled = True
            elif contradictions.take_out(conflict, conflict.source):
                self.problems.append(contradictions.of_shapes(conflict))
                settled = True
        return settled

    def _without_entry(self, group: str, told: str) -> bool:
        """Takes out the last entry about a group, which is the one that Hydra cannot follow."""
        for document in self.documents.values():
            entries, _ = defaults.read(document.node, document.name, document.shown)
            for entry in reversed(entries):
                if entry.group == group:
                    option = entry.options[0].start_mark if entry.options else entry.key
                    is_list = group in self._root.lists
                    hint = f"- {group}: [A, B]" if is_list else f"- override {group}: OPTION"
                    where = yamlfile.place(document.shown, option)
                    self._take_out(document, entry, Diagnostic("config/bad-defaults", told, where=where, hint=hint))
                    return True
        return False

    def _outcome(self, overrides: Sequence[Override]) -> str:
        """What stops a composition; empty if nothing does."""
        try:
            self._load(overrides)
        except Exception as error:  # noqa: BLE001  only whether it is the same one counts
            return _message(error)
        return ""


def _option(document: Document) -> Document:
    """An option's file with its package, unless it would change Hydra itself."""
    reading.read_package(document)
    is_global = document.package == defaults.GLOBAL
    keys = [key for key, _ in yamlfile.pairs(document.node) if is_global and key.value == HYDRA]
    if keys or is_hydras(document.package):
        where = yamlfile.place(document.shown, keys[0].start_mark) if keys else Where(document.shown, 1, 1)
        told = "`hydra` settings are not a configuration's to change"
        raise AssemblerError(Diagnostic("config/refused-key", told, where=where, hint="remove them"))
    return document


def _texts(node: yaml.Node, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], yaml.Node, yaml.ScalarNode]]:
    """Every text in a tree with its path and its key, but those of a defaults list."""
    for key, value in yamlfile.pairs(node):
        if not path and key.value == "defaults":
            continue
        here = (*path, key.value)
        if isinstance(value, yaml.ScalarNode):
            yield here, key, value
        items: list[yaml.Node] = value.value if isinstance(value, yaml.SequenceNode) else []
        for item in items:
            if isinstance(item, yaml.ScalarNode):
                yield here, key, item
            yield from _texts(item, here)
        yield from _texts(value, here)


def _message(error: BaseException) -> str:
    """What an exception says; Hydra wraps what OmegaConf says in one that says little."""
    if error.__cause__ is not None and (not str(error) or str(error).startswith("Error merging override")):
        return _message(error.__cause__)
    return str(error) or first_line(error)
