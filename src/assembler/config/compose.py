"""Composition: Hydra's compose API, under a lock, over a completed root, the user's groups and the presets."""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from threading import RLock
from typing import Any, cast

from assembler.config import overrides as override_module
from assembler.config import rootfile, yamlfile
from assembler.config.interpolation import resolve
from assembler.config.overrides import Override
from assembler.config.project import SUFFIX, Project
from assembler.errors import NOWHERE, AssemblerError, Diagnostic, Where, did_you_mean

PRESETS = "assembler.presets"

_LOCK = RLock()
"""Hydra keeps its state in one global object, so compositions take turns."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A file that took part in a composition.

    Attributes:
        path: The file.
        shown: How to name it.
        package: Keys under which its content lies.
    """

    path: Path
    shown: str
    package: tuple[str, ...]


@dataclass(frozen=True)
class Composition:
    """What a root, its groups and the overrides amount to.

    Attributes:
        project: Where it was composed.
        data: Plain, resolved data for the models.
        overrides: The overrides, parsed.
        groups: Options of each group, by the group's name.
        warnings: What is odd but was composed.
    """

    project: Project
    data: dict[str, Any]
    overrides: Sequence[Override]
    groups: Mapping[str, Sequence[str]]
    warnings: Sequence[Diagnostic]

    def layers(self) -> list[Layer]:
        """The files that took part, in the order in which they were laid over each other; only errors need it."""
        with _hydra(self.project, rootfile.complete(self.project).text) as loader:
            return _layers(self.project, loader, self.overrides)


def compose(project: Project, texts: Sequence[str] = ()) -> Composition:
    """Composes a configuration.

    Args:
        project: The root file and its project.
        texts: Overrides in Hydra's grammar; ``a.b=v`` works whether or not the key exists.

    Raises:
        AssemblerError: What stopped the composition, each with its place.
    """
    from omegaconf import OmegaConf

    root = rootfile.complete(project)
    groups = available_groups(project)
    overrides = override_module.parse(texts, lambda key: key in groups or key in root.groups)
    _refuse_unknown_options(overrides, groups)
    with _hydra(project, root.text) as loader:
        try:
            config = _load(loader, project, overrides)
        except AssemblerError:
            raise
        except Exception as error:  # Hydra, OmegaConf and YAML raise many types; each becomes a diagnostic
            raise _explained(error, project, overrides, groups) from error
        choices = {str(key): value for key, value in config.hydra.runtime.choices.items()}
        data = resolve(OmegaConf.masked_copy(config, [key for key in config if key != "hydra"]))
    warnings = [*root.warnings, *_option_warnings(project, choices)]
    return Composition(project, data, overrides, groups, warnings)


def available_groups(project: Project) -> dict[str, list[str]]:
    """Options of each group, the user's and the presets', by the group's name.

    Raises:
        AssemblerError: A file is larger or more entangled than any configuration (``config/too-large``).
    """
    groups: dict[str, set[str]] = {rootfile.OVERLAY: set()}
    for base in (project.conf, _presets()):
        for file in base.rglob("*" + SUFFIX):
            yamlfile.scan(file, _shown(project, file))
            group = file.parent.relative_to(base).as_posix()
            if group != ".":
                groups.setdefault(group, set()).add(file.stem)
    return {group: sorted(options) for group, options in sorted(groups.items())}


def _presets() -> Path:
    return Path(str(files(PRESETS)))


@contextmanager
def _hydra(project: Project, root_text: str) -> Generator[Any]:
    """Hydra's loader over a completed root; leaves no trace in this process, also inside another Hydra application."""
    import hydra
    from hydra.core.global_hydra import GlobalHydra
    from packaging.version import Version

    # Hydra 1.3 warns when version_base is left out, 1.4 when it is given.
    base: dict[str, Any] = {} if Version(hydra.__version__) >= Version("1.4.0.dev0") else {"version_base": None}
    with _LOCK, tempfile.TemporaryDirectory(prefix="assembler-root-") as folder:
        (Path(folder) / (project.root + SUFFIX)).write_text(root_text, "utf-8")
        outer = GlobalHydra.instance().hydra
        GlobalHydra.instance().clear()
        try:
            with hydra.initialize_config_dir(folder, job_name="assembler", **base):
                yield GlobalHydra.instance().config_loader()
        finally:
            # Not `state`: Hydra puts a copy in its place on leaving.
            GlobalHydra.instance().hydra = outer


def _search_path(project: Project) -> str:
    quoted = str(project.conf).replace("\\", "\\\\").replace("'", "\\'")
    return f"hydra.searchpath=['file://{quoted}','pkg://{PRESETS}']"


def _arguments(project: Project, overrides: Sequence[Override]) -> list[str]:
    return [_search_path(project), *(override.hydra for override in overrides)]


def _load(loader: Any, project: Project, overrides: Sequence[Override]) -> Any:
    from hydra.types import RunMode

    return loader.load_configuration(
        config_name=project.root, overrides=_arguments(project, overrides), run_mode=RunMode.RUN, from_shell=False
    )


