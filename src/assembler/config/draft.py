"""A composition on its way: what is wrong is told and set aside, so that the rest can be told too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import yaml

from assembler.config import yamlfile
from assembler.config.engine import config_file, hydra_over, shown
from assembler.config.overrides import Override
from assembler.config.project import SUFFIX, Project
from assembler.errors import AssemblerError, Diagnostic, Where, did_you_mean, first_line, nearest

MAX_ATTEMPTS = 50
"""More mistakes than this are not looked for one by one."""


class Draft:
    """A root, its groups and overrides, without whatever had to be set aside.

    Attributes:
        project: Where it is composed.
        overrides: The overrides that are left.
        groups: Options of each group.
        problems: What was set aside and why.
        aside: Keys with their whole content; whatever is wrong with what is left of them is a mere consequence.
        absent: Keys that an override would have set; that they are missing is a mere consequence.
    """

    def __init__(
        self,
        project: Project,
        root: yaml.MappingNode,
        overrides: Sequence[Override],
        groups: Mapping[str, Sequence[str]],
    ) -> None:
        self.project = project
        self.overrides = list(overrides)
        self.groups = groups
        self.problems: list[Diagnostic] = []
        self.aside: set[tuple[str, ...]] = set()
        self.absent: set[tuple[str, ...]] = set()
        self._nodes: dict[str, yaml.MappingNode] = {project.root: root}

    @property
    def texts(self) -> dict[str, str]:
        """The files that take the place of the project's own."""
        return {name: yamlfile.dump(node) for name, node in self._nodes.items()}

    def compose(self) -> Any:
        """The composed ``DictConfig`` of what can be composed.

        Raises:
            AssemblerError: What is wrong, if nothing can be composed whatever is set aside.
        """
        self._set_unknown_options_aside()
        for _ in range(MAX_ATTEMPTS):
            try:
                with hydra_over(self.project, self.texts) as engine:
                    return engine.load(self.overrides)
            except Exception as error:  # noqa: BLE001  Hydra, OmegaConf and YAML raise many types; each is explained
                if not self._explain(error):
                    break
        raise AssemblerError(*self.problems)

    def tell(self, diagnostic: Diagnostic, *aside: str) -> None:
        """Notes a problem, and the key that is missing because of it."""
        self.problems.append(diagnostic)
        if aside:
            self.aside.add(aside)

    def _set_unknown_options_aside(self) -> None:
        """Hydra would tell the first of several overrides that choose what does not exist."""
        for override in list(self.overrides):
            if not override.is_group or override.deletes or override.value is None:
                continue
            for name in as_list(override.value):
                group, _, option = f"{override.key}/{name}".rpartition("/")
                if option not in self.groups.get(group, ()):
                    self._drop(override, self._unknown_option(f"{group}/{option}", override.where))
                    break

    def _explain(self, error: Exception) -> bool:
        """Tells what stopped Hydra in this project's words; whether it could be set aside, so that it may try again."""
        from hydra.errors import MissingConfigException
        from omegaconf.errors import GrammarParseError

        if not str(error) and error.__cause__ is not None:
            # Hydra wraps what OmegaConf says in an exception that says nothing.
            error = cast("Exception", error.__cause__)
        message = str(error)
        if isinstance(error, MissingConfigException) and error.missing_cfg_file:
            return self._without_choice(_parent(message) or self.project.root, error.missing_cfg_file)
        if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
            return self._without_file(error)
        if isinstance(error, GrammarParseError) and self._without_malformed():
            return True
        for override in self.overrides:
            # Hydra names the culprit by the text that it was given, or by its key.
            if f"'{override.hydra}'" in message or f"'{override.key}'" in message:
                self._drop(override, Diagnostic("config/override", _plain(message), where=override.where))
                return True
        found = re.search(r"Could not override '([^']+)'", message)
        if found and self._without_choice(_parent(message) or self.project.root, found[1], _plain(message)):
            return True
        where = Where(self.project.show(self.project.file))
        self.tell(Diagnostic("config/composition", _plain(first_line(error)), where=where))
        return False

    def _drop(self, override: Override, diagnostic: Diagnostic) -> None:
        self.overrides.remove(override)
        self.problems.append(diagnostic)
        (self.aside if override.is_group else self.absent).add(override.path)

    def _without_choice(self, parent: str, name: str, message: str = "") -> bool:
        """Takes a choice that cannot be made out of the defaults list that makes it.

        Args:
            parent: The file with the defaults list.
            name: What it chooses, as ``group/option``; with a message, the group alone.
            message: What is wrong, if it is not that there is no such option.
        """
        entries = _defaults(self._node(parent))
        for entry in entries:
            for key, value in _choices(entry):
                group = _group(parent, key)
                if name != (group if message else f"{group}/{value.value}".lstrip("/")):
                    continue
                entries.remove(entry)
                where = yamlfile.place(self._shown(parent), value.start_mark)
                told = Diagnostic("config/composition", message, where=where)
                self.tell(told if message else self._unknown_option(name, where), *group.split("/"))
                meant = nearest(group, self.groups)
                if group not in self.groups and meant is not None:
                    self.aside.add(tuple(meant.split("/")))
                return True
        if not message:
            self.tell(self._unknown_option(name, Where(self._shown(parent))))
        return False

    def _without_file(self, error: yaml.MarkedYAMLError) -> bool:
        """Puts an empty file in the place of one that is not YAML."""
        mark = cast("yaml.Mark", error.problem_mark)
        path = Path(mark.name)
        where = yamlfile.place(shown(self.project, path), mark)
        told = Diagnostic("config/bad-yaml", first_line(error) if not error.problem else error.problem, where=where)
        if not path.is_relative_to(self.project.conf):
            self.tell(told)
            return False
        name = path.relative_to(self.project.conf).as_posix().removesuffix(SUFFIX)
        self.tell(told, *name.split("/")[:-1])
        self._nodes[name] = yaml.MappingNode("tag:yaml.org,2002:map", [])
        return True

    def _without_malformed(self) -> bool:
        """Takes out the interpolations that do not parse, wherever they stand; only those of files in use are told."""
        from omegaconf.errors import GrammarParseError
        from omegaconf.grammar_parser import parse

        found = False
        for name in self._names():
            for path, key, value in _texts(self._node(name)):
                if "${" not in value.value:
                    continue
                try:
                    parse(value.value)
                except GrammarParseError as error:
                    where = yamlfile.place(self._shown(name), value.start_mark)
                    reason = first_line(error)
                    told = Diagnostic("config/interpolation", f"`{key.value}`: malformed: {reason}", where=where)
                    package = () if name == self.project.root else tuple(name.split("/")[:-1])
                    self.tell(told, *package, *path)
                    value.value = ""
                    found = True
        return found

    def _names(self) -> Iterator[str]:
        """The root, and the options that the defaults list and the overrides choose."""
        yield self.project.root
        chosen = {override.key: as_list(override.value) for override in self.overrides if override.is_group}
        for entry in _defaults(self._node(self.project.root)):
            for key, value in _choices(entry):
                chosen.setdefault(_group("", key), []).append(value.value)
        for group, options in chosen.items():
            yield from (f"{group}/{name}" for name in options if config_file(self.project, f"{group}/{name}"))

    def _node(self, name: str) -> yaml.MappingNode:
        """A file's tree, which from now on takes the place of the file."""
        if name not in self._nodes:
            path = config_file(self.project, name)
            read = yamlfile.read(path, self._shown(name)) if path is not None else None
            empty = yaml.MappingNode("tag:yaml.org,2002:map", [])
            self._nodes[name] = read if isinstance(read, yaml.MappingNode) else empty
        return self._nodes[name]

    def _shown(self, name: str) -> str:
        path = config_file(self.project, name) or self.project.conf / (name + SUFFIX)
        return shown(self.project, path)

    def _unknown_option(self, name: str, where: Where) -> Diagnostic:
        group, _, option = name.rpartition("/")
        if not group:
            known = [file.stem for file in self.project.conf.glob("*" + SUFFIX)]
            message = f"`{option}` is not a file in conf/"
            return Diagnostic("config/no-such-root", message, where=where, hint=did_you_mean(option, known))
        if group not in self.groups:
            message, hint = f"there is no group `{group}`", did_you_mean(group, self.groups)
        else:
            message, hint = f"`{group}` has no option `{option}`", did_you_mean(option, self.groups[group])
            hint = hint or f"conf/{group}/ holds no options yet"
        return Diagnostic("config/unknown-option", message, where=where, hint=hint)


