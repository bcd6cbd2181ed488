"""A composition on its way: what is wrong is told and set aside, so that the rest can be told too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import yaml

from assembler.config import defaults, grammar, yamlfile
from assembler.config.defaults import Entry
from assembler.config.engine import Part, hydra_over
from assembler.config.library import Library
from assembler.config.overrides import HYDRA, Override, is_hydras
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
        aside: Keys with their whole content; whatever is wrong with what is left of them is a mere consequence.
        absent: Keys that an override would have set; that they are missing is a mere consequence.
    """

    def __init__(self, library: Library, root: CompletedRoot, overrides: Sequence[Override]) -> None:
        self.documents = dict(root.documents)
        self.overrides = list(overrides)
        self.chosen = dict(root.chosen)
        self.problems = list(root.problems)
        self.aside = {tuple(group.split("/")) for group in root.aside if group}
        self.absent: set[tuple[str, ...]] = set()
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

    def parts(self) -> list[Part]:
        """The files in the order in which they are laid over each other."""
        with hydra_over(self._library.project.root, self._texts(), self._groups()) as engine:
            return engine.parts([override.hydra for override in self.overrides])

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
        for group, told in problems:
            self.problems.append(told)
            self._set_aside(group)
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
            self.documents[name] = _option(yamlfile.read(name, path, shown))
        except AssemblerError as error:
            self.problems += error.diagnostics
            self._set_aside(name.rpartition("/")[0])
            self.documents[name] = Document(name, path, shown, yamlfile.empty(), changed=True)
        self._read_on(name, ancestors)
        return None

    def _unknown(self, name: str, where: Where) -> Diagnostic:
        group, _, option = name.rpartition("/")
        groups = self._library.groups
        misnamed = self._library.project.conf / f"{name}.yml"
        if misnamed.is_file():
            shown = self._library.shown(misnamed)
            return Diagnostic("config/bad-suffix", f"`{shown}` ends in .yml", where=where, hint="rename it to .yaml")
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
        self._set_aside(entry.group or entry.options[0].value.rpartition("/")[0])

    def _set_aside(self, group: str) -> None:
        """Notes that a group's option is missing, so that what it would have said is not missed."""
        meant = {group, nearest(group, self._groups()) if group not in self._groups() else group}
        self.aside |= {tuple(each.split("/")) for each in meant if each}

    def _drop(self, override: Override, told: Diagnostic) -> None:
        self.overrides.remove(override)
        self.problems.append(told)
        (self.aside if override.is_group else self.absent).add(override.path)

    def _without_malformed(self, document: Document) -> None:
        """Takes out the interpolations that do not parse."""
        is_global = document.package == defaults.GLOBAL
        package = () if is_global or document.name in self._root.documents else tuple(document.name.split("/")[:-1])
        for path, key, value in _texts(document.node):
            try:
                grammar.calls(value.value)
            except ValueError as error:
                where = yamlfile.place(document.shown, value.start_mark)
                message = f"`{key.value}`: malformed: {error}"
                self.problems.append(Diagnostic("config/interpolation", message, where=where))
                self.aside.add((*package, *path))
                value.value = ""
                document.changed = True

    def _explain(self, error: Exception) -> bool:
        """Tells what stopped Hydra in this project's words; whether it could be set aside, so that it may try again."""
        from hydra.errors import MissingConfigException

        message = _message(error)
        if isinstance(error, MissingConfigException) and error.missing_cfg_file not in {None, *self.documents}:
            return self._take_late(message, str(error.missing_cfg_file))
        for override in list(self.overrides):
            # Hydra names the culprit by the text that it was given, or by its key, which may be any word.
            mentions = override.hydra in message or override.key in message
            if mentions and self._outcome([each for each in self.overrides if each is not override]) != message:
                told = _plain(message) if override.is_showable else "it contradicts what it is laid over"
                self._drop(override, Diagnostic("config/override", told, where=override.where))
                return True
        for pattern in (
            r"Could not override '([^'@]+)",
            r"([\w/]+)(?:@\S+)? appears more",
            r"Multiple values for ([\w/]+)",
        ):
            found = re.search(pattern, message)
            if found is not None and self._without_entry(found[1], message):
                return True
        shown = self._library.shown(self._library.project.file)
        self.problems.append(Diagnostic("config/composition", _plain(message), where=Where(shown)))
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

    def _without_entry(self, group: str, message: str) -> bool:
        """Takes out the last entry about a group, which is the one that Hydra cannot follow."""
        for document in self.documents.values():
            entries, _ = defaults.read(document.node, document.name, document.shown)
            for entry in reversed(entries):
                if entry.group == group:
                    option = entry.options[0].start_mark if entry.options else entry.key
                    is_list = group in self._root.lists
                    hint = f"- {group}: [A, B]" if is_list else f"- override {group}: OPTION"
                    where = yamlfile.place(document.shown, option)
                    self._take_out(
                        document, entry, Diagnostic("config/bad-defaults", _plain(message), where=where, hint=hint)
                    )
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
    """An option's file, unless it would change Hydra itself."""
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
    """What an exception says; Hydra wraps what OmegaConf says in one that says nothing."""
    if not str(error) and error.__cause__ is not None:
        return _message(error.__cause__)
    return str(error) or first_line(error)


def _plain(message: str) -> str:
    """Hydra's sentence without its advice to type `+`, which makes a typo permanent."""
    first = message.splitlines()[0] if message else ""
    return re.sub(r"^In '[^']+': ", "", first).partition(" To append to your")[0].rstrip(". ")
