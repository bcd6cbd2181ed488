"""What the tests of the example skills share: running a script as a runner does, and importing one for Hypothesis."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

SKILLS = Path(__file__).resolve().parents[2] / "skills"


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


def argv_of(arguments: Mapping[str, object] | Sequence[str]) -> list[str]:
    """Arguments of a tool call as a runner maps them: a list as it is, an object to flags in equals form."""
    if not isinstance(arguments, Mapping):
        return list(arguments)
    argv: list[str] = []
    for key, value in arguments.items():
        for item in value if isinstance(value, list) else [value]:
            if item is True:
                argv.append(f"--{key}")
            elif item is not None and item is not False:
                argv.append(f"--{key}={item}")
    return argv


RunScript = Callable[..., Outcome]


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """The folder that a script runs in."""
    folder = tmp_path / "scratch"
    (folder / "inputs").mkdir(parents=True)
    return folder


@pytest.fixture
def run_script(scratch: Path) -> RunScript:
    """Runs a script isolated, in a scratch folder, with hardly an environment."""

    def run(
        skill: str,
        script: str,
        arguments: Mapping[str, object] | Sequence[str],
        *,
        root: Path = SKILLS,
        lang: str = "C",
    ) -> Outcome:
        folder = root / skill
        done = subprocess.run(
            [sys.executable, "-I", "-B", str(folder / script), *argv_of(arguments)],
            cwd=scratch,
            env={"PATH": "/usr/bin:/bin", "LANG": lang, "SKILL_DIR": str(folder), "SCRATCH_DIR": str(scratch)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return Outcome(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    return run


@pytest.fixture(scope="session")
def load_module() -> Iterator[Callable[[str], ModuleType]]:
    """Imports a file of a skill, `unit-converter/scripts/convert.py`, with what it finds on its own path."""
    paths, no_bytecode = sys.path.copy(), sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # a skill is as it was released, with no cache beside its files

    def load(name: str) -> ModuleType:
        path = SKILLS / name
        spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    yield load
    sys.path[:], sys.dont_write_bytecode = paths, no_bytecode
