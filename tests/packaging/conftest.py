"""What a user installs, made once for each process that runs tests."""

from pathlib import Path

import pytest

from .environments import ROOT, Environment, build_wheel


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    return build_wheel(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment that holds the wheel, its dependencies as pinned, and nothing else."""
    environment = Environment.create(tmp_path_factory.mktemp("installed") / "env")
    environment.install("--constraints", "constraints.txt", wheel)
    return environment
