"""The model `scripted`: which turn it plays."""

from __future__ import annotations

import time
from typing import Any

import pytest
from pydantic import ValidationError

from assembler import Agent, AgentConfig


def answer(pattern: str, text: str) -> str:
    turns: dict[str, Any] = {"fits": {"when": {"input": pattern}, "text": "fits"}, "else": {"text": "does not"}}
    config = {"name": "a", "model": {"kind": "scripted", "turns": turns}}
    return Agent(AgentConfig.model_validate(config)).run_sync(text).output_text


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("needle", "a NEEDLE here", "fits"),
        ("^needle$", "a needle", "does not"),
        ("needle", "x" * 9_994 + "needle", "fits"),
        ("needle", "x" * 9_995 + "needle", "does not"),
    ],
)
def test_a_pattern_is_searched_in_the_beginning_of_the_input(pattern: str, text: str, expected: str) -> None:
    assert answer(pattern, text) == expected


def test_a_long_input_does_not_stall_a_slow_pattern() -> None:
    started = time.process_time()
    assert answer("a+b", "a" * 1_000_000) == "does not"
    assert time.process_time() - started < 10


@pytest.mark.parametrize("pattern", ["(", "a{99999999999}", "(?P<n>a)(?P<n>b)", "(" * 5000 + ")" * 5000])
def test_what_is_no_pattern_is_told_at_its_key(pattern: str) -> None:
    with pytest.raises(ValidationError, match="model/bad-pattern"):
        answer(pattern, "a")