def _layers(project: Project, loader: Any, overrides: Sequence[Override]) -> list[Layer]:
    from hydra.types import RunMode

    defaults = loader.compute_defaults_list(project.root, _arguments(project, overrides), RunMode.RUN).defaults
    layers: list[Layer] = []
    for entry in defaults:
        name = entry.config_path
        if name is None or name.split("/")[0] == "hydra":
            continue
        package = tuple(part for part in (entry.package or "").split(".") if part)
        for path in (project.conf / (name + SUFFIX), _presets() / (name + SUFFIX)):
            if path.is_file():
                layers.append(Layer(path, _shown(project, path), package))
                break
    return layers


def _shown(project: Project, path: Path) -> str:
    return project.show(path) if path.is_relative_to(project.conf) else f"preset {path.relative_to(_presets())}"


def _option_warnings(project: Project, choices: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """What is odd in the chosen options' files: keys without a value, and options that hide a preset."""
    for group, chosen in choices.items():
        if group.split("/")[0] == "hydra":
            continue
        for option in _as_list(chosen):
            file = project.conf / group / f"{option}{SUFFIX}"
            if not isinstance(option, str) or not file.is_file():
                continue
            shown = project.show(file)
            yield from yamlfile.empty_values(yamlfile.read(file, shown), shown)
            if (_presets() / group / f"{option}{SUFFIX}").is_file():
                yield Diagnostic(
                    "config/shadowed-preset",
                    f"the project's own option `{option}` of `{group}` takes the place of the preset",
                    "warning",
                    Where(shown),
                    "give an option that extends a preset another name",
                )


def _explained(
    error: Exception, project: Project, overrides: Sequence[Override], groups: Mapping[str, Sequence[str]]
) -> AssemblerError:
    """What stopped Hydra, in this project's words."""
    import yaml
    from hydra.errors import MissingConfigException
    from omegaconf.errors import GrammarParseError

    if not str(error) and error.__cause__ is not None:
        # Hydra wraps what OmegaConf says in an exception that says nothing.
        error = cast("Exception", error.__cause__)
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        return AssemblerError(_missing_option(error.missing_cfg_file, project, groups))
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        # The root was read before; what Hydra cannot read is a file of a group.
        mark = error.problem_mark
        where = yamlfile.place(_shown(project, Path(mark.name)), mark)
        return AssemblerError(Diagnostic("config/bad-yaml", error.problem or first, where=where))
    if isinstance(error, GrammarParseError):
        where = Where(project.show(project.file))
        return AssemblerError(
            Diagnostic("config/interpolation", f"an interpolation is malformed: {first}", where=where)
        )
    for override in overrides:
        # Hydra names the culprit in its message by the text that it was given, or by its key.
        if f"'{override.hydra}'" in str(error) or f"'{override.key}'" in str(error):
            return AssemblerError(Diagnostic("config/override", _plain(first), where=override.where))
    return AssemblerError(Diagnostic("config/composition", _plain(first), where=Where(project.show(project.file))))


def _refuse_unknown_options(overrides: Sequence[Override], groups: Mapping[str, Sequence[str]]) -> None:
    """Tells every override that chooses what does not exist; Hydra would tell the first."""
    problems: list[Diagnostic] = []
    for override in overrides:
        if not override.is_group or override.deletes or override.value is None:
            continue
        for name in _as_list(override.value):
            group, _, option = f"{override.key}/{name}".rpartition("/")
            if option not in groups.get(group, ()):
                problems.append(_unknown_option(group, option, override.where, groups))
    if problems:
        raise AssemblerError(*problems)


def _unknown_option(group: str, option: str, where: Where, groups: Mapping[str, Sequence[str]]) -> Diagnostic:
    if group not in groups:
        message, hint = f"there is no group `{group}`", did_you_mean(group, groups)
    else:
        message, hint = f"`{group}` has no option `{option}`", did_you_mean(option, groups[group])
        hint = hint or f"conf/{group}/ holds no options yet"
    return Diagnostic("config/unknown-option", message, where=where, hint=hint)


def _missing_option(name: str, project: Project, groups: Mapping[str, Sequence[str]]) -> Diagnostic:
    """What a defaults list chooses and does not exist."""
    group, _, option = name.rpartition("/")
    if not group:
        known = [file.stem for file in project.conf.glob("*" + SUFFIX)]
        where = Where(project.show(project.file))
        return Diagnostic(
            "config/no-such-root", f"`{name}` is not a file in conf/", where=where, hint=did_you_mean(name, known)
        )
    return _unknown_option(group, option, _where_chosen(project, group), groups)


def _where_chosen(project: Project, group: str) -> Where:
    """The place in the root's defaults list where an option is chosen."""
    shown = project.show(project.file)
    for key, value in yamlfile.pairs(yamlfile.read(project.file, shown)):
        if key.value == "defaults":
            for entry in value.value:
                for name, chosen in yamlfile.pairs(entry):
                    if name.value.split()[-1].lstrip("/").partition("@")[0] == group:
                        return yamlfile.place(shown, chosen.start_mark)
    return Where(shown) if shown else NOWHERE


def _as_list(value: Any) -> list[Any]:
    """The options that a group's value chooses: one, or several."""
    return list(cast("Sequence[Any]", value)) if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def _plain(message: str) -> str:
    """Hydra's sentence without its advice to type `+`, which makes a typo permanent."""
    return message.partition(" To append to your config")[0].rstrip(". ")
