"""Hydra, driven: its compose API under a lock, over a completed root, the user's groups and the presets."""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from threading import RLock
from typing import Any

from assembler.config import rootfile, yamlfile
from assembler.config.overrides import Override
from assembler.config.project import SUFFIX, Project

PRESETS = "assembler.presets"

_LOCK = RLock()
"""Hydra keeps its state in one global object, so compositions take turns."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A file that took part in a composition.

    Attributes:
        name: As a defaults list names it: `agent`, `model/gpt`.
        path: The file.
        shown: How to name it to a person.
        package: Keys under which its content lies.
    """

    name: str
    path: Path
    shown: str
    package: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Engine:
    """Hydra's loader over one project.

    Attributes:
        project: The project.
        loader: Hydra's, valid within ``hydra_over`` only.
    """

    project: Project
    loader: Any

    def load(self, overrides: Sequence[Override]) -> Any:
        """The composed ``DictConfig``, Hydra's own node included; raises whatever Hydra, OmegaConf and YAML raise."""
        from hydra.types import RunMode

        return self.loader.load_configuration(
            config_name=self.project.root, overrides=self._arguments(overrides), run_mode=RunMode.RUN, from_shell=False
        )

    def layers(self, overrides: Sequence[Override]) -> list[Layer]:
        """The files that take part, in the order in which they are laid over each other."""
        from hydra.types import RunMode

        arguments = self._arguments(overrides)
        found = self.loader.compute_defaults_list(self.project.root, arguments, RunMode.RUN).defaults
        layers: list[Layer] = []
        for entry in found:
            path = config_file(self.project, entry.config_path) if entry.config_path else None
            if path is not None:
                package = tuple(part for part in (entry.package or "").split(".") if part)
                layers.append(Layer(entry.config_path, path, shown(self.project, path), package))
        return layers

    def _arguments(self, overrides: Sequence[Override]) -> list[str]:
        conf = str(self.project.conf).replace("\\", "\\\\").replace("'", "\\'")
        search_path = f"hydra.searchpath=['file://{conf}','pkg://{PRESETS}']"
        return [search_path, *(override.hydra for override in overrides)]


@contextmanager
def hydra_over(project: Project, texts: Mapping[str, str]) -> Generator[Engine]:
    """Hydra over a project; leaves no trace in this process, also inside another Hydra application.

    Args:
        project: The project.
        texts: Files that take the place of the project's own, by the name that a defaults list uses; the completed
            root is one of them.
    """
    import hydra
    from hydra.core.global_hydra import GlobalHydra
    from packaging.version import Version

    # Hydra 1.3 warns when version_base is left out, 1.4 when it is given.
    base: dict[str, Any] = {} if Version(hydra.__version__) >= Version("1.4.0.dev0") else {"version_base": None}
    with _LOCK, tempfile.TemporaryDirectory(prefix="assembler-root-") as folder:
        for name, text in texts.items():
            file = Path(folder, name + SUFFIX)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        outer = GlobalHydra.instance().hydra
        GlobalHydra.instance().clear()
        try:
            with hydra.initialize_config_dir(folder, job_name="assembler", **base):
                yield Engine(project, GlobalHydra.instance().config_loader())
        finally:
            # Asked for anew: Hydra puts a copy of its instance in the old one's place on leaving.
            GlobalHydra.instance().hydra = outer


def available_groups(project: Project) -> dict[str, list[str]]:
    """Options of each group, the user's and the presets', by the group's name.

    Raises:
        AssemblerError: A file is larger or more entangled than any configuration (``config/too-large``).
    """
    groups: dict[str, set[str]] = {rootfile.OVERLAY: set()}
    for base in (project.conf, _presets()):
        for file in base.rglob("*" + SUFFIX):
            yamlfile.scan(file, shown(project, file))
            group = file.parent.relative_to(base).as_posix()
            if group != ".":
                groups.setdefault(group, set()).add(file.stem)
    return {group: sorted(options) for group, options in sorted(groups.items())}


def config_file(project: Project, name: str) -> Path | None:
    """The file that a defaults list means by a name: the project's own, else a preset."""
    found = (base / (name + SUFFIX) for base in (project.conf, _presets()))
    return next((path for path in found if path.is_file()), None)


def is_shadowed_preset(name: str) -> bool:
    """Whether a preset has this name."""
    return (_presets() / (name + SUFFIX)).is_file()


def shown(project: Project, path: Path) -> str:
    """How to name a file to a person: a preset as one, any other relative to the project."""
    if path.is_relative_to(_presets()):
        return f"preset {path.relative_to(_presets()).as_posix()}"
    return project.show(path)


def _presets() -> Path:
    return Path(str(files(PRESETS)))
