"""The tools by which a model learns and uses skills: load, read, run, search."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, TypeVar

from assembler.errors import AssemblerError, did_you_mean, problem
from assembler.items import CUT, Item
from assembler.matching import Facts
from assembler.runners.base import ScriptResult
from assembler.skills.search import SkillSearch
from assembler.skills.skill import RunContext, Skill, SkillResource, SkillScript
from assembler.tools.base import CallFacts, Tool, ToolOutput
from assembler.values import JSON

OWNER = "skills"
END = "</skill_content>"
RESERVED = ("load_skill", "read_skill_resource", "run_skill_script", "search_skills")
"""Names that no other tool can have, whether they are offered or not."""

MAX_ENUM = 200
"""Most names that a parameter lists as an enumeration; OpenAI allows 1,000 values in all tools together."""
MAX_LISTED = 100
"""Most files of a skill that loading it lists."""


def skill_tools(skills: Sequence[Skill], *, search: bool) -> list[Tool]:
    """The tools for these skills; one that has nothing to serve is left out.

    Args:
        skills: The skills on offer.
        search: Whether the catalog does not show everything, so that searching makes sense.
    """
    tools: list[Tool] = [LoadSkill(skills)] if skills else []
    if any(skill.has_resources for skill in skills):
        tools.append(ReadSkillResource([skill for skill in skills if skill.has_resources]))
    if any(skill.has_scripts for skill in skills):
        tools.append(RunSkillScript([skill for skill in skills if skill.has_scripts]))
    if search and skills:
        tools.append(SearchSkills(skills))
    return tools


class _SkillTool(Tool):
    """A tool over skills, by name."""

    owner = OWNER

    def __init__(self, skills: Sequence[Skill], more: Mapping[str, JSON], *, required: Sequence[str]) -> None:
        self._skills = {skill.name: skill for skill in skills}
        name: dict[str, JSON] = {"type": "string", "description": "Name of the skill, as the list of skills has it."}
        if len(self._skills) <= MAX_ENUM:
            name["enum"] = list(self._skills)
        self.schema: Mapping[str, Any] = {
            "type": "object",
            "properties": {"skill_name": name, **more},
            "required": ["skill_name", *required],
            "additionalProperties": False,
        }

    def _skill(self, arguments: Mapping[str, JSON]) -> Skill:
        name = str(arguments["skill_name"])
        skill = self._skills.get(name)
        if skill is None:
            raise problem("skills/no-such-skill", f"there is no skill `{name}`", hint=did_you_mean(name, self._skills))
        return skill

    def _match(self, skill: Skill, script: str = "") -> Facts:
        known = skill.facts
        return Facts(tool=self.name, skill=known.skill, script=script, source=known.source, tags=known.tags)


class LoadSkill(_SkillTool):
    """Hands a skill's instructions to the model."""

    name = "load_skill"
    description = "Loads the instructions of a skill. Do this before you use it."

    def __init__(self, skills: Sequence[Skill]) -> None:
        super().__init__(skills, {}, required=())

    async def facts(self, arguments: Mapping[str, JSON]) -> CallFacts:
        """Reading alone."""
        return CallFacts(self._match(self._skill(arguments)), arguments)

    async def invoke(self, arguments: Mapping[str, JSON], context: RunContext) -> ToolOutput:
        """The body, the skill's files, and how its scripts find them."""
        skill = self._skill(arguments)
        started = perf_counter()
        digest = await skill.digest()
        head = f'<skill_content name="{skill.name}" digest="{digest}">'
        if _was_loaded(head, skill.name, context.items):
            return ToolOutput(f"`{skill.name}` is loaded already and has not changed; its instructions stand above.")
        body = _unforgeable(await skill.content())
        text = "\n".join([head, body.strip(), END, *await _listing(skill, context)])
        loaded: dict[str, JSON] = {
            "type": "assembler.skill.loaded",
            "skill": skill.name,
            "source": skill.source,
            "digest": digest,
            "seconds": round(perf_counter() - started, 6),
        }
        return ToolOutput(text, events=(loaded,))


class ReadSkillResource(_SkillTool):
    """Hands one file of a skill to the model."""

    name = "read_skill_resource"
    description = "Reads a file of a skill, such as a reference or a template that its instructions name."

    def __init__(self, skills: Sequence[Skill]) -> None:
        resource: JSON = {"type": "string", "description": "Name of the file, as loading the skill lists it."}
        super().__init__(skills, {"resource_name": resource}, required=("resource_name",))

    async def facts(self, arguments: Mapping[str, JSON]) -> CallFacts:
        """Reading alone."""
        return CallFacts(self._match(self._skill(arguments)), arguments)

    async def invoke(self, arguments: Mapping[str, JSON], context: RunContext) -> ToolOutput:
        """The text; of a binary file its size alone, since the model cannot read it."""
        skill = self._skill(arguments)
        name = str(arguments["resource_name"])
        resource = _named(name, await skill.resources(), "skills/no-such-resource", "file", skill)
        content = await resource.read(context)
        if isinstance(content, bytes):
            return ToolOutput(
                f"`{name}` is a binary file of {len(content)} bytes; a script can use it, you cannot read it."
            )
        return ToolOutput(_unforgeable(content))


