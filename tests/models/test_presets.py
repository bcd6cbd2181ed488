"""The presets of models: each composes, names a server and its strict mode, and asks for nothing that is not known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assembler import AssemblerError, assemble
from assembler.config.consent import Terms
from assembler.config.load import load
from assembler.powers import is_loopback
from assembler.presets import known
from assembler.presets.known import KNOWN, KNOWN_SECRETS

PRESETS = sorted(path.stem for path in Path(known.__file__).with_name("model").glob("*.yaml"))
AZURE = "https://mine.openai.azure.com/openai/v1"

DECLARED = {
    "anthropic": ("openai_chat", "https://api.anthropic.com/v1", "none", "ANTHROPIC_API_KEY"),
    "azure": ("openai", AZURE, "azure", "AZURE_OPENAI_API_KEY"),
    "gemini": ("openai_chat", "https://generativelanguage.googleapis.com/v1beta/openai", "none", "GEMINI_API_KEY"),
    "llamacpp": ("openai_chat", "http://127.0.0.1:8080/v1", "none", None),
    "ollama": ("openai_chat", "http://127.0.0.1:11434/v1", "none", None),
    "openai": ("openai", "https://api.openai.com/v1", "openai", "OPENAI_API_KEY"),
    "openai_chat": ("openai_chat", "https://api.openai.com/v1", "openai", "OPENAI_API_KEY"),
    "vllm": ("openai_chat", "http://127.0.0.1:8000/v1", "vllm", None),
}


def test_every_preset_is_looked_at() -> None:
    assert list(DECLARED) == PRESETS


@pytest.fixture(params=PRESETS)
def preset(request: pytest.FixtureRequest, project: Any) -> str:
    extended = f"defaults: [{request.param}, _self_]\nname: some-model\n"
    extended += f"base_url: {AZURE}\n" if request.param == "azure" else ""
    project({"conf/agent.yaml": "defaults: [{model: mine}, _self_]\n", "conf/model/mine.yaml": extended})
    return request.param


def open_powers() -> list[str]:
    """What nobody agreed to, and no preset is known for."""
    demands = load("agent", (), terms=Terms()).consent().demands
    return [str(demand.power) for demand in demands if demand.standing == "open"]


def test_a_preset_is_what_it_says(preset: str) -> None:
    kind, url, dialect, variable = DECLARED[preset]
    model: Any = assemble("agent", trust=True).config.model
    assert (model.kind, model.base_url, model.dialect, model.name) == (kind, url, dialect, "some-model")
    assert model.model_dump(mode="json")["api_key"] == (variable and f"secret://env/{variable}")


def test_a_preset_asks_for_what_is_known(preset: str) -> None:
    asked = open_powers()
    if preset == "azure":
        origin = "https://mine.openai.azure.com"
        assert asked == [
            f"sends the conversation to {origin}",
            f"sends the secret env/AZURE_OPENAI_API_KEY to {origin}",
        ]
    else:
        assert asked == []


def test_known_is_what_the_presets_name_and_no_more() -> None:
    secrets = {f"env/{variable}" for _, _, _, variable in DECLARED.values() if variable}
    assert secrets == KNOWN_SECRETS
    named = {
        (f"env/{variable}", "/".join(url.split("/")[:3]))
        for _, url, _, variable in DECLARED.values()
        if variable and url != AZURE
    }
    assert named == KNOWN
    assert all(
        is_loopback(url.split("/")[2].partition(":")[0]) for _, url, _, variable in DECLARED.values() if not variable
    )


def test_what_a_preset_leaves_open_is_asked_for(project: Any) -> None:
    project({"conf/agent.yaml": "defaults: [{model: azure}, _self_]\n"})
    with pytest.raises(AssemblerError) as caught:
        assemble("agent")
    told = {found.message for found in caught.value.diagnostics}
    assert told == {"`model.base_url` has to be given", "`model.name` is required"}


def test_the_address_of_a_known_key_is_agreed_to_by_typing_it(project: Any) -> None:
    project({"conf/agent.yaml": "defaults: [{model: azure}, _self_]\n"})
    overrides = ["model.name=x", f"model.base_url={AZURE}"]
    demands = load("agent", overrides, terms=Terms(is_typed=True)).consent().demands
    assert [demand.standing for demand in demands] == ["typed", "typed"]


def test_one_providers_key_for_another_is_asked_about(project: Any) -> None:
    body = "defaults: [{model: anthropic}, _self_]\nmodel: {name: x, api_key: '${secret:env,OPENAI_API_KEY}'}\n"
    project({"conf/agent.yaml": body})
    assert "sends the secret env/OPENAI_API_KEY to https://api.anthropic.com" in open_powers()
