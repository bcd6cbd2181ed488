"""A root file, completed: groups that it leaves out get their defaults, before what it says itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from assembler.config import yamlfile
from assembler.config.project import SUFFIX, Project
from assembler.errors import Diagnostic, Where, problem

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


@dataclass(frozen=True, slots=True)
class CompletedRoot:
    """A root that Hydra can compose.

    Attributes:
        node: Its tree, with a complete defaults list.
        warnings: What is odd in the file.
    """

    node: yaml.MappingNode
    warnings: tuple[Diagnostic, ...]


def complete(project: Project) -> CompletedRoot:
    """Reads a project's root and completes its defaults list.

    Raises:
        AssemblerError: The file cannot be read, is not a mapping, or sets what a root may not
            (``config/not-a-mapping``, ``config/refused-key``, ``config/refused-package``, ``config/bad-defaults``).
    """
    shown = project.show(project.file)
    node = yamlfile.read(project.file, shown) or yaml.MappingNode("tag:yaml.org,2002:map", [])
    if not isinstance(node, yaml.MappingNode):
        raise problem("config/not-a-mapping", "a configuration file is a mapping of keys", where=Where(shown, 1, 1))
    _refuse(project.file, node, shown)
    entries = _defaults(node, shown)
    mentioned = set(_mentioned(project, entries, {project.root}))
    added = [_choice(group, option) for group, option in OMITTED.items() if group not in mentioned]
    overrides = [entry for entry in entries if _is_override(entry)]
    plain = [entry for entry in entries if not _is_override(entry)]
    if not any(isinstance(entry, yaml.ScalarNode) and entry.value == "_self_" for entry in plain):
        plain.append(yaml.ScalarNode("tag:yaml.org,2002:str", "_self_"))
    if OVERLAY not in mentioned:
        plain.append(_choice(OVERLAY, None))
    key = yaml.ScalarNode("tag:yaml.org,2002:str", "defaults")
    whole = yaml.SequenceNode("tag:yaml.org,2002:seq", [*added, *plain, *overrides])
    body = [(name, value) for name, value in node.value if name.value != "defaults"]
    completed = yaml.MappingNode(node.tag, [(key, whole), *body])
    return CompletedRoot(completed, tuple(yamlfile.empty_values(node, shown)))


def _refuse(file: Path, node: yaml.MappingNode, shown: str) -> None:
    for key, _ in yamlfile.pairs(node):
        if key.value == "hydra":
            raise problem(
                "config/refused-key",
                "`hydra` in a root could change search paths and logging, which is not a configuration's to do",
                where=yamlfile.place(shown, key.start_mark),
                hint="remove it; groups are found in conf/ and among the presets",
            )
    for number, line in enumerate(file.read_text("utf-8-sig").splitlines(), 1):
        if not line.startswith("#"):
            break
        if line.replace(" ", "").startswith("#@package"):
            raise problem(
                "config/refused-package",
                "`# @package` in a root would nest the whole agent",
                where=Where(shown, number, 1),
                hint="remove the line; packages are for the files of groups",
            )


def _defaults(node: yaml.MappingNode, shown: str) -> list[yaml.Node]:
    for key, value in yamlfile.pairs(node):
        if key.value != "defaults":
            continue
        if not isinstance(value, yaml.SequenceNode):
            where = yamlfile.place(shown, value.start_mark)
            raise problem("config/bad-defaults", "`defaults` is a list such as `- model: gpt`", where=where)
        return list(value.value)
    return []


def _mentioned(project: Project, entries: list[yaml.Node], seen: set[str]) -> Iterator[str]:
    """The groups that a defaults list chooses of itself, also through the roots that it extends."""
    for entry in entries:
        if not _is_override(entry):
            for key, _ in yamlfile.pairs(entry):
                yield key.value.split()[-1].lstrip("/").partition("@")[0]
        name = entry.value if isinstance(entry, yaml.ScalarNode) else ""
        file = project.conf / (name + SUFFIX)
        if name and name != "_self_" and name not in seen and "/" not in name and file.is_file():
            seen.add(name)
            shown = project.show(file)
            node = yamlfile.read(file, shown)
            if isinstance(node, yaml.MappingNode):
                yield from _mentioned(project, _defaults(node, shown), seen)


def _is_override(entry: yaml.Node) -> bool:
    return any(key.value.startswith("override ") for key, _ in yamlfile.pairs(entry))


def _choice(group: str, option: str | list[str] | None) -> yaml.Node:
    """An entry of a defaults list."""
    name = yaml.ScalarNode("tag:yaml.org,2002:str", group)
    if isinstance(option, list):
        return yaml.MappingNode("tag:yaml.org,2002:map", [(name, yaml.SequenceNode("tag:yaml.org,2002:seq", []))])
    tag, text = ("null", "null") if option is None else ("str", option)
    return yaml.MappingNode("tag:yaml.org,2002:map", [(name, yaml.ScalarNode(f"tag:yaml.org,2002:{tag}", text))])
