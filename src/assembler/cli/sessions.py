"""`assemble sessions`: conversations that are kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from assembler.cli import arguments as command_line
from assembler.cli import consent
from assembler.cli.arguments import Parser
from assembler.cli.commands import DONE
from assembler.cli.output import answer, tell, tell_diagnostics
from assembler.cli.table import table
from assembler.errors import AssemblerError, did_you_mean, nearest, problem
from assembler.items import Item, text_of
from assembler.scope import Scope

if TYPE_CHECKING:
    from pathlib import Path

    from assembler.sessions.base import SessionBackend, SessionStore

EXAMPLES = """\
  assemble sessions list conf=support
  assemble sessions show ada conf=support
  assemble sessions show ada conf=support --json | jq '.items[-1]'
  assemble sessions delete ada conf=support
"""

Found = dict[str, Any]
"""What came of a command, as JSON."""


def main(arguments: Sequence[str]) -> int:
    """Runs the command."""
    given = list(arguments)
    asked = given.pop(0) if given else ""
    if asked in {"-h", "--help"}:
        about = "Lists, shows and deletes stored conversations."
        command_line.parser(f"sessions {'|'.join(_COMMANDS)}", about, EXAMPLES).print_help()
        return DONE
    if asked not in _COMMANDS:
        hint = did_you_mean(asked, _COMMANDS)
        raise problem("cli/no-such-command", f"there is no command `sessions {asked}`", hint=hint)
    what, takes_name, act, show = _COMMANDS[asked]
    parser = command_line.parser(f"sessions {asked}{' SESSION' if takes_name else ''}", what, EXAMPLES)
    parser.add_argument("--json", action="store_true", help="print JSON")
    name = _name(given, parser) if takes_name else ""
    command = command_line.parse(parser, given)
    from assembler.config.gate import DeclaredGate

    declared = consent.declared(command, "session")
    backend = DeclaredGate(declared).admit_session()
    require_lasting(backend)
    composition = declared.composition
    found = asyncio.run(_in_store(backend, composition.project.folder, name, act))
    if command.options.json:
        found["diagnostics"] = [warning.to_json() for warning in composition.warnings]
        answer(json.dumps(found, ensure_ascii=False, indent=2))
        return DONE
    tell_diagnostics(composition.warnings)
    show(found)
    return DONE


def require_lasting(backend: SessionBackend) -> None:
    """Goes on only if what is kept is still there the next time.

    Raises:
        AssemblerError: It is not (``session/not-lasting``).
    """
    if not backend.is_lasting:
        message = f"`session={backend.kind}` forgets every conversation when the agent is closed"
        raise problem("session/not-lasting", message, hint="session=sqlite keeps them")


def _name(given: list[str], parser: Parser) -> str:
    """Takes the name of a session off the front of a command line: there it may hold anything, also `=`.

    Raises:
        AssemblerError: There is none (``cli/no-session``).
    """
    if given[:1] in (["-h"], ["--help"]):
        return ""  # whoever asks for help names nothing
    is_plain = given[:1] == ["--"]
    if is_plain:
        del given[0]
    if not given or (not is_plain and given[0].startswith(("-", "conf="))):
        raise problem("cli/no-session", "no session is named", hint=f"{parser.prog} conf=NAME")
    return given.pop(0)


Act = Callable[["SessionStore", str], Awaitable[Found]]


async def _in_store(backend: SessionBackend, base: Path, name: str, act: Act) -> Found:
    scope = Scope()
    try:
        return await act(backend.open(scope, base), name)
    finally:
        await scope.aclose()


async def _list(store: SessionStore, name: str) -> Found:
    found = await store.summaries()
    return {
        "sessions": [
            {
                "name": summary.name,
                "length": summary.length,
                "created": summary.created.isoformat(timespec="seconds"),
                "updated": summary.updated.isoformat(timespec="seconds"),
            }
            for summary in found
        ]
    }


async def _show(store: SessionStore, name: str) -> Found:
    conversation = await store.load(name) if await _has(store, name) else None
    if conversation is None:
        raise await _missing(store, name)
    return {"name": name, "items": list(conversation.items), "agents": dict(await store.agents(name))}


async def _delete(store: SessionStore, name: str) -> Found:
    if not await store.delete(name):
        raise await _missing(store, name)
    return {"deleted": name}


async def _has(store: SessionStore, name: str) -> bool:
    return any(summary.name == name for summary in await store.summaries())


async def _missing(store: SessionStore, name: str) -> AssemblerError:
    near = nearest(name, [summary.name for summary in await store.summaries()])
    hint = f"did you mean `{near}`?" if near is not None else "`assemble sessions list` shows what there is"
    return problem("session/no-such-session", f"there is no session `{name}`", hint=hint)


def _show_list(found: Found) -> None:
    rows = ((each["name"], str(each["length"]), each["updated"]) for each in found["sessions"])
    table(("session", "items", "last used"), rows)


def _show_conversation(found: Found) -> None:
    for item in found["items"]:
        # Whoever speaks stands at the margin, and nothing that is said does.
        answer("\n".join(f"  {line}".rstrip() for line in _said(item).splitlines())[2:])
    for digest in found["agents"]:
        tell(f"  agent {digest[:19]}")


def _said(item: Item) -> str:
    """An item as a person reads it."""
    kind = item["type"]
    if kind == "message":
        return f"{item.get('role')}: {text_of(item)}"
    if kind == "function_call":
        return f"call: {item.get('name')} {item.get('arguments')}"
    if kind == "function_call_output":
        return f"output: {item.get('output')}"
    return f"{kind}: {_summary(item) or '(nothing that can be read)'}"


def _summary(item: Item) -> str:
    """What a provider shows of its model's reasoning."""
    found = item.get("summary")
    parts = cast("list[Any]", found) if isinstance(found, list) else []
    texts = [cast("dict[str, Any]", part).get("text") for part in parts if isinstance(part, dict)]
    return " ".join(text for text in texts if isinstance(text, str))


def _show_deleted(found: Found) -> None:
    answer(f"session {found['deleted']} deleted")


_COMMANDS: dict[str, tuple[str, bool, Act, Callable[[Found], None]]] = {
    "list": ("Lists the stored conversations, the last used first.", False, _list, _show_list),
    "show": ("Shows a stored conversation.", True, _show, _show_conversation),
    "delete": ("Deletes a stored conversation, without asking.", True, _delete, _show_deleted),
}
"""What each command does, whether it takes the name of a session, how it finds what it prints, and how for people."""
