"""What can be said to a chat itself: each command is one entry of a table."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from assembler.agent.handed import files_by_name
from assembler.cli.chat_paths import completions, typed_paths
from assembler.cli.output import escaped, one_line, tell
from assembler.cli.terminal import columns
from assembler.errors import did_you_mean, problem

if TYPE_CHECKING:
    from assembler.agent.agent import Agent

_STDERR = 2


@dataclass(slots=True)
class Talk:
    """What commands work on.

    Attributes:
        agent: Who is talked to.
        files: Files that every question comes with.
        is_over: Whether the chat ends.
    """

    agent: Agent
    files: list[Path] = field(default_factory=list[Path])
    is_over: bool = False

    def add(self, paths: Sequence[Path]) -> None:
        """Hands files to every question from now on; one that is there already stays once.

        Raises:
            AssemblerError: One cannot be read, or two have one name; then nothing changes.
        """
        files = list({path.absolute(): path for path in (*self.files, *paths)}.values())
        files_by_name(files)
        self.files = files


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """A command.

    Attributes:
        does: What it does, for the help.
        act: Does it, with what follows the command's name.
        takes: What may follow the name, for the help; empty if nothing may.
        complete: What the text after the name could go on with: the part to replace, and what replaces it.
    """

    does: str
    act: Callable[[Talk, str], Awaitable[None]]
    takes: str = ""
    complete: Callable[[str], tuple[str, list[str]]] | None = None


def is_command(text: str) -> bool:
    """Whether a text is for the chat itself; a space before the slash makes it one for the agent."""
    return text.startswith("/")


async def obey(talk: Talk, text: str) -> None:
    """Does what a command says.

    Raises:
        AssemblerError: There is no such command (``cli/no-such-command``), it takes nothing (``cli/bad-argument``), or
            it fails.
    """
    name, *rest = text.split(maxsplit=1)
    command = COMMANDS.get(name)
    if command is None:
        hint = f"{did_you_mean(name, COMMANDS)}\n  with a space before the slash, it is said to the agent"
        raise problem("cli/no-such-command", f"there is no command `{one_line(name)}`", hint=hint)
    if rest and not command.takes:
        raise problem("cli/bad-argument", f"`{name}` takes nothing", hint=f"`{name}` alone")
    await command.act(talk, rest[0] if rest else "")


def complete(text: str) -> tuple[str, list[str]]:
    """What a line could go on with.

    Args:
        text: The line as far as it is typed.

    Returns:
        The part whose place they take, and what takes its place.
    """
    name, space, rest = text.partition(" ")
    if not space:
        begun = {each: command for each, command in COMMANDS.items() if is_command(name) and each.startswith(name)}
        return name, [each + (" " if command.takes else "") for each, command in begun.items()]
    command = COMMANDS.get(name)
    return command.complete(rest) if command is not None and command.complete is not None else ("", [])


async def _help(talk: Talk, rest: str) -> None:
    usages = [f"{name} {command.takes}" for name, command in COMMANDS.items()]
    margin = max(map(len, usages))
    for usage, command in zip(usages, COMMANDS.values(), strict=True):
        tell(f"  {usage:<{margin}}  {command.does}")
    tell(_KEYS)


async def _files(talk: Talk, rest: str) -> None:
    if rest.strip() == "clear":
        talk.files = []
    elif rest:
        talk.add(typed_paths(rest))
    for path in talk.files:
        tell(f"  {one_line(str(path))}")
    if not talk.files:
        tell("  no files")


async def _skills(talk: Talk, rest: str) -> None:
    from rich.text import Text

    skills = (await talk.agent.snapshot()).skills
    margin = max(map(len, skills), default=0)
    for name, skill in sorted(skills.items()):
        line = Text(escaped(f"  {name:<{margin}}  {' '.join(skill.description.split())}"))
        line.truncate(columns(_STDERR) - 1, overflow="ellipsis")
        tell(line.plain)
    if not skills:
        tell("  no skills")


async def _quit(talk: Talk, rest: str) -> None:
    talk.is_over = True


COMMANDS = {
    "/help": ChatCommand("show this", _help),
    "/files": ChatCommand(
        "the files that every question comes with",
        _files,
        takes="[PATH ... | clear]",
        complete=completions,
    ),
    "/skills": ChatCommand("the skills that the agent sees", _skills),
    "/quit": ChatCommand("end the chat, as Ctrl-D does", _quit),
    "/exit": ChatCommand("the same", _quit),
}
"""Each command by the word that calls it."""

_KEYS = """\
  Enter sends; Alt-Enter, Esc Enter or a backslash before Enter begins a line.
  Tab completes commands and paths. A slash after a space is for the agent.
  Ctrl-C stops an answer or drops what is typed; twice, it ends the chat."""
