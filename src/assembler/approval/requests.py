"""A call that waits for an answer, and the answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from assembler.digests import digest_json
from assembler.tools.base import CallFacts
from assembler.values import JSON, to_json


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A question to a person: may this call go ahead?

    Attributes:
        call_id: The model's call.
        facts: What it would do.
        runner: The declared runner, which says what would confine it.
        rule: The rule that asks; None for the policy's default.
    """

    call_id: str
    facts: CallFacts
    runner: JSON
    rule: str | None = None

    @property
    def digest(self) -> str:
        """What an answer is bound to: tool, skill and its content, script, arguments and declared isolation."""
        match = self.facts.match
        return digest_json(
            {
                "tool": match.tool,
                "skill": match.skill,
                "script": match.script,
                "source": match.source,
                "arguments": to_json(self.facts.arguments),
                "digests": to_json(dict(self.facts.digests)),
                "runner": self.runner,
            }
        )

    def to_json(self) -> dict[str, JSON]:
        """What an event carries."""
        match = self.facts.match
        return {
            "call_id": self.call_id,
            "tool": match.tool,
            "skill": match.skill or None,
            "script": match.script or None,
            "arguments": to_json(self.facts.arguments),
            "runs": self.facts.runs or None,
            "rule": self.rule,
            "digest": self.digest,
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person says to a request.

    Attributes:
        decision: Whether the stored call goes ahead.
        digest: The request's; an answer to anything else counts as a denial.
        reason: Told to the model when it is denied.
    """

    decision: Literal["approve", "deny"]
    digest: str
    reason: str = ""


Approver = Callable[[ApprovalRequest], Awaitable[Answer]]
"""Whoever can be asked while the run waits."""
