"""Where a configuration lies: `conf=` to a root file and the project around it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from assembler.errors import did_you_mean, problem

SUFFIX = ".yaml"
CONF = "conf"
"""The folder that holds roots and groups, where a project has one."""


@dataclass(frozen=True, slots=True)
class Project:
    """A root file in its project.

    Attributes:
        folder: The project's folder, against which relative paths resolve.
        conf: The folder that holds roots and groups; ``folder / "conf"``, or the folder itself.
        root: Name of the root, without its suffix.
        named: What ``conf=`` said.
    """

    folder: Path
    conf: Path
    root: str
    named: str = ""

    @property
    def file(self) -> Path:
        """The root file."""
        return self.conf / (self.root + SUFFIX)

    def show(self, path: Path) -> str:
        """A path as a person would type it: relative to the project where it lies inside."""
        return path.relative_to(self.folder).as_posix() if path.is_relative_to(self.folder) else str(path)


def locate(conf: str | Path, cwd: Path | None = None) -> Project:
    """Finds what ``conf=`` names.

    A name is looked for in ``conf/`` of the working directory, then of its parents, up to the root of the repository. A
    path to a YAML file stands for itself: its folder is searched for groups, and the project is that folder's parent if
    the folder is called ``conf``.

    Args:
        conf: Name of a root, or path of a YAML file.
        cwd: Where to start; the working directory by default.

    Raises:
        AssemblerError: Nothing there (``config/no-such-root``), a root in a sub-folder of ``conf/``
            (``config/nested-root``), or a suffix that Hydra does not read (``config/bad-suffix``).
    """
    here = _absolute(cwd or Path.cwd())
    text = os.fspath(conf)
    path = Path(text)
    if not text or "\0" in text:
        raise problem("config/no-such-root", "`conf=` names nothing", hint="conf=NAME, or conf=PATH.yaml")
    if path.suffix == ".yml":
        raise problem("config/bad-suffix", f"`{text}` ends in .yml", hint="rename it: Hydra reads .yaml only")
    if path.suffix == SUFFIX:
        return _from_path(_absolute(here / path), text)
    if len(path.parts) > 1:
        raise problem(
            "config/nested-root",
            f"`{text}` lies in a sub-folder, which would nest the whole agent under the folder's name",
            hint="keep roots directly in conf/, or name a file: conf=PATH.yaml",
        )
    searched = list(_conf_folders(here))
    for folder in searched:
        if os.path.isfile(folder / (text + SUFFIX)):  # noqa: PTH113  (Path.is_file raises for a name that is too long)
            return Project(folder.parent, folder, text, text)
    if any(file.stem == text for folder in searched for file in folder.glob("*.yml")):
        told = f"`{CONF}/{text}.yml` ends in .yml"
        raise problem("config/bad-suffix", told, hint="rename it: Hydra reads .yaml only")
    roots = [file.stem for folder in searched for file in sorted(folder.glob("*" + SUFFIX))]
    hint = did_you_mean(text, roots) or "there is no conf/ folder with roots here or above; conf=PATH.yaml names a file"
    raise problem("config/no-such-root", f"there is no root `{text}` in conf/", hint=hint)


def _absolute(path: Path) -> Path:
    """Without `..`, and without following links: a linked root lies where its link does."""
    return Path(os.path.abspath(path))  # noqa: PTH100  (Path.resolve follows links)


def _from_path(file: Path, text: str) -> Project:
    if not os.path.isfile(file):  # noqa: PTH113  (Path.is_file raises for a name that is too long)
        near = [path.name for path in file.parent.glob("*" + SUFFIX)] if os.path.isdir(file.parent) else []  # noqa: PTH112  (as above)
        raise problem("config/no-such-root", f"there is no file `{text}`", hint=did_you_mean(file.name, near))
    conf = file.parent
    return Project(conf.parent if conf.name == "conf" else conf, conf, file.stem, text)


def _conf_folders(start: Path) -> list[Path]:
    """The ``conf`` folders here and above, up to the first folder that holds a repository."""
    found: list[Path] = []
    for folder in (start, *start.parents):
        if (folder / "conf").is_dir():
            found.append(folder / "conf")
        if (folder / ".git").exists():
            break
    return found
