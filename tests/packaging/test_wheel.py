"""The wheel: what it holds, and that an agent runs from it alone, in a folder far from this checkout."""

import json
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from .environments import ROOT, Environment, run, succeed

PACKAGE = ROOT / "src" / "assembler"


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_holds_every_file_of_the_package(names: set[str]) -> None:
    files = {path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert {path.suffix for path in files} >= {".py", ".yaml", ".typed"}
    assert {name for name in names if ".dist-info/" not in name} == {
        path.relative_to(PACKAGE.parent).as_posix() for path in files
    }


def test_hydra_can_search_every_folder_of_presets() -> None:
    """Hydra 1.4 finds `pkg://` groups only in folders that are packages."""
    folders = {path.parent for path in (PACKAGE / "presets").rglob("*.yaml")}
    assert folders
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_the_metadata_says_what_installers_ask(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (info,) = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
        metadata = HeaderParser().parsestr(archive.read(f"{info}/METADATA").decode())
        entry_points = archive.read(f"{info}/entry_points.txt").decode()
        licence = archive.read(f"{info}/licenses/LICENSE").decode()
    assert metadata["Name"] == "assembler"
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "MIT"
    assert "assemble = assembler.cli.main:main" in entry_points
    assert licence == (ROOT / "LICENSE").read_text()


@pytest.mark.slow
def test_the_installed_version_is_that_of_the_wheel(installed: Environment, wheel: Path, tmp_path: Path) -> None:
    assert succeed([installed.assemble, "--version"], tmp_path).split()[-1] == wheel.name.split("-")[1]


@pytest.mark.slow
def test_an_agent_runs_from_another_folder(installed: Environment, echo: Path) -> None:
    answer = succeed([installed.assemble, "run", "conf=agent", "-i", "good morning"], echo)
    assert answer == "You said: good morning\n"


@pytest.mark.slow
def test_events_can_be_read_by_programs(installed: Environment, echo: Path) -> None:
    lines = succeed([installed.assemble, "run", "conf=agent", "--json", "-i", "good morning"], echo).splitlines()
    result = json.loads(lines[-1])
    assert (result["type"], result["status"], result["output_text"]) == (
        "result",
        "completed",
        "You said: good morning",
    )


@pytest.mark.slow
def test_packaged_presets_can_be_chosen_by_override(installed: Environment, echo: Path) -> None:
    done = run([installed.assemble, "run", "conf=agent", "approval=unattendet", "-i", "x"], echo)
    assert done.returncode == 2
    assert "unattended" in done.stderr
    assert "Traceback" not in done.stderr
