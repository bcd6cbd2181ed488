"""`assemble` as a Python user calls it, wrongly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assembler import AssemblerError, assemble


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["agent", "env=prod"], "`overrides` is a list of texts, not str"),
        (["agent", None], "not NoneType"),
        (["agent", {"a": 1}], "not dict"),
        (["agent", [5]], "an override is a text, not int"),
        (["agent", [b"a=b"]], "not bytes"),
        (["agent", [Path("a=b")]], "an override is a text"),
        ([None], "not NoneType"),
        ([{"name": "x"}], "not dict"),
        ([7], "not int"),
    ],
)
def test_a_wrong_call_is_told(echo: Path, arguments: list[Any], told: str) -> None:
    with pytest.raises(AssemblerError) as caught:
        assemble(*arguments)
    (found,) = caught.value.diagnostics
    assert found.code == "agent/bad-call"
    assert told in found.message


def test_overrides_of_an_agent_made_in_python_are_refused(echo: Path) -> None:
    config = assemble("agent").config
    assert assemble(config).config is config
    with pytest.raises(AssemblerError, match="agent/bad-call"):
        assemble(config, ["limits.turns=5"])


def test_a_path_object_names_a_configuration(echo: Path) -> None:
    assert assemble(echo / "conf/agent.yaml").name == "agent"
