"""`assemble skills`: the skills that an agent sees."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from assembler.cli import arguments as command_line
from assembler.cli import consent
from assembler.cli.commands import DONE
from assembler.cli.output import answer, tell_diagnostics
from assembler.cli.table import table
from assembler.errors import Diagnostic, did_you_mean, problem

if TYPE_CHECKING:
    from pathlib import Path

    from assembler.skills.skill import Skill, Source

EXAMPLES = """\
  assemble skills list conf=quickstart
  assemble skills list conf=quickstart 'skills=[units,csv]' --json
"""


def main(arguments: Sequence[str]) -> int:
    """Runs the command."""
    given = list(arguments)
    parser = command_line.parser("skills list", "Lists the skills that an agent sees.", EXAMPLES)
    parser.add_argument("--json", action="store_true", help="print JSON")
    if given and given[0] in {"-h", "--help"}:
        parser.print_help()
        return DONE
    if not given or given[0] != "list":
        asked = given[0] if given else ""
        raise problem(
            "cli/no-such-command", f"there is no command `skills {asked}`", hint=did_you_mean(asked, ["list"])
        )
    command = command_line.parse(parser, given[1:])
    from assembler.config.gate import DeclaredGate

    declared = consent.declared(command, "skills")
    composition = declared.composition
    diagnostics = list(composition.warnings)
    found = DeclaredGate(declared).admit_skills().open()
    rows = asyncio.run(_rows(found, composition.project.folder, diagnostics, full=command.options.json))
    if command.options.json:
        listing: dict[str, Any] = {"skills": rows, "diagnostics": [item.to_json() for item in diagnostics]}
        answer(json.dumps(listing, ensure_ascii=False, indent=2))
        return DONE
    tell_diagnostics(diagnostics)
    cells = ((row["name"], row["source"], " ".join(row["description"].split())) for row in rows)
    table(("skill", "source", "description"), cells)
    return DONE


async def _rows(source: Source, base: Path, diagnostics: list[Diagnostic], *, full: bool) -> list[dict[str, Any]]:
    from assembler.skills.skill import SourceContext

    skills = await source.list_skills(SourceContext(base=base, report=diagnostics.append))
    return [await _row(skill, full=full) for skill in skills]


async def _row(skill: Skill, *, full: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"name": skill.name, "description": skill.description, "source": skill.source}
    row["path"] = skill.where.file
    if full:
        row["resources"] = [resource.name for resource in await skill.resources()]
        row["scripts"] = [script.name for script in await skill.scripts()]
        row["digest"] = await skill.digest()
    return row
