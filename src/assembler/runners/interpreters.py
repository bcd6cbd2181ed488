"""Which program runs a script: decided by the file's extension, never by its `#!` line or its execute bit."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BeforeValidator
from pydantic_core import PydanticCustomError

from assembler.errors import problem

OWN_PYTHON = "{python}"
"""Stands in the configuration for the interpreter that this process itself runs on."""

DEFAULT_INTERPRETERS = {".py": OWN_PYTHON, ".sh": "bash", ".js": "node"}

USR_LINKS = tuple(Path("/", name) for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"))
"""Folders that are links into ``/usr`` on most systems, and folders on the others."""

# No `-I`: it would hide the modules beside the script, which are part of the skill and hashed like it. What `-I` also
# keeps out is not there: the environment is ours, HOME is fresh, and the working folder is not searched.
_PYTHON_OPTIONS = ("-B", "-s")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A program that is there.

    Attributes:
        program: Absolute path; links are resolved where they leave the system's folders.
        options: What stands between the program and the script.
    """

    program: Path
    options: tuple[str, ...] = ()

    def folders(self) -> list[Path]:
        """Folders of its installation that it needs besides its own file and the system's.

        Only the library folders beside its ``bin``: the prefix itself may be somebody's ``~/.local``.
        """
        if self.program.parent.name != "bin":
            return []
        prefix = self.program.parent.parent
        return [folder for folder in (prefix / "lib", prefix / "lib64") if folder.is_dir()]


def own_python() -> Interpreter:
    """The base interpreter of this process: not its virtual environment, whose packages are not the script's.

    Resolved to the real file, since the shims of version managers need files that no sandbox has.
    """
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    base = Path(sys.base_prefix, "bin", name)
    program = base if base.is_file() else Path(sys.executable)
    return Interpreter(Path(os.path.realpath(program)), _PYTHON_OPTIONS)


def find_interpreter(script: str, interpreters: Mapping[str, str]) -> Interpreter:
    """The program that runs a script.

    Args:
        script: Path of the script from its skill's root.
        interpreters: Programs by extension: `{python}`, a name to be found on PATH, or an absolute path.

    Raises:
        AssemblerError: None is configured for the extension, or it is not installed (``runner/no-interpreter``).
    """
    suffix = PurePosixPath(script).suffix.lower()
    program = interpreters.get(suffix)
    if program is None:
        known = ", ".join(f"`{known}`" for known in sorted(interpreters))
        raise problem(
            "runner/no-interpreter",
            f"script `{script}` has no interpreter: `runner.interpreters` knows {known or 'no extension'}",
            hint=f'add `"{suffix or ".ext"}": program` to `runner.interpreters`, or give the script a known extension',
        )
    if program == OWN_PYTHON:
        return own_python()
    found = find_program(program)
    if found is None:
        raise problem(
            "runner/no-interpreter",
            f"script `{script}` needs `{program}`, which is not installed",
            hint=f"install `{program}`, or name another program under `{suffix}` in `runner.interpreters`",
        )
    # Some programs go by the name of the link, such as the `sh` of BusyBox.
    real = Path(os.path.realpath(found))
    return Interpreter(found if is_system(found) and is_system(real) else real)


def find_program(program: str) -> Path | None:
    """Where a program is.

    Args:
        program: A name to be found on PATH, or an absolute path.
    """
    found = shutil.which(program, path=_absolute_path())
    return None if found is None else Path(found)


def is_system(path: Path) -> bool:
    """Whether a path lies in the folders that a system keeps its programs and libraries in."""
    return any(path.is_relative_to(folder) for folder in (Path("/usr"), *USR_LINKS))


def _absolute_path() -> str:
    """PATH without entries that depend on the working folder, where a project could lay a program of its own."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if os.path.isabs(entry))  # noqa: PTH117 - entries are text


def _over_defaults(value: Any) -> Any:
    """What is written extends the shipped map; a written null takes an extension out."""
    if not isinstance(value, Mapping):
        return value
    merged = {**DEFAULT_INTERPRETERS, **cast("Mapping[Any, Any]", value)}
    return {suffix: program for suffix, program in merged.items() if program is not None}


def _checked(value: dict[str, str]) -> dict[str, str]:
    for suffix, program in value.items():
        if not suffix.startswith(".") or suffix != suffix.lower() or PurePosixPath(f"x{suffix}").suffix != suffix:
            message = "`{suffix}` should be a lower-case extension such as `.py`"
            raise PydanticCustomError("interpreters", message, {"suffix": suffix})
        if "/" in program and not program.startswith("/"):
            message = "`{program}` should be a name to find on PATH, or an absolute path"
            raise PydanticCustomError("interpreters", message, {"program": program})
    return value


Interpreters = Annotated[dict[str, str], BeforeValidator(_over_defaults), AfterValidator(_checked)]
"""Programs by lower-case extension; what is written is laid over the shipped map."""
