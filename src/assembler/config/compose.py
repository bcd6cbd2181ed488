"""Composition: a root, its groups, presets and overrides to plain data, with everything that is wrong on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from assembler.config import interpolation, overrides, rootfile, yamlfile
from assembler.config.draft import Draft
from assembler.config.library import Library, library
from assembler.config.overrides import Override
from assembler.config.project import Project
from assembler.config.provenance import Layer
from assembler.config.resolvers import unread
from assembler.config.yamlfile import Document
from assembler.errors import AssemblerError, Diagnostic, Where


@dataclass(frozen=True)
class Composition:
    """What a root, its groups and the overrides amount to.

    Attributes:
        project: Where it was composed.
        raw: Plain data before interpolation.
        data: The same resolved, for the models, without what had to be set aside.
        variables: The environment variables that it reads, each with a key whose value reads it.
        unread: Those for whose values ``resolvers.unread`` stands in the data: all of them until ``revealed``.
        overrides: The overrides that took part.
        groups: Options of each group, by the group's name.
        warnings: What is odd but was composed.
        problems: What is wrong; a composition with problems is there only to find more of them.
        unplaced: What is wrong with values of known keys, whose places nobody has looked up yet.
        aside: Keys that were set aside with their content; what else is wrong with them is a mere consequence.
        absent: Keys that a bad override would have set; that they are missing is a mere consequence.
    """

    project: Project
    raw: dict[str, Any]
    data: dict[str, Any]
    variables: Mapping[str, tuple[str, ...]]
    unread: frozenset[str]
    overrides: Sequence[Override]
    groups: Mapping[str, Sequence[str]]
    warnings: Sequence[Diagnostic]
    problems: Sequence[Diagnostic]
    unplaced: Sequence[tuple[tuple[str, ...], Diagnostic]]
    aside: frozenset[tuple[str, ...]]
    absent: frozenset[tuple[str, ...]]
    _draft: Draft
    _library: Library

    def revealed(self) -> Composition:
        """The same with the values of the environment variables that it reads."""
        return replace(self, unread=frozenset(), **_resolved(self.raw, self._draft, reads_variables=True))

    def is_unread(self, value: object) -> bool:
        """Whether something hangs on a variable whose value nobody has read."""
        return any(unread(name) in str(value) for name in self.unread)

    def layers(self) -> list[Layer]:
        """The files that took part, in the order in which they were laid over each other; only errors need it."""
        return self._draft.layers()

    def chosen(self, group: str) -> list[str]:
        """The files of a group that take part, as a person would name them."""
        documents = self._draft.documents
        return [document.shown for name, document in documents.items() if name.rpartition("/")[0] == group]

    def chosen_preset(self, group: str) -> Document | None:
        """The preset that a group's only option is; None if it is one of the project's, or there are several."""
        chosen = [name for name in self._draft.documents if name.rpartition("/")[0] == group]
        found = self._draft.documents[chosen[0]] if len(chosen) == 1 else None
        return None if found is None or self._library.is_own(found.path) else found

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

    offered = library(project)
    groups = offered.groups
    parsed, bad = overrides.parse(texts, lambda key: key in groups or key in {*rootfile.OMITTED, rootfile.OVERLAY})
    try:
        root = rootfile.complete(offered)
    except AssemblerError as error:
        raise AssemblerError(*error.diagnostics, *(diagnostic for _, diagnostic in bad)) from error
    draft = Draft(offered, root, parsed)
    draft.problems += [diagnostic for _, diagnostic in bad]
    draft.absent |= {path for path, _ in bad}
    config = draft.compose()
    own = OmegaConf.masked_copy(config, [key for key in config if key != "hydra"])
    raw = cast("dict[str, Any]", OmegaConf.to_container(own, resolve=False))
    variables = interpolation.variables(raw)
    return Composition(
        project=project,
        raw=raw,
        variables=variables,
        unread=frozenset(variables),
        overrides=draft.overrides,
        groups=groups,
        warnings=[
            *offered.warnings,
            *_odd(draft.documents, offered),
            *_same_source(draft.documents, draft.chosen.get("skills", ())),
        ],
        problems=draft.problems,
        absent=frozenset(draft.absent),
        _draft=draft,
        _library=offered,
        **_resolved(raw, draft, reads_variables=False),
    )


def _resolved(raw: dict[str, Any], draft: Draft, *, reads_variables: bool) -> dict[str, Any]:
    """What interpolation adds to a composition."""
    resolved = interpolation.resolve(raw, reads_variables=reads_variables)
    return {
        "data": resolved.data,
        "unplaced": [
            (path, found) for path, found in resolved.problems if not _refers_to(found, draft.aside | draft.absent)
        ],
        "aside": frozenset({*draft.aside, *(path for path, _ in resolved.problems)}),
    }


def _refers_to(diagnostic: Diagnostic, aside: set[tuple[str, ...]]) -> bool:
    """Whether an interpolation fails only because what it names was set aside."""
    missing = interpolation.missing_key(diagnostic)
    steps = tuple(missing.split(".")) if missing else ()
    return bool(steps) and any(steps[: len(key)] == key for key in aside)


def _odd(documents: Mapping[str, Document], offered: Library) -> Iterator[Diagnostic]:
    """What is odd in the files of the project: keys without a value, and options that hide a preset."""
    for name, document in documents.items():
        if not offered.is_own(document.path):
            continue
        yield from yamlfile.empty_values(document.node, document.shown)
        if offered.hides_preset(name):
            yield Diagnostic(
                "config/shadowed-preset",
                f"the project's own option `{name.rpartition('/')[2]}` takes the place of the preset",
                "warning",
                Where(document.shown),
                "give an option that extends a preset another name",
            )


def _same_source(documents: Mapping[str, Document], options: Sequence[str]) -> Iterator[Diagnostic]:
    """Sources that two of the chosen skill sets define under one name, where the second is laid over the first."""
    seen: dict[str, Document] = {}
    chosen = [documents[f"skills/{option}"] for option in options if f"skills/{option}" in documents]
    for document in chosen:
        sources = next((value for key, value in yamlfile.pairs(document.node) if key.value == "sources"), None)
        for key, _ in yamlfile.pairs(sources):
            first = seen.setdefault(key.value, document)
            if first is not document:
                yield Diagnostic(
                    "config/same-source",
                    f"the source `{key.value}` stands in `{first.shown}` too, and is laid over it",
                    "warning",
                    yamlfile.place(document.shown, key.start_mark),
                    "give one of them another name",
                )
