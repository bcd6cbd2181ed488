"""Where the class behind a `kind` is found: a table for the built-in ones, entry points for the others."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from assembler.errors import did_you_mean, problem

BUILT_IN: dict[str, dict[str, str]] = {
    "sources": {
        "files": "assembler.skills.sources.files:FilesSource",
        "inline": "assembler.skills.sources.inline:InlineSource",
    },
    "decorators": {
        "cache": "assembler.skills.decorators.cache:Cache",
        "dedupe": "assembler.skills.decorators.dedupe:Dedupe",
        "filter": "assembler.skills.decorators.filter:Filter",
    },
    "runner": {
        "sandbox": "assembler.runners.sandbox:Sandbox",
        "subprocess": "assembler.runners.plain:Subprocess",
    },
    "tools": {},
    "model": {
        "openai": "assembler.models.openai_responses:OpenAIResponses",
        "scripted": "assembler.models.scripted:Scripted",
    },
    "session": {
        "memory": "assembler.sessions.memory:Memory",
    },
}
"""Dotted names by room and kind, imported when first used. A new kind is one file and one line here."""


def find_kind(room: str, kind: str) -> Any:
    """The class that a room knows under a kind.

    Built-in kinds come from the table; entry points of the group ``assembler.<room>`` are looked at only for others,
    since scanning them costs tens of milliseconds. Installing a distribution is what trusts it; naming a kind is not.

    Args:
        room: Name of the room, such as ``sources``.
        kind: Registered name, such as ``files``.

    Raises:
        AssemblerError: No such kind (``component/unknown-kind``), or its distribution fails to import
            (``component/broken-kind``).
    """
    name = BUILT_IN.get(room, {}).get(kind)
    if name is not None:
        module, _, attribute = name.partition(":")
        return getattr(import_module(module), attribute)
    installed = {entry.name: entry for entry in _entry_points(room)}
    entry = installed.get(kind)
    if entry is None:
        known = [*BUILT_IN.get(room, {}), *installed]
        hint = did_you_mean(kind, known) or f"no kinds of `{room}` are installed"
        raise problem("component/unknown-kind", f"`{room}` has no kind `{kind}`", hint=hint)
    try:
        return entry.load()
    except Exception as error:  # a plug-in's module can fail in any way; the user needs its name, not a traceback
        raise problem(
            "component/broken-kind",
            f"kind `{kind}` of `{room}` cannot be loaded from `{entry.value}`: {type(error).__name__}: {error}",
            hint="repair or uninstall the distribution that provides it",
        ) from error


def _entry_points(room: str) -> Iterable[Any]:
    from importlib.metadata import entry_points

    return entry_points(group=f"assembler.{room}")
