"""A snapshot: what an open agent is at one moment. A run uses one from start to end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
from assembler.scrubbing import scrubbed_json
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


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a declaration that lie in files of their own, as they are now.

    Attributes:
        instructions: What the agent shall do.
        template: The prompt's template.
    """

    instructions: str
    template: str

    @classmethod
    def read(cls, config: AgentConfig, base: Path) -> Texts:
        """Reads them.

        Raises:
            AssemblerError: One cannot be read (``prompt/unreadable-file``).
        """
        text = config.instructions
        return cls(text.read(base) if isinstance(text, TextFile) else text, config.prompt.source(base))


class Snapshot:
    """Skills, prompt, tools, policy and digest; nothing in it changes.

    Args:
        config: The declaration.
        texts: The texts of the declaration.
        skills: What is on offer.
        instructions: The rendered prompt.
        tools: What the model can call, by name.
        report: Takes what is found out when the skills are read.

    Attributes:
        config: The declaration.
        skills: What is on offer, by name.
        instructions: The rendered prompt.
        tools: What the model can call, by name.
    """

    def __init__(
        self,
        config: AgentConfig,
        texts: Texts,
        skills: Sequence[Skill],
        instructions: str,
        tools: Mapping[str, OfferedTool],
        report: Report,
    ) -> None:
        self.config = config
        self.skills = {skill.name: skill for skill in skills}
        self.instructions = instructions
        self.tools = tools
        self._texts = texts
        self._report = report
        # As text, so that nobody who is handed the declarations can change what the next one gets.
        self._sent = json.dumps([tool.sent for tool in tools.values()])
        self._digest: asyncio.Task[str] | None = None

    def sent(self) -> list[dict[str, JSON]]:
        """The tools as they are sent; compiled once, a copy at each call."""
        return json.loads(self._sent)

    def read_ahead(self) -> asyncio.Task[str]:
        """Starts to read the skills' trees for the digest, beside whatever else goes on."""
        if self._digest is None:
            self._digest = asyncio.create_task(self._compute_digest())
        return self._digest

    async def digest(self) -> str:
        """Digest of the agent: its declaration, the content of its skills, its tools as sent and its prompt."""
        return await asyncio.shield(self.read_ahead())

    @cached_property
    def declaration(self) -> Mapping[str, JSON]:
        """The resolved declaration, as sessions keep it."""
        return scrubbed_json(self.config.declaration())

    async def abandon(self) -> None:
        """Stops reading for a digest that nobody waits for any more."""
        if self._digest is not None:
            self._digest.cancel()
            await asyncio.gather(self._digest, return_exceptions=True)

    async def _compute_digest(self) -> str:
        names: list[JSON] = []
        for skill in self.skills.values():
            names.append(await _tree(skill))
            for finding in skill.findings:
                self._report(finding)
        return digest_json(
            {
                "declaration": self.config.identity(),
                "skills": dict(zip(self.skills, names, strict=True)),
                "tools": cast("JSON", self.sent()),
                "prompt": self.instructions,
            }
        )

    def runner(self, facts: Facts) -> Runner:
        """What runs a script: the first override that matches it, else the agent's own."""
        for override in self.config.scripts.values():
            if override.matches(facts):
                return override.runner
        return self.config.runner

    def is_current(self, skills: Sequence[Skill], texts: Texts) -> bool:
        """Whether the agent is still what it was: same skills, same texts, and nothing that was read has changed.

        Blocks, since it looks at files.
        """
        if texts != self._texts or [_identity(skill) for skill in skills] != [*map(_identity, self.skills.values())]:
            return False
        return not any(skill.changed() for skill in self.skills.values())


def take(config: AgentConfig, texts: Texts, skills: Sequence[Skill], tools: Sequence[Tool], report: Report) -> Snapshot:
    """Renders the prompt and compiles the tools.

    Args:
        config: The declaration.
        texts: The texts of the declaration.
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
    instructions = _prompt(config, texts, catalog.text, list(offered))
    return Snapshot(config, texts, skills, instructions, offered, report)


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


def _prompt(config: AgentConfig, texts: Texts, catalog: str, tools: Sequence[str]) -> str:
    clash = {"name", "description", "instructions", "catalog", "tools", "variables"} & set(config.variables)
    if clash:
        names = ", ".join(f"`{name}`" for name in sorted(clash))
        raise problem("prompt/reserved-variable", f"`variables` uses the reserved names {names}", hint="rename them")
    values: dict[str, object] = {**config.variables, "name": config.name, "description": config.description}
    values |= {"variables": config.variables, "tools": tools}
    values["instructions"] = render(texts.instructions, values, what="`instructions`")
    values["catalog"] = catalog if config.prompt.catalog == "prompt" else ""
    return render(texts.template, values, what="the prompt template").strip()
