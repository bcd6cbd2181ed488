"""A call that waits for an answer, and the answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Literal, cast

from assembler.digests import digest_json
from assembler.tools.base import CallFacts
from assembler.values import JSON, to_json


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """A question to a person: may this call go ahead?

    Attributes:
        call_id: The model's call.
        facts: What it would do; a copy, so that whoever is asked cannot change what runs.
        runner: The declared runner, which says what would confine it.
        rule: The rule that asks; None for the policy's default.
        digest: What an answer is bound to: tool, skill and its content, script, arguments and declared isolation.
    """

    call_id: str
    facts: CallFacts
    runner: JSON
    rule: str | None
    digest: str

    @classmethod
    def of(cls, call_id: str, facts: CallFacts, runner: JSON, rule: str | None) -> ApprovalRequest:
        """The request for a call as it is now."""
        arguments = cast("dict[str, JSON]", to_json(facts.arguments))
        match = facts.match
        digest = digest_json(
            {
                "tool": match.tool,
                "skill": match.skill,
                "script": match.script,
                "source": match.source,
                "arguments": arguments,
                "digests": to_json(dict(facts.digests)),
                "runner": runner,
            }
        )
        return cls(call_id, replace(facts, arguments=arguments), runner, rule, digest)

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


Approver = Callable[[ApprovalRequest], Awaitable[Answer] | Answer]
"""Whoever can be asked while the run waits; one that is not async is asked in a thread."""
