"""Composition: a root, its groups, presets and overrides to plain data, with everything that is wrong on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assembler.config import interpolation, overrides, rootfile, yamlfile
from assembler.config.draft import Draft, as_list
from assembler.config.engine import Layer, available_groups, config_file, hydra_over, is_shadowed_preset, shown
from assembler.config.overrides import Override
from assembler.config.project import Project
from assembler.errors import AssemblerError, Diagnostic, Where


@dataclass(frozen=True)
class Composition:
    """What a root, its groups and the overrides amount to.

    Attributes:
        project: Where it was composed.
        data: Plain, resolved data for the models, without what had to be set aside.
        raw: The same before interpolation.
        overrides: The overrides that took part.
        groups: Options of each group, by the group's name.
        warnings: What is odd but was composed.
        problems: What is wrong; a composition with problems is there only to find more of them.
        unplaced: What is wrong with values of known keys, whose places nobody has looked up yet.
        aside: Keys that were set aside with their content; what else is wrong with them is a mere consequence.
        absent: Keys that a bad override would have set; that they are missing is a mere consequence.
    """

    project: Project
    data: dict[str, Any]
    raw: dict[str, Any]
    overrides: Sequence[Override]
    groups: Mapping[str, Sequence[str]]
    warnings: Sequence[Diagnostic]
    problems: Sequence[Diagnostic]
    unplaced: Sequence[tuple[tuple[str, ...], Diagnostic]]
    aside: frozenset[tuple[str, ...]]
    absent: frozenset[tuple[str, ...]]
    _texts: Mapping[str, str]

    def layers(self) -> list[Layer]:
        """The files that took part, in the order in which they were laid over each other; only errors need it."""
        with hydra_over(self.project, self._texts) as engine:
            return engine.layers(self.overrides)

    def is_consequence(self, path: Sequence[str | int], *, missing: bool) -> bool:
        """Whether a key is missing or wrong only because something was set aside."""
        steps = tuple(str(step) for step in path)
        return any(steps[: len(key)] == key for key in {*self.aside, *(self.absent if missing else ())})


def compose(project: Project, texts: Sequence[str] = ()) -> Composition:
    """Composes a configuration.

    What is wrong is set aside and told in ``problems``, so that whoever validates the rest can tell everything.

    Args:
        project: The root file and its project.
        texts: Overrides in Hydra's grammar; ``a.b=v`` works whether or not the key exists.

    Raises:
        AssemblerError: What is wrong, if nothing can be composed.
    """
    from omegaconf import OmegaConf

    groups = available_groups(project)
    parsed, bad = overrides.parse(texts, lambda key: key in groups or key in rootfile.OMITTED)
    try:
        root = rootfile.complete(project)
    except AssemblerError as error:
        raise AssemblerError(*error.diagnostics, *(diagnostic for _, diagnostic in bad)) from error
    draft = Draft(project, root.node, parsed, groups)
    draft.problems += [diagnostic for _, diagnostic in bad]
    draft.absent |= {path for path, _ in bad}
    config = draft.compose()
    choices = {str(key): value for key, value in config.hydra.runtime.choices.items()}
    own = OmegaConf.masked_copy(config, [key for key in config if key != "hydra"])
    resolved = interpolation.resolve(own)
    aside = frozenset({*draft.aside, *(path for path, _ in resolved.problems)})
    return Composition(
        project=project,
        data=resolved.data,
        raw=resolved.raw,
        overrides=draft.overrides,
        groups=groups,
        warnings=[*root.warnings, *_option_warnings(project, choices)],
        problems=draft.problems,
        unplaced=[(path, found) for path, found in resolved.problems if not _refers_to(found, draft.aside)],
        aside=aside,
        absent=frozenset(draft.absent),
        _texts=draft.texts,
    )


def _refers_to(diagnostic: Diagnostic, aside: set[tuple[str, ...]]) -> bool:
    """Whether an interpolation fails only because what it names was set aside."""
    missing = interpolation.missing_key(diagnostic)
    steps = tuple(missing.split(".")) if missing else ()
    return bool(steps) and any(steps[: len(key)] == key for key in aside)


def _option_warnings(project: Project, choices: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """What is odd in the chosen options' files: keys without a value, and options that hide a preset."""
    for group, chosen in choices.items():
        for option in as_list(chosen):
            name = f"{group}/{option}"
            file = config_file(project, name)
            if file is None or not file.is_relative_to(project.conf):
                continue
            place = shown(project, file)
            try:
                yield from yamlfile.empty_values(yamlfile.read(file, place), place)
            except AssemblerError:
                continue  # it was told when it was set aside
            if is_shadowed_preset(name):
                yield Diagnostic(
                    "config/shadowed-preset",
                    f"the project's own option `{option}` of `{group}` takes the place of the preset",
                    "warning",
                    Where(place),
                    "give an option that extends a preset another name",
                )
