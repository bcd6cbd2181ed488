"""Assembler turns YAML into a running agent.

The public names are imported when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from assembler.agent.agent import Agent as Agent
    from assembler.agent.config import AgentConfig as AgentConfig
    from assembler.agent.limits import Limits as Limits
    from assembler.approval.policy import Approval as Approval
    from assembler.approval.policy import Rule as Rule
    from assembler.approval.requests import Answer as Answer
    from assembler.approval.requests import ApprovalRequest as ApprovalRequest
    from assembler.assembly import assemble as assemble
    from assembler.errors import AssemblerError as AssemblerError
    from assembler.errors import Diagnostic as Diagnostic
    from assembler.events import Result as Result
    from assembler.matching import Match as Match
    from assembler.models.scripted import Scripted as Scripted
    from assembler.prompts.template import Prompt as Prompt
    from assembler.runners.plain import Subprocess as Subprocess
    from assembler.runners.sandbox import Sandbox as Sandbox
    from assembler.skills.catalog import Catalog as Catalog
    from assembler.skills.declared import Skills as Skills
    from assembler.skills.decorators.cache import Cache as Cache
    from assembler.skills.decorators.dedupe import Dedupe as Dedupe
    from assembler.skills.decorators.filter import Filter as Filter
    from assembler.skills.sources.files import FilesSource as FilesSource
    from assembler.skills.sources.inline import InlineSource as InlineSource

_WHERE = {
    "Agent": "agent.agent",
    "AgentConfig": "agent.config",
    "Answer": "approval.requests",
    "Approval": "approval.policy",
    "ApprovalRequest": "approval.requests",
    "AssemblerError": "errors",
    "Cache": "skills.decorators.cache",
    "Catalog": "skills.catalog",
    "Dedupe": "skills.decorators.dedupe",
    "Diagnostic": "errors",
    "FilesSource": "skills.sources.files",
    "Filter": "skills.decorators.filter",
    "InlineSource": "skills.sources.inline",
    "Limits": "agent.limits",
    "Match": "matching",
    "Prompt": "prompts.template",
    "Result": "events",
    "Rule": "approval.policy",
    "Sandbox": "runners.sandbox",
    "Scripted": "models.scripted",
    "Skills": "skills.declared",
    "Subprocess": "runners.plain",
    "assemble": "assembly",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return sorted(["__version__", *_WHERE])
