"""Each call shown in a SKILL.md gives the output shown after it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SKILLS = Path(__file__).resolve().parents[2] / "skills"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def examples() -> Iterator[Any]:
    for path in sorted(SKILLS.glob("*/SKILL.md")):
        call = None
        for language, text in FENCE.findall(path.read_text(encoding="utf-8")):
            if language == "json":
                assert call is None, "a call without the output that it gives"
                call = json.loads(text)
            elif language == "text":
                assert call is not None, "an output without its call"
                yield pytest.param(call, text, id=f"{path.parent.name}: {json.dumps(call['arguments'])[:50]}")
                call = None
        assert call is None


def test_every_skill_with_scripts_shows_a_call() -> None:
    shown = {(case.values[0]["skill_name"], case.values[0]["script_name"]) for case in examples()}
    assert shown == {(path.parts[-3], f"scripts/{path.name}") for path in SKILLS.glob("*/scripts/*.py")}


@pytest.mark.parametrize(("call", "output"), list(examples()))
def test_calls_give_the_output_shown(
    call: dict[str, Any], output: str, scratch: Path, run_script: Callable[..., Any]
) -> None:
    for asset in (SKILLS / call["skill_name"]).glob("assets/*"):
        shutil.copy(asset, scratch / "inputs")
    done = run_script(call["skill_name"], call["script_name"], call["arguments"])
    assert (done.code, done.err) == (0, "")
    assert done.out == output
