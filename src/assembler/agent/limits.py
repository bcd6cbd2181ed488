"""Where a run ends, whatever the model wants."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from assembler.components import Config
from assembler.quantities import Duration, Size


class Limits(Config):
    """What one run may use."""

    turns: int = Field(default=20, ge=1)
    """Requests to the model."""
    tool_calls: int = Field(default=100, ge=0)
    """Calls of tools."""
    repeated_failures: int = Field(default=3, ge=1)
    """Failing calls of one tool in a row."""
    timeout: Duration = timedelta(minutes=10)
    """Time on the clock, approvals included."""
    parallel_tool_calls: int = Field(default=8, ge=1)
    """Calls of one turn that run side by side."""
    tool_output: Size = 64 * 1024
    """Characters of a tool's output that go to the model; what is cut from its middle is told."""
