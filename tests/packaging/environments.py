"""Environments of their own: what a user installs, apart from the checkout that the other tests run in."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import uv

ROOT = Path(__file__).parents[2]


def clean_environment() -> dict[str, str]:
    """This process's environment without what would let Python or uv find this checkout or its .venv.

    Bytecode is kept, since otherwise every process that a test starts would compile all that it imports.
    """
    leaks = {"PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV", "ASSEMBLE_CONF"}
    return {name: value for name, value in os.environ.items() if name not in leaks and not name.startswith("PYTEST_")}


def run(command: Sequence[str | Path], cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end, whatever the end; there is nothing on its stdin."""
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=clean_environment() | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def succeed(command: Sequence[str | Path], cwd: Path, **variables: str) -> str:
    """What a command prints on stdout, if it succeeds."""
    done = run(command, cwd, **variables)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


class Environment(NamedTuple):
    """A virtual environment."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def assemble(self) -> Path:
        return self.folder / "bin" / "assemble"

    @classmethod
    def create(cls, folder: Path, interpreter: str | Path = sys.executable) -> "Environment":
        succeed([uv.find_uv_bin(), "venv", "--quiet", "--python", interpreter, folder], ROOT)
        return cls(folder)

    def install(self, *arguments: str | Path) -> None:
        succeed([uv.find_uv_bin(), "pip", "install", "--quiet", "--python", self.python, *arguments], ROOT)

    @staticmethod
    def install_into(folder: Path, wheel: Path) -> None:
        """Installs one wheel into a folder that can be put on PYTHONPATH."""
        succeed([uv.find_uv_bin(), "pip", "install", "--quiet", "--no-deps", "--target", folder, wheel], ROOT)


def build_wheel(project: Path, folder: Path) -> Path:
    """Builds a project's wheel into a folder."""
    succeed([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, project], ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel
