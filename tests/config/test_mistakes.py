"""The mistakes that people make: each is told once, at its place, with what was most likely meant.

The cases stand in `mistakes/`: files laid over the project below, overrides, and everything that is told.
"""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

from assembler import AssemblerError, assemble
from assembler.cli import arguments as command_line
from assembler.config.library import PRESETS as PACKAGE

PRESETS = Path(str(files(PACKAGE)))

BASE = {
    "conf/agent.yaml": "defaults: [{model: echo}, {skills: units}, _self_]\n",
    "conf/model/echo.yaml": "kind: scripted\nturns: {echo: {text: hello}}\n",
    "conf/model/gpt.yaml": "defaults: [openai, _self_]\nname: gpt-6\n",
    "conf/skills/units.yaml": "sources:\n  units: {kind: files, paths: [skills]}\n",
    "conf/env/prod.yaml": "# @package _global_\nlimits: {turns: 7}\n",
}


NO_VALUE = {"config/bad-yaml", "config/too-large", "config/unreadable"}
"""What is not about a value."""

CASES = {
    f"{file.stem}: {case['name']}": case
    for file in sorted((Path(__file__).parent / "mistakes").glob("*.yaml"))
    for case in yaml.safe_load(file.read_text("utf-8"))
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_mistake_is_told_once_at_its_place(project: Any, case: dict[str, Any]) -> None:
    folder: Path = project(BASE)
    for name, text in case.get("files", {}).items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode(case.get("encoding", "utf-8")))
    for name, target in case.get("links", {}).items():
        (folder / name).symlink_to(target)
    with pytest.raises(AssemblerError) as caught:
        assemble(case.get("conf", "agent"), case.get("overrides", []))
    told = [
        {"where": str(found.where), "code": found.code, "message": found.message, "hint": found.hint}
        for found in caught.value.diagnostics
    ]
    assert told == [{"hint": "", **expected} for expected in case["told"]]
    assert "\n" not in "".join(found["message"] + found["hint"] for found in told)
    assert "sk-123" not in str(caught.value)


def test_two_configurations_on_a_command_line() -> None:
    with pytest.raises(AssemblerError) as caught:
        command_line.parse(command_line.parser("run", "", ""), ["agent", "env=prod", "conf=other"])
    (found,) = caught.value.diagnostics
    assert found.code == "cli/two-confs"
    assert found.message == "several configurations are named: `agent`, `other`"


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_stands_at_a_place_is_a_key_or_a_value(case: dict[str, Any]) -> None:
    """The table itself, also the places that a message names besides its own."""
    presets = {f"preset {path.relative_to(PRESETS)}": path.read_text("utf-8") for path in PRESETS.glob("*/*.yaml")}
    texts = {**presets, **BASE, **case.get("files", {})}
    for told in case["told"]:
        said = " ".join([told["where"] * (told["code"] not in NO_VALUE), told["message"], told.get("hint", "")])
        for file, line, column in re.findall(r"((?:preset )?[\w/]+\.yaml):(\d+):(\d+)", said):
            text = texts[file].splitlines()[int(line) - 1]
            before, after = text[: int(column) - 1], text[int(column) - 1 :]
            assert after[:1].strip()
            assert not before or before[-1] in " {[-"
