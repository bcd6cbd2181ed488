"""Consent on the command line: what is asked for is shown, and a person is asked where there is one."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from assembler.cli.arguments import Command
from assembler.cli.output import one_line, tell
from assembler.cli.terminal import agrees, has_terminal
from assembler.errors import problem

if TYPE_CHECKING:
    from assembler.config.consent import Consent, Terms
    from assembler.config.load import Declared


def declared(command: Command, part: Literal["skills", "session"] | None = None) -> Declared:
    """Reads a configuration, and goes on once everything that it asks for was agreed to.

    Args:
        command: The command line.
        part: All that will be used, so that what else is declared needs no consent; everything where it is left out.

    Raises:
        NotAgreed: Nobody agreed, and nobody is there to be asked.
        AssemblerError: Something is wrong with the configuration, or somebody was asked and did not agree
            (``trust/refused``).
    """
    from assembler.config.consent import NotAgreed
    from assembler.config.gate import DeclaredGate
    from assembler.config.load import load

    while True:
        try:
            found = load(command.conf, command.overrides, terms=terms(command))
            gate = DeclaredGate(found)
            {None: gate.admit, "skills": gate.admit_skills, "session": gate.admit_session}[part]()
        except NotAgreed as error:
            if not can_ask():
                raise
            ask(error.consent)
        else:
            for demand in found.consent().demands:
                if demand.standing == "typed" and not demand.power.is_known:
                    tell(f"  agreed to by typing it: {demand.power}")
            return found


def terms(command: Command) -> Terms:
    """What was agreed to on the command line.

    Raises:
        AssemblerError: A digest or a module's name is none (``cli/bad-option``).
    """
    from assembler.config.consent import Terms

    digests = [digest for given in command.options.trust for digest in given.split("+")]
    modules = command.options.trust_module
    for given, form, option, like in (
        (digests, r"sha256:[0-9a-f]{64}", "--trust", "a digest, as `assemble trust --show` prints it"),
        (modules, r"[^\W\d]\w*(\.[^\W\d]\w*)*", "--trust-module", "the name of a package or module"),
    ):
        wrong = next((each for each in given if not re.fullmatch(form, each)), None)
        if wrong is not None:
            raise problem("cli/bad-option", f"`{option} {wrong}`: expected {like}")
    return Terms(digests=frozenset(digests), modules=tuple(modules), is_typed=True)


def can_ask() -> bool:
    """Whether a person is there who would see the question."""
    return sys.stderr.isatty() and has_terminal()


def ask(consent: Consent) -> None:
    """Shows what is asked for, and remembers that the person agreed.

    Raises:
        AssemblerError: The person did not (``trust/refused``).
    """
    for line in lines(consent):
        tell(line)
    asked = len(consent.needed)
    what = f"these {asked} things" if asked > 1 else "this"
    if not agrees(f"Let the agents of {one_line(str(consent.project))} do {what} from now on?"):
        hint = "`assemble trust --show` shows it again"
        raise problem("trust/refused", "you did not agree, and nothing was done", hint=hint)
    consent.agree()


def lines(consent: Consent) -> Iterator[str]:
    """What is asked for, as a person reads it, each thing in lines of its own."""
    yield f"{one_line(str(consent.project))} asks for:"
    for demand in consent.demands:
        change = consent.change(demand) if demand.standing == "open" else ""
        files = f" ({len(demand.code)} files)" if len(demand.code) > 1 else ""
        yield f"  {_STANDINGS[demand.standing]:8}it {one_line(str(demand.power))}{files}"
        if demand.power.binds:
            yield f"{'':10}{one_line(json.dumps(demand.power.binds, ensure_ascii=False))}"
        where = str(consent.where(demand)) + (f"; agreed to before, but {change}" if change else "")
        yield f"{'':10}{one_line(where)}"


_STANDINGS = {"open": "NEW", "agreed": "agreed", "typed": "typed", "known": "known"}
