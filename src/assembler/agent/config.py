"""The declared agent: one frozen value that holds everything that makes it behave as it does.

YAML composes it, Python users build it by hand; an `Agent` is opened from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue

from assembler.agent.limits import Limits
from assembler.approval.policy import Approval
from assembler.components import IN_ORDER, Config, Entry, Named, NamedKinds
from assembler.digests import digest_json
from assembler.matching import Match
from assembler.models.base import Model
from assembler.powers import Keys, Power
from assembler.prompts.template import Prompt, TextFile
from assembler.runners.base import Runner
from assembler.runners.sandbox import Sandbox
from assembler.sessions.base import SessionBackend
from assembler.sessions.memory import Memory
from assembler.skills.declared import Skills
from assembler.tools.base import Toolset
from assembler.tools.skills import RunSkillScript
from assembler.values import JSON


class ScriptOverride(Match, Entry):
    """How the scripts that it matches run."""

    runner: Runner
    """What runs them; the same kind, or none, extends the agent's own runner."""


class ClientTools(Config):
    """What a caller may bring: nothing."""

    policy: Literal["reject"] = "reject"
    """`reject`: a run that is handed tools of the caller's is refused."""


class AgentConfig(Config):
    """An agent, declared."""

    name: str = Field(min_length=1, max_length=200)
    """What it is called, in output and records."""
    description: str = ""
    """What it is for."""
    instructions: str | TextFile = ""
    """What it shall do: a template over `variables`, or `{file: path}`."""
    variables: dict[str, JsonValue] = {}
    """Values for the templates."""
    model: Model
    """What answers."""
    skills: Skills = Skills()
    """What it can learn when it needs to."""
    tools: NamedKinds[Toolset] = {}
    """Toolsets by name."""
    runner: Runner = Sandbox()
    """How file scripts run."""
    scripts: Named[ScriptOverride] = {}
    """Scripts that run otherwise, by name of the override; the first match in order counts."""
    approval: Approval = Approval()
    """Which calls go ahead."""
    prompt: Prompt = Prompt()
    """What the model is told."""
    client_tools: ClientTools = ClientTools()
    """What a caller may bring."""
    session: SessionBackend = Memory()
    """Where conversations are kept."""
    limits: Limits = Limits()
    """Where a run ends."""
    strict: Literal["require", "prefer", "never"] = "prefer"
    """Whether tools are sent in the strict mode of the model's provider."""
    unknown_arguments: Literal["reject", "ignore"] = "reject"
    """What happens to an argument that a tool does not have."""
    errors: Literal["brief", "detailed"] = "brief"
    """Whether errors shown to the model may quote values."""
    allow_env: dict[str, bool] = {}
    """Environment variables that `${oc.env:NAME}` may read."""

    def powers(self, base: Path) -> Iterable[Power]:
        """Running scripts without isolation, whatever runs them; and doing so without asking for each."""
        folders = [folder for source in self.skills.sources.values() for folder in source.folders(base)]
        unasked = self.approval.may_allow(RunSkillScript.name)
        for keys, where, which in self._unconfined():
            yield Power("run", f"scripts without isolation{where}", (keys,), which)
            if unasked:
                bound: JSON = {"approval": self.approval.model_dump(mode="json", context=IN_ORDER), "scripts": which}
                yield Power(
                    "run", f"scripts unasked{where or ' that nothing isolates'}", (keys,), bound, tuple(folders)
                )

    def _unconfined(self) -> Iterator[tuple[Keys, str, JSON]]:
        """The options that let scripts run unconfined: the agent's own, then those of overrides that differ from it.

        With where that is so, and which scripts it is about.
        """
        own = self.runner.unconfined_by
        if own:
            yield ("runner", own), _where_unconfined(own), None
        for name, override in self.scripts.items():
            found = override.runner.unconfined_by
            if found and not (found == own and override.runner.kind == self.runner.kind):
                which = override.model_dump(mode="json", include=set(Match.model_fields), exclude_defaults=True)
                yield ("scripts", name, "runner", found), _where_unconfined(found), which

    def declaration(self) -> dict[str, JSON]:
        """The resolved declaration as JSON, without what does not make it another agent: where sessions are kept."""
        return self.model_dump(mode="json", exclude={"session"})

    def identity(self) -> dict[str, JSON]:
        """What digests are made of: the declaration, with named entries as lists, since their order decides."""
        return self.model_dump(mode="json", exclude={"session"}, context=IN_ORDER)

    @property
    def digest(self) -> str:
        """Digest of the declaration."""
        return digest_json(self.identity())


def _where_unconfined(option: str) -> str:
    return " where nothing here isolates them" if option == "isolation" else ""
