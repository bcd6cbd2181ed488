"""Policies: which calls go ahead."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from assembler import Approval, Rule, assemble
from assembler.approval.policy import Verdict
from assembler.matching import Facts

LOAD = Facts(tool="load_skill", skill="units", source="local")
READ = Facts(tool="read_skill_resource", skill="units", source="local")
RUN = Facts(tool="run_skill_script", skill="units", script="scripts/convert.py", source="local")
OTHER = Facts(tool="send_mail", source="mail")


@pytest.mark.parametrize(
    ("policy", "load", "run", "other"),
    [
        ("ask_scripts", "allow", "ask", "ask"),
        ("ask_everything", "ask", "ask", "ask"),
        ("unattended", "allow", "allow", "allow"),
        ("read_only", "allow", "deny", "deny"),
    ],
)
def test_the_shipped_policies(echo: Any, policy: str, load: str, run: str, other: str) -> None:
    approval = assemble("agent", [f"approval={policy}"]).config.approval
    assert [approval.decide(facts).action for facts in (LOAD, READ, RUN, OTHER)] == [load, load, run, other]


@pytest.mark.parametrize("policy", ["ask_scripts", "ask_everything", "unattended"])
def test_a_users_rule_wins_over_a_shipped_one(echo: Any, policy: str) -> None:
    rules = [
        "approval.rules.mine={tools: [load_skill], action: ask}",
        "approval.rules.run={scripts: [units/*], action: allow}",
    ]
    approval = assemble("agent", [f"approval={policy}", *rules]).config.approval
    assert approval.decide(LOAD) == Verdict("ask", "mine")
    assert approval.decide(RUN) == Verdict("allow", "run")


def test_no_rule_loosens_read_only(echo: Any) -> None:
    rule = "approval.rules.mine={tools: ['*'], action: allow, order: -1000}"
    approval = assemble("agent", ["approval=read_only", rule]).config.approval
    assert approval.decide(RUN).action == "deny"
    assert approval.decide(OTHER) == Verdict("deny", "everything_else")


def test_a_denial_wins_then_order_then_the_default() -> None:
    approval = Approval(
        default="ask",
        rules={
            "later": Rule(tools=("send_*",), action="ask", order=5),
            "first": Rule(sources=("mail",), action="allow", order=1),
        },
    )
    assert list(approval.rules) == ["first", "later"]
    assert approval.decide(OTHER) == Verdict("allow", "first")
    denying = Approval.model_validate(
        {"rules": {**approval.model_dump()["rules"], "no": {"tools": ["*mail"], "action": "deny", "order": 99}}}
    )
    assert denying.decide(OTHER) == Verdict("deny", "no")
    assert denying.decide(LOAD) == Verdict("ask", None)


@pytest.mark.parametrize(
    "rule",
    [{"action": "allow"}, {"tools": ["x"]}, {"tools": ["x"], "action": "maybe"}, {"tool": ["x"], "action": "ask"}],
)
def test_a_rule_that_says_too_little_is_refused(rule: Any) -> None:
    with pytest.raises(ValidationError):
        Approval.model_validate({"rules": {"r": rule}})
