"""Consent on the command line: what is asked for is shown, and a person is asked where there is one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from assembler.cli.arguments import Command
from assembler.cli.output import tell
from assembler.cli.terminal import agrees, has_terminal
from assembler.errors import problem
from assembler.powers import Keys

if TYPE_CHECKING:
    from assembler.config.consent import Consent, Terms
    from assembler.config.load import Declared


def declared(command: Command, below: Keys = ()) -> Declared:
    """Reads a configuration, and goes on once everything that it asks for was agreed to.

    Args:
        command: The command line.
        below: Only what is declared below these keys is needed.

    Raises:
        NotAgreed: Nobody agreed, and nobody is there to be asked.
        AssemblerError: Something is wrong with the configuration, or somebody was asked and did not agree
            (``trust/refused``).
    """
    from assembler.config.consent import NotAgreed
    from assembler.config.load import load

    while True:
        try:
            found = load(command.conf, command.overrides, terms=terms(command))
            consent = found.consent()
            consent.require(below)
        except NotAgreed as error:
            if not can_ask():
                raise
            ask(error.consent)
        else:
            for demand in consent.demands:
                if demand.standing == "typed":
                    tell(f"  agreed to by typing it: {demand.power}")
            return found


def terms(command: Command) -> Terms:
    """What was agreed to on the command line."""
    from assembler.config.consent import Terms

    digests = frozenset(digest for given in command.options.trust for digest in given.split("+"))
    return Terms(digests=digests, modules=tuple(command.options.trust_module), is_typed=True)


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
    if not agrees(f"Let the agents of {consent.project} do this from now on?"):
        hint = "`assemble trust --show` shows it again"
        raise problem("trust/refused", "you did not agree, and nothing was done", hint=hint)
    consent.agree()


def lines(consent: Consent) -> Iterator[str]:
    """What is asked for, as a person reads it."""
    yield f"{consent.project / ''} asks for:"
    for demand in consent.demands:
        change = consent.change(demand) if demand.standing == "open" else ""
        files = f" ({len(demand.code)} files)" if len(demand.code) > 1 else ""
        yield f"  {_STANDINGS[demand.standing]:8}it {demand.power}{files}"
        yield f"{'':10}{consent.where(demand)}" + (f"; agreed to before, but {change}" if change else "")


_STANDINGS = {"open": "NEW", "agreed": "agreed", "typed": "typed"}
