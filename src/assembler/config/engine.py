"""Hydra, driven: its loader under a lock, over copies of the files that take part and of nothing else.

Hydra never sees a project's folder. It composes from a private one, into which only files go that were measured and
read before, so that neither a link nor a device, nor a name that leads out of `conf/`, can be loaded. It runs with its
own state, plug-ins and resolvers, so that an application of Hydra's around it finds its own as they were.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any

from assembler.config import resolvers
from assembler.config.project import SUFFIX

LOCK = RLock()
"""Hydra and OmegaConf keep their state in global objects, so compositions take turns."""


@dataclass(frozen=True, slots=True)
class Part:
    """A file in the order in which Hydra lays files over each other.

    Attributes:
        name: As a defaults list names it: `agent`, `model/gpt`.
        package: Keys under which its content lies.
    """

    name: str
    package: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Engine:
    """Hydra's loader over one set of files.

    Attributes:
        root: Name of the root.
        loader: Hydra's, valid within ``hydra_over`` only.
    """

    root: str
    loader: Any

    def load(self, overrides: Sequence[str]) -> Any:
        """The composed ``DictConfig``, Hydra's own node included; raises whatever Hydra, OmegaConf and YAML raise."""
        from hydra.types import RunMode

        return self.loader.load_configuration(
            config_name=self.root, overrides=list(overrides), run_mode=RunMode.RUN, from_shell=False
        )

    def parts(self, overrides: Sequence[str]) -> list[Part]:
        """The files that take part, in the order in which they are laid over each other."""
        from hydra.types import RunMode

        found = self.loader.compute_defaults_list(self.root, list(overrides), RunMode.RUN).defaults
        return [
            Part(entry.config_path, tuple(part for part in (entry.package or "").split(".") if part))
            for entry in found
            if entry.config_path
        ]


@contextmanager
def hydra_over(root: str, texts: Mapping[str, str], groups: Iterable[str]) -> Generator[Engine]:
    """Hydra over a set of files; leaves no trace in this process, also inside another Hydra application.

    Args:
        root: Name of the root.
        texts: The files, the root among them, by the name that a defaults list uses.
        groups: Groups that exist, whether or not any of their options takes part.
    """
    import hydra
    from hydra.core.global_hydra import GlobalHydra
    from packaging.version import Version

    # Hydra 1.3 warns when version_base is left out, 1.4 when it is given.
    base: dict[str, Any] = {} if Version(hydra.__version__) >= Version("1.4.0.dev0") else {"version_base": None}
    with LOCK, tempfile.TemporaryDirectory(prefix="assembler-conf-") as folder, _own_state():
        for group in groups:
            Path(folder, group).mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            file = Path(folder, name + SUFFIX)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        with (
            resolvers.only(resolvers.CONFIGURATION_ONLY),
            hydra.initialize_config_dir(folder, job_name="assembler", **base),
        ):
            yield Engine(root, GlobalHydra.instance().config_loader())


@contextmanager
def _own_state() -> Generator[None]:
    """Fresh singletons of Hydra's for a while, with no plug-ins but those that load files."""
    from hydra._internal.sources_registry import SourcesRegistry
    from hydra.core.global_hydra import GlobalHydra
    from hydra.core.plugins import Plugins
    from hydra.core.singleton import Singleton
    from hydra.core.utils import JobRuntime
    from hydra.version import VersionBase

    # Hydra has no other way to have two of a singleton.
    instances: dict[Any, Any] = Singleton._instances  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    outer = dict(instances)
    try:
        for kind in (GlobalHydra, JobRuntime, Plugins, SourcesRegistry, VersionBase):
            instances.pop(kind, None)
        instances[Plugins] = _core_plugins()
        yield
    finally:
        instances.clear()
        instances.update(outer)


def _core_plugins() -> Any:
    """Hydra's own sources of files.

    Left to itself, Hydra imports every module of any ``hydra_plugins`` on ``sys.path``, also of the folder that the
    process was started in.
    """
    from hydra._internal.core_plugins import (
        # These two store the defaults of Hydra's own node when they are imported.
        basic_launcher,  # noqa: F401  # pyright: ignore[reportUnusedImport]
        basic_sweeper,  # noqa: F401  # pyright: ignore[reportUnusedImport]
    )
    from hydra._internal.core_plugins.file_config_source import FileConfigSource
    from hydra._internal.core_plugins.importlib_resources_config_source import ImportlibResourcesConfigSource
    from hydra._internal.core_plugins.structured_config_source import StructuredConfigSource
    from hydra.core.plugins import Plugins

    class CorePlugins(Plugins):
        def _initialize(self) -> None:
            self.plugin_type_to_subclass_list = defaultdict(list)
            for source in (FileConfigSource, ImportlibResourcesConfigSource, StructuredConfigSource):
                self.register(source)

    return CorePlugins()
