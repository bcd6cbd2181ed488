"""Command lines: flags as argparse reads them, overrides wherever they stand among them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass

from assembler.errors import problem

OVERRIDES_HELP = """\
overrides (wherever they stand):
  conf=NAME          a root in conf/, or conf=PATH.yaml; NAME alone works too
  group=option       choose another option: model=..., env=prod
  'skills=[a,b]'     choose several skill sets; 'skills=[]' for none (quote brackets)
  key.path=value     change any value; key.path=null clears it
"""


@dataclass(frozen=True, slots=True)
class Command:
    """A parsed command line.

    Attributes:
        options: The flags.
        conf: What ``conf=`` named.
        overrides: The rest, in their order.
    """

    options: argparse.Namespace
    conf: str
    overrides: Sequence[str]


def parser(name: str, description: str, examples: str) -> argparse.ArgumentParser:
    """A parser for one command, with its examples at the end of its help."""
    return argparse.ArgumentParser(
        prog=f"assemble {name}",
        description=description,
        epilog=f"{OVERRIDES_HELP}\nexamples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        usage=f"assemble {name} conf=NAME [overrides] [options]",
    )


def parse(command: argparse.ArgumentParser, arguments: Sequence[str]) -> Command:
    """Splits a command line into flags, ``conf`` and overrides.

    Raises:
        AssemblerError: No configuration is named, or two are (``cli/no-conf``, ``cli/two-confs``).
        SystemExit: A flag is wrong, or ``--help`` was asked for.
    """
    command.add_argument("words", nargs="*", metavar="override", help=argparse.SUPPRESS)
    options = command.parse_intermixed_args(arguments)
    confs: list[str] = []
    overrides: list[str] = []
    for word in options.words:
        if word.startswith("conf="):
            confs.append(word.removeprefix("conf="))
        elif "=" in word or word.startswith("~"):
            overrides.append(word)
        else:
            confs.append(word)
    if len(confs) > 1:
        named = ", ".join(f"`{conf}`" for conf in confs)
        raise problem("cli/two-confs", f"several configurations are named: {named}", hint="overrides contain `=`")
    conf = confs[0] if confs else os.environ.get("ASSEMBLE_CONF", "")
    if not conf:
        raise problem("cli/no-conf", "no configuration is named", hint="conf=NAME, or set ASSEMBLE_CONF")
    return Command(options, conf, overrides)
