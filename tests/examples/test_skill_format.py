"""The example skills keep the rules of the Agent Skills specification (agentskills.io/specification)."""

from __future__ import annotations

import re
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

SKILLS = Path(__file__).resolve().parents[2] / "skills"
NAMES = sorted(path.name for path in SKILLS.iterdir() if path.is_dir())
SCRIPTS = sorted(path.relative_to(SKILLS).as_posix() for path in SKILLS.glob("*/scripts/*"))
FIELDS = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}


def parts(name: str) -> tuple[dict[str, Any], str]:
    text = (SKILLS / name / "SKILL.md").read_text(encoding="utf-8")
    match = re.fullmatch(r"---\n(.*?)\n---\n(.*)", text, re.DOTALL)
    assert match, "frontmatter between two lines of three dashes, then the body"
    return yaml.safe_load(match[1]), match[2]


def test_the_skills_are_there() -> None:
    assert {"csv-profile", "date-math", "incident-report", "unit-converter"} <= set(NAMES)
    assert {
        "csv-profile/scripts/csv_profile.py",
        "date-math/scripts/date_math.py",
        "unit-converter/scripts/convert.py",
    } <= set(SCRIPTS)


@pytest.mark.parametrize("name", NAMES)
def test_frontmatter_keeps_the_rules(name: str) -> None:
    frontmatter, _ = parts(name)
    assert set(frontmatter) <= FIELDS
    assert frontmatter["name"] == name
    assert len(name) <= 64
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    assert 1 <= len(frontmatter["description"]) <= 1024
    assert "\n" not in frontmatter["description"].strip()
    assert " Use " in frontmatter["description"], "says when, not only what"
    assert frontmatter["license"] == "MIT"
    assert 1 <= len(frontmatter.get("compatibility", "any")) <= 500
    assert all(isinstance(text, str) for pair in frontmatter["metadata"].items() for text in pair)


@pytest.mark.parametrize("name", NAMES)
def test_body_is_short_enough_to_load(name: str) -> None:
    _, body = parts(name)
    assert len(body.splitlines()) < 500
    assert len(body) < 4 * 5000, "5000 tokens of about four characters"


@pytest.mark.parametrize("name", NAMES)
def test_every_file_is_named_by_the_body_and_every_link_leads_to_one(name: str) -> None:
    folder = SKILLS / name
    _, body = parts(name)
    links = set(re.findall(r"\]\(([^)#]+)\)", body))
    assert {link for link in links if not (folder / link).is_file()} == set()
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    private = {file for file in files if file.startswith("lib/")}
    assert {file for file in files - private - {"SKILL.md"} if file not in body} == set()


@pytest.mark.parametrize("name", NAMES)
def test_nothing_needs_an_executable_bit_or_a_link(name: str) -> None:
    for path in (SKILLS / name).rglob("*"):
        assert not path.is_symlink()
        assert path.is_dir() or not path.stat().st_mode & stat.S_IXUSR
        assert "__pycache__" not in path.parts


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_is_no_module_of_the_standard_library(script: str) -> None:
    folder = SKILLS / script.split("/", maxsplit=1)[0]
    modules = {path.stem for path in folder.rglob("*.py")}
    assert modules & sys.stdlib_module_names == set()


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_tells_the_options(script: str, run_script: Callable[..., Any]) -> None:
    skill, _, path = script.partition("/")
    done = run_script(skill, path, ["--help"])
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"usage: {Path(script).name}")


@pytest.mark.parametrize(
    ("script", "arguments"),
    [
        ("unit-converter/scripts/convert.py", ["--value=1", "--from=mi", "--to=km"]),
        ("csv-profile/scripts/csv_profile.py", ["--file=a.csv"]),
        ("date-math/scripts/date_math.py", ["week", "2026-01-01"]),
    ],
)
def test_a_script_runs_from_anywhere_and_leaves_its_skill_alone(
    script: str, arguments: list[str], tmp_path: Path, scratch: Path, run_script: Callable[..., Any]
) -> None:
    skill, _, path = script.partition("/")
    root = tmp_path / "some where é"
    shutil.copytree(SKILLS / skill, root / skill)
    for folder in [root, *root.rglob("*")]:
        folder.chmod(0o555 if folder.is_dir() else 0o444)
    before = {file: file.stat().st_mtime_ns for file in root.rglob("*")}
    (scratch / "inputs" / "a.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    first, second = (run_script(skill, path, arguments, root=root) for _ in range(2))
    assert (first.code, first.err) == (0, "")
    assert first == second
    assert {file: file.stat().st_mtime_ns for file in root.rglob("*")} == before
    assert sorted(file.name for file in scratch.rglob("*")) == ["a.csv", "inputs"]


def command_lines() -> list[Any]:
    found = [(name, line) for name in NAMES for line in re.findall(r"python (scripts/[^`\n]+)", parts(name)[1])]
    return [pytest.param(name, line, id=line[:40]) for name, line in found]


@pytest.mark.parametrize(("name", "line"), command_lines())
def test_command_lines_in_the_body_run(name: str, line: str, scratch: Path) -> None:
    for asset in (SKILLS / name).glob("assets/*"):
        shutil.copy(asset, scratch / "inputs")
    done = subprocess.run(
        [sys.executable, "-B", *shlex.split(line)],
        cwd=SKILLS / name,
        env={"PATH": "/usr/bin:/bin", "SCRATCH_DIR": str(scratch)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout
