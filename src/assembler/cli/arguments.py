"""Command lines: flags as argparse reads them, overrides wherever they stand among them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

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


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are diagnostics, with a way out."""

    def error(self, message: str) -> NoReturn:
        """Raises what argparse would print.

        Raises:
            AssemblerError: What is wrong with a flag (``cli/bad-option``).
        """
        hint = f"`{self.prog} --help` lists the options"
        if "expected one argument" in message:
            hint = "a value that starts with a dash needs an equals sign: -i=-40F"
        elif "unrecognized arguments: -" in message and "=" in message:
            hint = f"overrides have no dashes; {hint}"
        raise problem("cli/bad-option", message, hint=hint)


class Once(argparse.Action):
    """A flag that makes sense once; the second would take the first one's place without a word."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Keeps the value.

        Raises:
            AssemblerError: The flag was given before (``cli/bad-option``).
        """
        if getattr(namespace, self.dest) is not None:
            raise problem("cli/bad-option", f"`{option_string}` is given twice", hint="give it once")
        setattr(namespace, self.dest, values)


def parser(name: str, description: str, examples: str) -> Parser:
    """A parser for one command, with its examples at the end of its help."""
    made = Parser(
        prog=f"assemble {name}",
        description=description,
        epilog=f"{OVERRIDES_HELP}\nexamples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        usage=f"assemble {name} conf=NAME [overrides] [options]",
    )
    made.add_argument("--debug", action="store_true", help="show where an error comes from")
    about = "agree once to what has this digest, see `assemble trust --show`"
    made.add_argument("--trust", action="append", default=[], metavar="DIGEST", help=about)
    about = "a Python package whose objects the configuration may name"
    made.add_argument("--trust-module", action="append", default=[], metavar="NAME", help=about)
    return made


def parse(command: Parser, arguments: Sequence[str]) -> Command:
    """Splits a command line into flags, ``conf`` and overrides.

    Raises:
        AssemblerError: A flag is wrong (``cli/bad-option``), no configuration is named, or several are
            (``cli/no-conf``, ``cli/two-confs``).
        SystemExit: ``--help`` was asked for.
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
        hint = "a word without `=` is a configuration; an override is `key=value`"
        raise problem("cli/two-confs", f"several configurations are named: {named}", hint=hint)
    conf = confs[0] if confs else os.environ.get("ASSEMBLE_CONF", "")
    if not conf:
        raise problem("cli/no-conf", "no configuration is named", hint="conf=NAME, or set ASSEMBLE_CONF")
    return Command(options, conf, overrides)
