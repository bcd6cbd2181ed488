"""Where a run ends, whatever the model wants."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from pydantic import Field

from assembler.components import Config
from assembler.quantities import Duration, Size


class Limits(Config):
    """What one run may use."""

    turns: int = Field(default=20, ge=1)
    """Requests to the model."""
    tokens: int | None = Field(default=None, ge=1)
    """Tokens of all requests together, asked and answered, as the provider counts them; None for no limit. The answer
    that reaches it is kept, and what it calls is not run."""
    tool_calls: int = Field(default=100, ge=0)
    """Calls of tools."""
    repeated_failures: int = Field(default=3, ge=1)
    """Turns in a row in which every call failed, whatever its tool: it was refused, did not fit, raised, or ended with
    an exit code other than 0."""
    timeout: Duration = timedelta(minutes=10)
    """Time on the clock, approvals included."""
    parallel_tool_calls: int = Field(default=8, ge=1)
    """Calls of one turn that run side by side."""
    tool_output: Size = 64 * 1024
    """Characters of a tool's output that go to the model; what is cut from its middle is told."""


def tokens_of(usage: Mapping[str, int]) -> int | None:
    """How many tokens a request took, by what the provider says of it; None where it says nothing."""
    parts = [usage[name] for name in ("input_tokens", "output_tokens") if name in usage]
    return usage.get("total_tokens", sum(parts) if parts else None)
