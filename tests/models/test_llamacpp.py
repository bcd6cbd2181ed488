"""The example agent `support` on a real server: llama.cpp's, from the wheel `xllamacpp`, with a model that calls tools.

``ASSEMBLE_TEST_GGUF`` names the file of an instruct model; without it one is made that knows what it has to say.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

pytest.importorskip("xllamacpp", reason="llama.cpp's server is not installed: pip install xllamacpp")

pytestmark = pytest.mark.timeout(900)  # a model of some size is slow on a small machine

ROOT = Path(__file__).parents[2]
LOADING = 180
"""Seconds that a large model may take to load."""

SERVER = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx, params.n_predict, params.warmup = 16384, 512, False
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
"""Serves at a free port of this machine until its input ends, and so no longer than the tests."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if given := os.environ.get("ASSEMBLE_TEST_GGUF"):
        return Path(given)
    pytest.importorskip("gguf", reason="no model: set ASSEMBLE_TEST_GGUF, or have one made: pip install gguf")
    from tests.models import tiny_model

    made = tmp_path_factory.mktemp("model") / "tiny.gguf"
    tiny_model.write(made)
    return made


@pytest.fixture(scope="module")
def url(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("log") / "server.log"
    command = [sys.executable, "-I", "-c", SERVER, str(model)]
    pipe = subprocess.PIPE
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, text=True) as process,
    ):
        late = Timer(LOADING, process.kill)
        late.start()
        assert process.stdout is not None
        found = next((line.strip() for line in process.stdout if line.startswith("http")), "")
        late.cancel()
        try:
            assert found, log.read_text()
            yield f"{found}/v1"
        finally:
            process.kill()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("conf", "skills"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("preset", ["llamacpp", "openai_chat", "openai"])
def test_the_support_agent_calls_a_tool(preset: str, stream: bool, url: str, folder: Path) -> None:
    settings = {
        "name": "any",
        "base_url": url,
        "api_key": "null",
        "temperature": 0,
        "retries": 0,
        "stream": str(stream).lower(),
    }
    command = ["run", "conf=support", f"model={preset}", *(f"model.{key}={value}" for key, value in settings.items())]
    said = "Load the skill unit-converter. Then say in one word that you did, without running anything."
    done = assemble(folder, *command, "runner.isolation=prefer", "--json", "-i", said)
    assert done.returncode == 0, done.stdout + done.stderr
    events: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["skill"] for event in events if event["type"] == "assembler.skill.loaded"] == ["unit-converter"]
    assert not [event for event in events if event.get("failed")]
    result = events[-1]
    assert result["status"] == "completed"
    assert result["output_text"]
    assert result["usage"]["output_tokens"] > 0


def assemble(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-m", "assembler.cli.main", *arguments]
    return subprocess.run(
        command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False
    )
