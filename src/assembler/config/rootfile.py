"""A root file, completed: groups that it leaves out get their defaults, before what it says itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import yaml

from assembler.config import defaults, reading, yamlfile
from assembler.config.defaults import GLOBAL, SELF, Entry
from assembler.config.library import Library
from assembler.config.overrides import HYDRA
from assembler.config.project import SUFFIX
from assembler.config.yamlfile import Document
from assembler.errors import AssemblerError, Diagnostic, Where, did_you_mean

OMITTED: dict[str, str | list[str] | None] = {
    "model": None,
    "skills": [],
    "runner": "sandbox",
    "approval": "ask_scripts",
    "prompt": "default",
    "client_tools": "reject",
    "session": "memory",
}
"""The option of each group that a root does not mention; every one can then be chosen on the command line."""

OVERLAY = "env"
"""The group that comes after the root's own body, so that ``env=prod`` can change anything."""


@dataclass(slots=True)
class CompletedRoot:
    """A root that Hydra can compose, with the roots that it extends.

    Attributes:
        documents: The root, completed, and what it extends, by name.
        chosen: What the defaults lists choose of each group, before any override.
        lists: Groups of which several options may be chosen.
        problems: What is wrong; it is taken out of the documents.
        aside: Keys that were taken out with that, with their content.
        absent: Keys of which that might have said something; no key at all where it might have been anything.
    """

    documents: dict[str, Document] = field(default_factory=dict[str, Document])
    chosen: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    lists: set[str] = field(
        default_factory=lambda: {group for group, option in OMITTED.items() if isinstance(option, list)}
    )
    problems: list[Diagnostic] = field(default_factory=list[Diagnostic])
    aside: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
    absent: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])


def complete(library: Library) -> CompletedRoot:
    """Reads a project's root and completes its defaults list.

    A root that it extends is read like a root. The overlay of either comes after everything else, so that it can change
    anything; the root's own choice of it counts, else that of what it extends.

    Raises:
        AssemblerError: The root is a link that leads out of its project (``config/link-refused``).
    """
    name = library.project.root
    completed = CompletedRoot()
    path = library.find(name) or library.project.file
    root = _read(name, path, library.shown(path), completed)
    plain, overrides, overlay = _prepared(root, library, completed, (name,))
    added = [defaults.choice(group, option) for group, option in OMITTED.items() if group not in completed.chosen]
    plain.append(overlay or defaults.choice(OVERLAY, None))
    root.node = defaults.with_defaults(root.node, [*added, *plain, *overrides])
    root.changed = True
    completed.documents = {name: root, **completed.documents}
    return completed


def _read(name: str, path: Path, shown: str, completed: CompletedRoot) -> Document:
    """A root's file, without what is wrong in it; empty where that is all of it."""
    try:
        document = reading.read(name, path, shown)
    except AssemblerError as error:
        completed.problems += error.diagnostics
        completed.absent.add(())
        return replace(yamlfile.without_content(name, path, shown), package="")
    completed.problems += [*document.problems, *_refused(document)]
    completed.aside |= set(document.aside)
    document.node.value = [pair for pair in document.node.value if pair[0].value != HYDRA]
    return document


def _prepared(
    root: Document, library: Library, completed: CompletedRoot, ancestors: tuple[str, ...]
) -> tuple[list[yaml.Node], list[yaml.Node], yaml.Node | None]:
    """The plain entries of a root, its overrides, and its choice of the overlay, which is taken out."""
    entries, problems = defaults.read(root.node, "", root.shown)
    completed.problems += [told for _, told in problems]
    completed.absent |= {path for path, _ in problems}
    plain: list[yaml.Node] = []
    overrides: list[yaml.Node] = []
    overlay: yaml.Node | None = None
    inherited: yaml.Node | None = None
    for entry in entries:
        if entry.override:
            overrides.append(entry.node)
            continue
        if entry.is_choice:
            completed.chosen[entry.group] = [option.value for option in entry.options]
            if entry.is_list:
                completed.lists.add(entry.group)
        if entry.is_choice and entry.group == OVERLAY:
            overlay = entry.node
        elif _is_root(entry):
            found = _extend(entry, root, library, completed, ancestors)
            if found is not None:
                plain.append(defaults.name(entry.options[0].value, entry.node))
                inherited = found[0] or inherited
        else:
            plain.append(entry.node)
    if not any(isinstance(node, yaml.ScalarNode) and node.value == SELF for node in plain):
        plain.append(defaults.name(SELF))
    return plain, overrides, overlay or inherited


def _extend(
    entry: Entry, root: Document, library: Library, completed: CompletedRoot, ancestors: tuple[str, ...]
) -> tuple[yaml.Node | None] | None:
    """Reads a root that another one extends; its overlay, or None if it cannot be used."""
    name = entry.options[0].value
    where = yamlfile.place(root.shown, entry.key)
    if name in ancestors:
        message = f"`{name}` extends itself" if name == ancestors[-1] else f"`{name}` extends `{root.name}` already"
        completed.problems.append(Diagnostic("config/recursion", message, where=where, hint="take one of them out"))
        completed.absent.add(())
        return None
    try:
        path = library.find(name)
        refused = [_no_such_root(name, where, library)] if path is None else []
    except AssemblerError as error:
        path, refused = None, [replace(told, where=where) for told in error.diagnostics]
    if path is None:
        completed.problems += refused
        completed.absent.add(())
        return None
    document = _read(name, path, library.shown(path), completed)
    plain, overrides, overlay = _prepared(document, library, completed, (*ancestors, name))
    document.node = defaults.with_defaults(document.node, [*plain, *overrides])
    document.changed = True
    completed.documents[name] = document
    return (overlay,)


def _no_such_root(name: str, where: Where, library: Library) -> Diagnostic:
    misnamed = library.misnamed(name, where)
    if misnamed is not None:
        return misnamed
    known = [file.stem for file in library.project.conf.glob("*" + SUFFIX)]
    message, hint = f"`{name}` is not a file in conf/", did_you_mean(name, known)
    return Diagnostic("config/no-such-root", message, where=where, hint=hint)


def _is_root(entry: Entry) -> bool:
    """Whether an entry names another root, however it is written: `q`, `/q`, `q.yaml` or `q@_global_`."""
    if entry.group or entry.is_self or entry.package not in {None, GLOBAL}:
        return False
    return "/" not in entry.options[0].value and any(entry.files())


def _refused(document: Document) -> Iterator[Diagnostic]:
    """What a root may not say."""
    shown = document.shown
    for key, _ in yamlfile.pairs(document.node):
        if key.value == HYDRA:
            yield Diagnostic(
                "config/refused-key",
                "`hydra` in a root could change search paths and logging, which is not a configuration's to do",
                where=yamlfile.place(shown, key.start_mark),
                hint="remove it; groups are found in conf/ and among the presets",
            )
    for number, line in enumerate(document.head, 1):
        if re.match(r"#\s*@package", line):
            yield Diagnostic(
                "config/refused-package",
                "`# @package` in a root would nest the whole agent",
                where=Where(shown, number, 1),
                hint="remove the line; packages are for the files of groups",
            )
