"""Which tool calls go ahead, which ask first, and which never happen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from assembler.components import Config, Entry, Named
from assembler.matching import Facts, Match

Action = Literal["allow", "ask", "deny"]


class Rule(Match, Entry):
    """What happens to the calls that it matches."""

    action: Action
    """`allow` goes ahead, `ask` waits for an answer, `deny` never happens."""

    @model_validator(mode="after")
    def _says_which_calls(self) -> Rule:
        if self.is_empty:
            raise PydanticCustomError(
                "approval/empty-rule", "expected at least one of `tools`, `skills`, `scripts`, `sources`, `tags`"
            )
        return self


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a policy says of a call.

    Attributes:
        action: What happens.
        rule: Name of the rule that decided; None for the default.
    """

    action: Action
    rule: str | None = None


class Approval(Config):
    """A matching `deny` wins wherever it stands; otherwise the first match in order; otherwise the default."""

    default: Action = "ask"
    """What happens to a call that no rule matches."""
    rules: Named[Rule] = {}
    """Rules by name."""

    def may_allow(self, tool: str) -> bool:
        """Whether some call of a tool could go ahead without anybody being asked.

        Args:
            tool: The tool's name.
        """
        allowing = [rule for rule in self.rules.values() if rule.action == "allow"]
        return self.default == "allow" or any(rule.is_about(tool) for rule in allowing)

    def decide(self, facts: Facts) -> Verdict:
        """What happens to a call.

        Args:
            facts: The call: its tool, and the skill, script and source that it concerns.
        """
        matching = [(name, rule) for name, rule in self.rules.items() if rule.matches(facts)]
        denying = [entry for entry in matching if entry[1].action == "deny"]
        for name, rule in denying or matching:
            return Verdict(rule.action, name)
        return Verdict(self.default)
