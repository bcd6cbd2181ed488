"""A kind changed by value keeps what the option had said for the other kind, which the error explains."""

from __future__ import annotations

from pathlib import Path

import pytest

from assembler import AssemblerError, assemble


@pytest.mark.parametrize(
    ("override", "key", "hint"),
    [
        ("model={kind: openai, name: gpt-6}", "model.turns", "a key of the kind `scripted`"),
        ("model.kind=openai", "model.turns", "choose an option: `model=...`"),
        ("model.base_url='http://127.0.0.1:1'", "model.base_url", "a key of the kind `openai`"),
        ("runner={kind: subprocess, isolation: require}", "runner.isolation", "choose an option: `runner=...`"),
        ("runner.isolatoin=prefer", "runner.isolatoin", "did you mean `isolation`?"),
    ],
)
def test_a_leftover_key_says_whose_it_is_and_how_a_kind_is_chosen(
    echo: Path, override: str, key: str, hint: str
) -> None:
    with pytest.raises(AssemblerError) as caught:
        assemble("agent", [override])
    hints = {found.message: found.hint for found in caught.value.diagnostics}
    assert hint in hints[f"there is no key `{key}`"]