def as_list(value: Any) -> list[Any]:
    """The options that a group's value chooses: one, or several."""
    return list(cast("Sequence[Any]", value)) if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _defaults(node: yaml.MappingNode) -> list[yaml.Node]:
    """The entries of a file's defaults list; taking one out takes it out of the file."""
    for key, value in yamlfile.pairs(node):
        if key.value == "defaults" and isinstance(value, yaml.SequenceNode):
            return cast("list[yaml.Node]", value.value)
    return []


def _choices(entry: yaml.Node) -> Iterator[tuple[str, yaml.ScalarNode]]:
    """What an entry of a defaults list chooses: group and option, the group empty for a file directly in conf/."""
    if isinstance(entry, yaml.ScalarNode):
        yield "", entry
    for key, value in yamlfile.pairs(entry):
        options = value.value if isinstance(value, yaml.SequenceNode) else [value]
        for option in options:
            if isinstance(option, yaml.ScalarNode):
                yield key.value, option


def _group(parent: str, key: str) -> str:
    """The group that an entry of a file's defaults list is about: below the file's own, unless it starts with `/`."""
    name = key.rpartition(" ")[2].partition("@")[0]
    if name.startswith("/"):
        return name.lstrip("/")
    return "/".join(part for part in (parent.rpartition("/")[0], name) if part)


def _texts(node: yaml.Node, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], yaml.Node, yaml.ScalarNode]]:
    """Every text in a tree with its path and its key."""
    for key, value in yamlfile.pairs(node):
        here = (*path, key.value)
        if isinstance(value, yaml.ScalarNode):
            yield here, key, value
        items: list[yaml.Node] = value.value if isinstance(value, yaml.SequenceNode) else []
        for item in items:
            if isinstance(item, yaml.ScalarNode):
                yield here, key, item
            yield from _texts(item, here)
        yield from _texts(value, here)


def _parent(message: str) -> str:
    """The file that Hydra says it was in, as a defaults list names it."""
    found = re.match(r"In '([^']+)'", message)
    return found[1] if found else ""


def _plain(message: str) -> str:
    """Hydra's sentence without its advice to type `+`, which makes a typo permanent."""
    first = message.splitlines()[0] if message else ""
    return re.sub(r"^In '[^']+': ", "", first).partition(" To append to your")[0].rstrip(". ")
