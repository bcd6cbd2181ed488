"""`assemble trust`: what a configuration would start, read or reach, and whether that was agreed to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assembler.cli import arguments as command_line
from assembler.cli import consent as asking
from assembler.cli.arguments import Command, Parser
from assembler.cli.commands import DONE
from assembler.cli.output import answer, one_line

if TYPE_CHECKING:
    from assembler.config.consent import Consent

EXAMPLES = """\
  assemble trust conf=support                 show what it asks for, and ask
  assemble trust conf=support env=prod --show show it, with its digest
  assemble run conf=support --trust DIGEST    agree to just that, for once, as in CI
  assemble trust conf=support --revoke        forget what was agreed to about its project
"""


def main(arguments: Sequence[str]) -> int:
    """Runs the command."""
    command = command_line.parse(_parser(), arguments)
    if command.options.revoke:
        return _revoke(command)
    while True:
        consent = _consent(command)
        if command.options.show or command.options.json:
            return _show(consent, as_json=command.options.json)
        if all(demand.standing != "open" for demand in consent.demands):
            break
        if not asking.can_ask():
            consent.require()
        asking.ask(consent)
    if consent.needed:
        consent.agree()
    answer(f"{consent.project}: {_count(len(consent.needed), 'power')} agreed to")
    return DONE


def _parser() -> Parser:
    about = "Shows what a configuration would start, read or reach, and remembers that you agree to it."
    parser = command_line.parser("trust", about, EXAMPLES)
    parser.add_argument("--show", action="store_true", help="show it, and agree to nothing")
    parser.add_argument("--json", action="store_true", help="show it as JSON")
    parser.add_argument("--revoke", action="store_true", help="forget what was agreed to about the project")
    return parser


def _consent(command: Command) -> Consent:
    """What is asked for; until it is agreed to read variables, as far as it is known without them."""
    from assembler.config.consent import NotAgreed
    from assembler.config.gate import DeclaredGate
    from assembler.config.load import load

    try:
        found = load(command.conf, command.overrides, terms=asking.terms(command))
        if all(demand.standing != "open" for demand in found.consent().demands):
            # Once its Python code may be imported, what that asks for can be known.
            DeclaredGate(found).admit()
        return found.consent()
    except NotAgreed as error:
        return error.consent


def _show(consent: Consent, *, as_json: bool) -> int:
    if as_json:
        powers = [
            {**demand.record, "standing": demand.standing, "where": consent.where(demand).to_json()}
            for demand in consent.demands
        ]
        found = {"project": str(consent.project), "digest": consent.token or None, "powers": powers}
        answer(json.dumps(found, ensure_ascii=False, indent=2))
        return DONE
    if all(demand.standing == "known" for demand in consent.demands):
        answer(f"{one_line(str(consent.project))} asks for nothing that needs consent")
        return DONE
    for line in asking.lines(consent):
        answer(line)
    if consent.token:
        answer(f"digest {consent.token}")
    return DONE


def _revoke(command: Command) -> int:
    from assembler.config.agreements import Agreements
    from assembler.config.project import locate

    folder = locate(command.conf).folder
    answer(f"{folder}: {_count(Agreements(folder).revoke(), 'agreement')} forgotten")
    return DONE


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
