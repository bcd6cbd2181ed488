"""`assemble run`: one input to an agent, or a chat."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from argparse import Namespace
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from assembler.cli import arguments as command_line
from assembler.cli import consent, progress
from assembler.cli.arguments import Command, Once, Parser
from assembler.cli.commands import DONE, FAILED, INTERRUPTED, WAITING
from assembler.cli.output import answer
from assembler.cli.sessions import require_lasting
from assembler.errors import problem
from assembler.events import Event

if TYPE_CHECKING:
    from assembler.agent.agent import Agent

EXAMPLES = """\
  assemble run conf=quickstart -i "How many kilometres are 26.2 miles?"
  assemble run conf=quickstart skills=csv --file data.csv
  assemble run conf=quickstart skills=csv --file data.csv --chat
  assemble run conf=support env=prod 'skills=[units,csv]' limits.turns=5 < question.txt
  assemble run conf=quickstart --json -i "100 F in C" | jq .type
  assemble run conf=quickstart session=sqlite --session ada -i "100 F in C"
"""

CODES = {"completed": DONE, "requires_action": WAITING, "cancelled": INTERRUPTED}
"""Exit codes of a run's ends; any other is a failure."""


def main(arguments: Sequence[str]) -> int:
    """Runs the command."""
    command = command_line.parse(_parser(), arguments)
    options = command.options
    agent = _agent(command, options.session)
    if options.chat or (options.input is None and not options.file and sys.stdin.isatty()):
        _require_chat(options)
        from assembler.cli.chat import chat

        return asyncio.run(chat(agent, options.session, options.file))
    text = _input(options.input, bool(options.file))
    return asyncio.run(_run(agent, text, options.file, options.session, as_json=options.json))


def _agent(command: Command, session: str | None) -> Agent:
    """The agent, with the conversations that it keeps only where one of them is named."""
    from assembler.assembly import agent_of
    from assembler.sessions.base import checked_name
    from assembler.sessions.memory import Memory

    if session is None:
        return agent_of(consent.declared(command), sessions=Memory())
    checked_name(session)
    declared = consent.declared(command)
    require_lasting(declared.config.session)
    return agent_of(declared)


def _parser() -> Parser:
    parser = command_line.parser("run", "Runs an agent. Without an input on a terminal, it is a chat.", EXAMPLES)
    parser.add_argument("-i", "--input", metavar="TEXT", action=Once, help="what to answer; `-` reads standard input")
    parser.add_argument("--file", action="append", default=[], metavar="PATH", help="a file for scripts; repeatable")
    about = "continue the conversation of this name, or begin it"
    parser.add_argument("--session", metavar="NAME", action=Once, help=about)
    parser.add_argument("--chat", action="store_true", help="talk, also where files are given")
    parser.add_argument("--json", action="store_true", help="print events as JSON, one a line; the last is the result")
    return parser


def _require_chat(options: Namespace) -> None:
    """Goes on only where a chat can be had.

    Raises:
        AssemblerError: JSON is asked for (``run/no-input``), an input is given, or nobody types
            (``cli/bad-option``).
    """
    if options.json:
        raise problem("run/no-input", "a chat has no JSON output", hint="give an input: -i TEXT, or --file PATH")
    if options.input is not None:
        raise problem("cli/bad-option", "`--chat` and `--input` exclude each other", hint="a chat asks for its inputs")
    if not sys.stdin.isatty():
        hint = "without `--chat`, standard input is the input"
        raise problem("cli/bad-option", "`--chat` needs a terminal as standard input", hint=hint)


def _input(given: str | None, has_files: bool) -> str:
    """The text of the input; standard input is read where it is asked for, or where there is nothing else."""
    if given is not None and given != "-":
        return given
    if given is None and has_files:
        return ""
    return sys.stdin.buffer.read().decode("utf-8", "replace")


async def _run(agent: Agent, text: str, files: Sequence[str], session: str | None, *, as_json: bool) -> int:
    _end_on_signals(agent)
    try:
        async with agent:
            events = agent.stream(text, files=files, session=session, approver=None if as_json else _approver())
            return await (_print_json(events) if as_json else _print(events))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


def _approver() -> Any:
    from assembler.cli.approve import terminal_approver

    return terminal_approver()


def _end_on_signals(agent: Agent) -> None:
    """An interruption ends the run, not its reader: scripts are killed, and the result is still told."""
    task = cast("asyncio.Task[int]", asyncio.current_task())

    def end() -> None:
        if not agent.cancel():
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end)


async def _print_json(events: AsyncIterator[Event]) -> int:
    last: dict[str, Any] = {}
    async with aclosing(cast("Any", events)) as stream:
        async for event in stream:
            last = event
            sys.stdout.write(json.dumps(event, ensure_ascii=False).encode("utf-8", "backslashreplace").decode() + "\n")
            sys.stdout.flush()
    return CODES.get(last["status"], FAILED)


async def _print(events: AsyncIterator[Event]) -> int:
    """The answer alone on standard output, everything else on standard error."""
    started = perf_counter()
    status = ""
    async with aclosing(cast("Any", events)) as stream:
        async for event in stream:
            progress.show(event)
            if event["type"] == "result":
                status = str(event["status"])
                text = str(event["output_text"])
                if text:
                    answer(text)
                progress.end(event, perf_counter() - started)
    return CODES.get(status, FAILED)
