"""Where kinds are found: the table, what is installed, and never what a project brings along."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from pydantic import ValidationError
from tests.python.importable import importable, key, trusting, write

from assembler import Skills
from assembler.components import BuildContext
from assembler.errors import AssemblerError
from assembler.kinds import find_kind
from assembler.python.refs import load
from assembler.skills.sources.base import SkillSource

CODE = """\
    from assembler.skills.sources.base import SkillSource

    class Greetings(SkillSource, kind="greetings"):
        async def list_skills(self, context): return []
    """


HOLDER = """\
    from assembler.skills.sources.base import SkillSource

    class Holder(SkillSource, kind="holder"):
        inner: SkillSource
        async def list_skills(self, context): return []
    """


def distribution(name: str, module: str) -> dict[str, str]:
    """What an installer writes of a distribution that provides the kind `greetings`."""
    info = f"{name}-1.0.dist-info"
    return {
        f"{module}.py": CODE,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/entry_points.txt": f"[assembler.sources]\ngreetings = {module}:Greetings\n",
    }


@pytest.fixture
def project(tmp_path: Path) -> Generator[Path]:
    """A project on Python's path that brings along what looks like an installed distribution."""
    with importable(tmp_path / "project", distribution("greetings", "greetings_here")) as folder:
        yield folder


def test_a_kind_of_a_distribution_is_found(project: Path) -> None:
    assert find_kind("sources", "greetings").kind == "greetings"
    assert find_kind("sources", "greetings", project / "elsewhere").kind == "greetings"


def test_a_project_provides_no_kinds(project: Path) -> None:
    with pytest.raises(AssemblerError) as caught:
        find_kind("sources", "greetings", project)
    (told,) = caught.value.diagnostics
    assert told.code == "component/unknown-kind"
    assert "greetings_here:Greetings" in told.hint
    assert "greetings_here" not in sys.modules


def test_links_do_not_make_it_another_project(project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    for outside in (tmp_path / "link", tmp_path / "link" / ".." / "project"):
        with pytest.raises(AssemblerError):
            find_kind("sources", "greetings", outside)


def test_a_project_does_not_hide_what_is_installed(project: Path, tmp_path: Path) -> None:
    write(tmp_path / "site", distribution("greetings", "greetings_there"))
    sys.path.append(str(tmp_path / "site"))
    try:
        assert find_kind("sources", "greetings", project).__module__ == "greetings_there"
    finally:
        sys.path.remove(str(tmp_path / "site"))
        del sys.modules["greetings_there"]


def test_what_is_installed_inside_of_the_project_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the project's own `.venv`; here it is the user's folder for packages that lies in the project."""
    monkeypatch.setenv("PYTHONUSERBASE", str(tmp_path / ".local"))
    program = "import site; print(site.getusersitepackages())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    write(Path(done.stdout.strip()), distribution("greetings", "greetings_there"))
    program = f"""
import site, sys
from pathlib import Path
from assembler.kinds import find_kind
from assembler.python.refs import load
sys.path.append(site.getusersitepackages())
print(find_kind("sources", "greetings", Path({str(tmp_path)!r})).__module__)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "greetings_there\n"


def test_options_of_a_python_class_name_no_kinds_of_the_project(project: Path) -> None:
    write(project, {"holder.py": HOLDER})
    source = {"kind": "python", "target": "holder:Holder", "options": {"inner": {"kind": "greetings"}}}
    declared = Skills.model_validate({"sources": {"x": source}})
    with pytest.raises(AssemblerError) as caught:
        load(declared, is_trusted=trusting("holder"), where=key)
    assert [(told.code, str(told.where)) for told in caught.value.diagnostics] == [
        ("component/unknown-kind", "sources.x.options.inner")
    ]
    assert "greetings_here" not in sys.modules


def test_a_configuration_says_whose_project_it_is(project: Path) -> None:
    data = {"sources": {"hello": {"kind": "greetings"}}}
    assert Skills.model_validate(data).sources["hello"].kind == "greetings"
    with pytest.raises(ValidationError) as caught:
        Skills.model_validate(data, context=BuildContext(project=project))
    assert [error["type"] for error in caught.value.errors()] == ["component/unknown-kind"]
    assert SkillSource.of_kind("greetings").kind == "greetings"
