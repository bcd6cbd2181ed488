"""The floors that imports go down: pyproject.toml names them for import-linter, and every module stands on one."""

import graphlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("assembler", cache_dir=None)


@pytest.fixture(scope="module")
def floors() -> list[set[str]]:
    """The modules that each layer names, highest layer first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = (contract["layers"] for contract in settings["contracts"] if contract["type"] == "layers")
    return [set(re.findall(r"[\w.]+", layer)) for layer in layers]


def test_imports_go_down() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_module_stands_on_a_floor(graph: grimp.ImportGraph, floors: list[set[str]]) -> None:
    named = set().union(*floors)

    def stands(module: str) -> bool:
        parts = module.split(".")
        return any(".".join(parts[:end]) in named for end in range(1, len(parts) + 1))

    def has_rooms(module: str) -> bool:
        return any(name.startswith(module + ".") for name in named)

    homeless = {module for module in graph.modules if not stands(module) and not has_rooms(module)}
    assert not homeless, f"name these in a layer of [tool.importlinter]: {sorted(homeless)}"


def test_a_package_that_spans_floors_is_empty(graph: grimp.ImportGraph, floors: list[set[str]]) -> None:
    """Its code would stand on no floor, and importing one module of it would load others."""
    named = set().union(*floors)
    spanning = {
        module
        for module in graph.modules - named - {"assembler"}
        if any(name.startswith(module + ".") for name in named)
    }
    assert spanning, "the rule has nothing to check: have the packages moved?"
    filled = {module for module in spanning if (ROOT / "src" / Path(*module.split("."), "__init__.py")).read_text()}
    assert not filled


def test_no_import_goes_in_a_circle(graph: grimp.ImportGraph) -> None:
    """Layers let the modules of one layer import each other, and so cannot see a circle inside it."""
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules - {"assembler"}}
    graphlib.TopologicalSorter(imports).prepare()
