"""A snapshot: what an open agent is at one moment. A run uses one from start to end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from assembler.agent.config import AgentConfig
from assembler.digests import digest_json
from assembler.errors import AssemblerError, Diagnostic, problem
from assembler.matching import Facts
from assembler.prompts.template import TextFile, render
from assembler.runners.base import Runner
from assembler.schemas.dialects import dialect_named
from assembler.schemas.tool_schema import ToolSchema
from assembler.skills.skill import Report, Skill
from assembler.tools.base import Tool
from assembler.tools.skills import OWNER, RESERVED, skill_tools
from assembler.values import JSON


@dataclass(frozen=True)
class OfferedTool:
    """A tool with its compiled schema."""

    tool: Tool
    schema: ToolSchema

    @property
    def sent(self) -> dict[str, JSON]:
        """The declaration as it is sent; ``strict`` is always explicit."""
        return {
            "type": "function",
            "name": self.tool.name,
            "description": self.tool.description,
            "parameters": self.schema.sent,
            "strict": self.schema.strict,
        }


@dataclass(frozen=True)
class Snapshot:
    """Skills, prompt, tools, policy and digest, frozen.

    Attributes:
        config: The declaration.
        skills: What is on offer, by name.
        instructions: The rendered prompt.
        tools: What the model can call, by name.
        sent: The tools as they are sent, made once.
    """

    config: AgentConfig
    skills: Mapping[str, Skill]
    instructions: str
    tools: Mapping[str, OfferedTool]
    sent: Sequence[dict[str, JSON]]
    _digest: asyncio.Task[str] | None = field(default=None, compare=False)

    def read_ahead(self) -> asyncio.Task[str]:
        """Starts to read the skills' trees for the digest, beside whatever else goes on."""
        if self._digest is None:
            object.__setattr__(self, "_digest", asyncio.create_task(self._compute_digest()))
        return cast("asyncio.Task[str]", self._digest)

    async def digest(self) -> str:
        """Digest of the agent: its declaration, the content of its skills, its tools as sent and its prompt."""
        return await asyncio.shield(self.read_ahead())

    def abandon(self) -> None:
        """Stops reading for a digest that nobody waits for any more."""
        if self._digest is not None:
            self._digest.cancel()

    async def _compute_digest(self) -> str:
        names: list[JSON] = [await _tree(skill) for skill in self.skills.values()]
        return digest_json(
            {
                "declaration": self.config.declaration(),
                "skills": dict(zip(self.skills, names, strict=True)),
                "tools": list(self.sent),
                "prompt": self.instructions,
            }
        )

    def runner(self, facts: Facts) -> Runner:
        """What runs a script: the first override that matches it, else the agent's own."""
        for override in self.config.scripts.values():
            if override.matches(facts):
                return override.runner
        return self.config.runner

    def offers_same(self, skills: Sequence[Skill]) -> bool:
        """Whether a new listing shows what this snapshot shows."""
        return [_identity(skill) for skill in skills] == [_identity(skill) for skill in self.skills.values()]

    async def is_stale(self) -> bool:
        """Whether anything that its skills read has changed since."""
        return any(await asyncio.gather(*(skill.changed() for skill in self.skills.values())))


def take(config: AgentConfig, base: Path, skills: Sequence[Skill], tools: Sequence[Tool], report: Report) -> Snapshot:
    """Renders the prompt and compiles the tools.

    Args:
        config: The declaration.
        base: The project's folder.
        skills: What the sources list.
        tools: Tools of the toolsets.
        report: Takes what was cut or weakened.

    Raises:
        AssemblerError: A template that fails, names that clash, schemas that have to be strict and cannot be.
    """
    catalog = config.skills.catalog.render(skills)
    for diagnostic in catalog.diagnostics:
        report(diagnostic)
    search = config.skills.catalog.overflow == "search" and catalog.cut > 0
    offered = _compiled(config, [*skill_tools(skills, search=search), *tools], report)
    instructions = _prompt(config, base, catalog.text, list(offered))
    by_name = {skill.name: skill for skill in skills}
    return Snapshot(config, by_name, instructions, offered, [tool.sent for tool in offered.values()])


def _identity(skill: Skill) -> tuple[str, str, str]:
    return skill.source, skill.name, skill.stamp


async def _tree(skill: Skill) -> JSON:
    """A skill's digest; one that cannot be read is named as such, so that the run has a name all the same."""
    try:
        return await skill.digest()
    except AssemblerError as error:
        return {"unreadable": error.diagnostics[0].code, "stamp": skill.stamp}


def _compiled(config: AgentConfig, tools: Sequence[Tool], report: Report) -> dict[str, OfferedTool]:
    offered: dict[str, OfferedTool] = {}
    problems: list[Diagnostic] = []
    for tool in tools:
        other = offered.get(tool.name)
        if other is not None or (tool.name in RESERVED and tool.owner != OWNER):
            owner = other.tool.owner if other is not None else OWNER
            message = f"`{tool.owner}` and `{owner}` both have a tool `{tool.name}`"
            problems.append(Diagnostic("tools/clash", message, hint="give one of them a prefix or leave it out"))
            continue
        try:
            schema = ToolSchema(
                tool.schema,
                dialect_named(config.model.dialect),
                strict=config.strict,
                unknown=config.unknown_arguments,
                detailed=config.errors == "detailed",
            )
        except AssemblerError as error:
            problems.extend(error.diagnostics)
            continue
        for note in schema.notes:
            report(replace(note, message=f"tool `{tool.name}`: {note.message}"))
        offered[tool.name] = OfferedTool(tool, schema)
    if problems:
        raise AssemblerError(*problems)
    return offered


def _prompt(config: AgentConfig, base: Path, catalog: str, tools: Sequence[str]) -> str:
    text = config.instructions
    text = text.read(base) if isinstance(text, TextFile) else text
    clash = {"name", "description", "instructions", "catalog", "tools", "variables"} & set(config.variables)
    if clash:
        names = ", ".join(f"`{name}`" for name in sorted(clash))
        raise problem("prompt/reserved-variable", f"`variables` uses the reserved names {names}", hint="rename them")
    values: dict[str, object] = {**config.variables, "name": config.name, "description": config.description}
    values |= {"variables": config.variables, "tools": tools}
    values["instructions"] = render(text, values, what="`instructions`")
    values["catalog"] = catalog if config.prompt.catalog == "prompt" else ""
    return render(config.prompt.source(base), values, what="the prompt template").strip()
