"""`assemble`: finds the command, runs it, and turns every outcome into an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper

import assembler
from assembler.cli.commands import COMMANDS, DONE, FAILED, INTERRUPTED, WRONG
from assembler.errors import AssemblerError, Diagnostic, problem


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line.

    Args:
        arguments: Without the program's name; the process's own by default.

    Returns:
        0 done; 1 the run failed or met a limit; 2 wrong usage or configuration; 4 waiting for an answer;
        130 interrupted.
    """
    from assembler.cli import failures
    from assembler.cli.output import answer, tell, tell_diagnostics

    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    _prepare_streams()
    try:
        return _dispatch(given)
    except AssemblerError as error:
        if debug:
            tell(_traceback(error))
        answered = failures.as_json(given, error.diagnostics)
        if answered is not None:
            answer(answered)
        tell_diagnostics(error.diagnostics)
        return WRONG
    except KeyboardInterrupt:
        tell("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        _abandon_output()  # whoever read it is gone
        return FAILED
    except Exception as error:  # noqa: BLE001  whatever was not foreseen is told as such, and shown when asked for
        if debug:
            tell(_traceback(error))
        tell_diagnostics([_unforeseen(error)])
        _abandon_output()
        return FAILED


def _prepare_streams() -> None:
    """Makes the three streams usable, whatever whoever started this process closed or chose as an encoding."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123  (lives as long)
        elif mode == "w" and isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _abandon_output() -> None:
    """Drops what cannot be written: Python would try once more at exit, complain, and end with a code of its own."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _traceback(error: Exception) -> str:
    """Where an error comes from; what is behind it may repeat a secret."""
    import traceback

    from assembler.scrubbing import scrubbed

    return scrubbed("".join(traceback.format_exception(error)).rstrip())


def _unforeseen(error: Exception) -> Diagnostic:
    if isinstance(error, OSError):
        what = error.strerror or type(error).__name__
        return Diagnostic(
            "cli/system", f"the system refuses: {what}" + (f": `{error.filename}`" if error.filename else "")
        )
    message = f"this should not happen: {type(error).__name__}"
    return Diagnostic("cli/unforeseen", message, hint="--debug shows where; please report it")


def _dispatch(given: list[str]) -> int:
    from assembler.cli.output import answer
    from assembler.errors import did_you_mean

    given = given[1:] if given[:1] == ["--debug"] else given
    if not given or given[0] in {"-h", "--help", "help"}:
        answer(_help())
        return DONE
    if given[0] in {"-V", "--version"}:
        answer(f"assembler {assembler.__version__}")
        return DONE
    if given[0] == "complete":
        # Asked by a shell at every press of a key, and by nobody else: in no list of commands.
        return import_module("assembler.cli.completion").complete(given[1:])
    found = COMMANDS.get(given[0])
    if found is None:
        raise problem("cli/no-such-command", f"there is no command `{given[0]}`", hint=did_you_mean(given[0], COMMANDS))
    return import_module(found[0]).main(given[1:])


def _help() -> str:
    commands = "\n".join(f"  {name:12}{what}" for name, (_, what) in COMMANDS.items())
    return f"""\
usage: assemble COMMAND conf=NAME [overrides] [options]

Turns YAML into a running agent.

commands:
{commands}

options:
  --help      this, or the help of a command
  --version   the version
  --debug     show where an error comes from

examples:
  assemble run conf=quickstart -i "How many kilometres are 26.2 miles?"
  assemble skills list conf=quickstart
"""


if __name__ == "__main__":
    sys.exit(main())