class RunSkillScript(_SkillTool):
    """Runs one script of a skill."""

    name = "run_skill_script"
    description = (
        "Runs a script of a skill with the arguments that its instructions describe, and returns what comes of it."
    )

    def __init__(self, skills: Sequence[Skill]) -> None:
        script: JSON = {"type": "string", "description": "Name of the script, as loading the skill lists it."}
        values: JSON = {"description": "An object of named options, or a list of command-line words."}
        super().__init__(skills, {"script_name": script, "arguments": values}, required=("script_name",))

    async def facts(self, arguments: Mapping[str, JSON]) -> CallFacts:
        """The script, the digest of everything that its skill consists of, and its arguments."""
        skill = self._skill(arguments)
        script = await self._script(skill, arguments)
        return CallFacts(
            self._match(skill, script.name),
            arguments,
            runs=f"{skill.name}/{script.name}" + (f" ({script.runs})" if script.runs else ""),
            digests=((f"skill {skill.name}", await skill.digest()),),
            by_runner=script.needs_runner,
        )

    async def invoke(self, arguments: Mapping[str, JSON], context: RunContext) -> ToolOutput:
        """What the script printed or returned, or what went wrong."""
        script = await self._script(self._skill(arguments), arguments)
        result = await script.run(arguments.get("arguments"), context)
        if not isinstance(result, ScriptResult):
            return ToolOutput(_unforgeable(result) if isinstance(result, str) else result)
        details: dict[str, JSON] = {
            "isolation": result.isolation,
            "exit_code": result.exit_code,
            "stopped": result.stopped,
            "script_seconds": round(result.seconds, 6),
        }
        return ToolOutput(_told(result), failed=result.exit_code != 0, details=details)

    async def _script(self, skill: Skill, arguments: Mapping[str, JSON]) -> SkillScript:
        name = str(arguments["script_name"])
        return _named(name, await skill.scripts(), "skills/no-such-script", "script", skill)


class SearchSkills(Tool):
    """Finds skills that the catalog has no room to describe."""

    name = "search_skills"
    owner = OWNER
    description = "Finds skills for a task, described in plain words."
    schema: Mapping[str, Any] = {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "What has to be done."}},
        "required": ["query"],
        "additionalProperties": False,
    }

    def __init__(self, skills: Sequence[Skill]) -> None:
        self._search = SkillSearch(skills)

    async def invoke(self, arguments: Mapping[str, JSON], context: RunContext) -> ToolOutput:
        """The best matches with their whole descriptions."""
        found = self._search.search(str(arguments["query"]), 10)
        if not found:
            return ToolOutput("No skill fits; use other words.")
        return ToolOutput("\n".join(f"- {skill.name}: {skill.description}" for skill in found))


T = TypeVar("T", SkillResource, SkillScript)


def _named(name: str, things: Sequence[T], code: str, what: str, skill: Skill) -> T:
    for thing in things:
        if thing.name == name:
            return thing
    known = [thing.name for thing in things]
    hint = did_you_mean(name, known[:MAX_LISTED])
    raise problem(code, f"skill `{skill.name}` has no {what} `{name}`", hint=hint)


async def _listing(skill: Skill, context: RunContext) -> list[str]:
    """What a skill has, as blocks that its body cannot forge; of a script, whether it can run here."""
    scripts: Sequence[SkillScript] = await skill.scripts() if skill.has_scripts else ()
    resources: Sequence[SkillResource] = await skill.resources() if skill.has_resources else ()
    lines: list[str] = []
    for title, names in (
        ("scripts", [_script(script, context) for script in scripts]),
        ("files", [_described(resource) for resource in resources]),
    ):
        if names:
            more = [f"(and {len(names) - MAX_LISTED} more)"] if len(names) > MAX_LISTED else []
            lines += [f"<skill_{title}>", *map(_unforgeable, names[:MAX_LISTED]), *more, f"</skill_{title}>"]
    if any(script.needs_runner for script in scripts):
        lines.append(
            "A script finds this folder in $SKILL_DIR, works in $SCRATCH_DIR, and finds files handed to it in inputs/."
        )
    return lines


def _script(script: SkillScript, context: RunContext) -> str:
    """A script on one line: what it does and takes, as far as that is known, and why it cannot run here."""
    text = _described(script)
    if script.schema is not None:
        text += f"; arguments: {json.dumps(script.schema, ensure_ascii=False)}"
    if script.needs_runner:
        try:
            context.runner.check(script.name)
        except AssemblerError as error:
            text += f" (cannot run here: {error.diagnostics[0].message})"
    return text


def _described(thing: SkillResource | SkillScript) -> str:
    return f"{thing.name}: {' '.join(thing.description.split())}" if thing.description else thing.name


def _was_loaded(head: str, name: str, items: Sequence[Item]) -> bool:
    """Whether the conversation has these very instructions, whole, as the answer to a call that loaded the skill."""
    loads = {
        str(item["call_id"])
        for item in items
        if item.get("type") == "function_call" and item.get("name") == LoadSkill.name and name in str(item["arguments"])
    }
    outputs = [
        str(item["output"])
        for item in items
        if item.get("type") == "function_call_output" and item.get("call_id") in loads
    ]
    return any(output.startswith(head) and output.count(END) == 1 and CUT not in output for output in outputs)


def _unforgeable(text: str) -> str:
    """Text in which nothing looks like the blocks that are written around it."""
    return re.sub(
        r"<(?=/?\s*(?:skill_(?:content|scripts|files)|available_skills)\b)", "&lt;", text, flags=re.IGNORECASE
    )


def _told(result: ScriptResult) -> str:
    """A script's result as the model reads it: what it printed, and what it has to know beside that."""
    parts = [_unforgeable(result.stdout).rstrip("\n")] if result.stdout.strip() else []
    if result.stderr.strip():
        parts.append(f"[stderr]\n{_unforgeable(result.stderr).rstrip()}")
    if result.stopped is not None:
        parts.append(f"[stopped: {result.reason}]")
    elif result.exit_code != 0:
        parts.append(f"[exit code {result.exit_code}]")
    return "\n".join(parts) or "[the script printed nothing]"
