"""What pyproject.toml allows beside what this environment holds: other Pythons, the oldest and newest dependencies."""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from .environments import ROOT, Environment, run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

PYTHONS = ("3.11", "3.12", "3.13")
TEST_TOOLS = ("hypothesis", "pytest", "pytest-timeout")
ABOUT_THE_CHECKOUT = ("tests/docs", "tests/packaging", "tests/test_floors.py")


@cache
def interpreter(version: str) -> Path | None:
    """An interpreter of this version that starts, from PATH or where pyenv keeps those that are not chosen."""
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    candidates = [shutil.which(f"python{version}"), *sorted(pyenv.glob(f"versions/{version}.*/bin/python"))]
    for candidate in candidates:
        if candidate is not None:
            command = [str(candidate), "-I", "-c", "import sys; print(sys.executable)"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return Path(done.stdout.strip())
    return None


def pins(*names: str) -> list[str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return [line.partition(" ;")[0] for line in lines if line.partition("==")[0] in names]


def run_tests(environment: Environment, folder: Path) -> None:
    """Runs the quick tests of this checkout."""
    command = [environment.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
    left_out = [f"--ignore={path}" for path in ABOUT_THE_CHECKOUT]
    done = run([*command, f"--basetemp={folder / 'tests'}", *left_out, "tests"], ROOT)
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2_000:]


def test_the_newest_python_with_the_oldest_dependencies(tmp_path: Path) -> None:
    """Crossed, since old releases are the likeliest not to know a new Python."""
    environment = Environment.create(tmp_path / "env", others()[-1])
    environment.install("--resolution", "lowest-direct", "--editable", ".[sandbox]", *pins(*TEST_TOOLS))
    run_tests(environment, tmp_path)


def test_another_python_with_the_newest_dependencies(tmp_path: Path) -> None:
    """Of Hydra and OmegaConf, that is the release candidates of the line that pyproject.toml already allows."""
    environment = Environment.create(tmp_path / "env", others()[0])
    candidates = ("hydra-core>=1.4.0rc3", "omegaconf>=2.4.1rc1")
    environment.install("--prerelease", "explicit", "--editable", ".[sandbox]", *candidates, *pins(*TEST_TOOLS))
    run_tests(environment, tmp_path)


def others() -> list[Path]:
    """The other supported Pythons that are installed, the oldest first; this one where there is none.

    This one runs the whole suite with what is pinned.
    """
    this = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = [interpreter(version) for version in PYTHONS if version != this]
    return [python for python in found if python is not None] or [Path(sys.executable)]
