"""The example agent `support` on real models, as a user starts it: each against a server on this machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.models import chat
from tests.models.chat import piece
from tests.models.loopback import call, message, serve, stream

ROOT = Path(__file__).parents[2]
LOAD = {"skill_name": "unit-converter"}
SCRIPT = {
    "skill_name": "unit-converter",
    "script_name": "scripts/convert.py",
    "arguments": '{"value": 100, "from": "F", "to": "C"}',
}
ANSWERS = {
    "openai": [
        stream(call("load_skill", LOAD)),
        stream(call("run_skill_script", SCRIPT, "call_2")),
        stream(message("100 °F are 37.8 °C.")),
    ],
    "openai_chat": [
        chat.load("unit-converter"),
        chat.calls(piece(0, "call_2", "run_skill_script", json.dumps(SCRIPT))),
        chat.text("100 °F are ", "37.8 °C."),
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("conf", "skills"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.mark.parametrize("kind", list(ANSWERS))
def test_the_support_agent_on_a_real_model(kind: str, folder: Path) -> None:
    with serve(ANSWERS[kind]) as server:
        command = ["run", "conf=support", f"model={kind}", f"model.base_url={server.url}", "runner.isolation=prefer"]
        done = assemble(folder, *command, "-i", "How warm is 100 F?")
    assert (done.returncode, done.stdout) == (0, "100 °F are 37.8 °C.\n"), done.stderr
    assert "script unit-converter/scripts/convert.py done" in done.stderr
    assert {headers["authorization"] for headers in server.headers} == {"Bearer a-key-of-this-test"}
    assert "a-key-of-this-test" not in done.stderr
    assert len(server.requests) == 3
    said = json.dumps(server.requests[-1])
    assert "37.7778" in said
    tools: list[Any] = server.requests[0]["tools"]
    functions = [tool.get("function", tool) for tool in tools]
    assert {function["name"]: function["strict"] for function in functions} == {
        "load_skill": True,
        "read_skill_resource": True,
        "run_skill_script": True,
    }


def assemble(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "assembler.cli.main", *arguments]
    env = {**os.environ, "OPENAI_API_KEY": "a-key-of-this-test"}
    return subprocess.run(
        command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
    )
