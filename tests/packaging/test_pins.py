"""constraints.txt: everything at the version that is tested, and nothing about where it comes from."""

import re
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LINES = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
PINS = [Requirement(line) for line in LINES]
DIRECT = [
    *PROJECT["project"]["dependencies"],
    *(text for extra in PROJECT["project"]["optional-dependencies"].values() for text in extra),
    *(text for group in PROJECT["dependency-groups"].values() for text in group),
]
PYTHONS = ("3.11", "3.12", "3.13")


def pinned(python: str) -> dict[str, str]:
    """Versions by normalised name for one Python on Linux."""
    where = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "sys_platform": "linux",
        "os_name": "posix",
    }
    chosen = [pin for pin in PINS if pin.marker is None or pin.marker.evaluate(where)]
    versions = {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in chosen}
    assert len(versions) == len(chosen), f"pinned twice for Python {python}"
    return versions


def test_a_line_is_a_name_a_version_and_perhaps_a_marker() -> None:
    pattern = re.compile(r"[a-z0-9-]+==[\w.+]+( ; [^/]+)?")
    assert [line for line in LINES if not pattern.fullmatch(line)] == []


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("text", DIRECT)
def test_direct_dependencies_are_pinned_within_their_bounds(text: str, python: str) -> None:
    requirement = Requirement(text)
    assert requirement.specifier.contains(pinned(python)[canonicalize_name(requirement.name)])


def test_this_environment_holds_what_is_pinned() -> None:
    versions = pinned(f"{sys.version_info.major}.{sys.version_info.minor}")
    names = {canonicalize_name(Requirement(text).name) for text in DIRECT} - {"setuptools", "wheel"}
    assert {name: version(name) for name in names} == {name: versions[name] for name in names}
