"""Where the class behind a `kind` is found: a table for the built-in ones, entry points for the others."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assembler.errors import did_you_mean, problem
from assembler.modules import belongs_to

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

BUILT_IN: dict[str, dict[str, str]] = {
    "sources": {
        "files": "assembler.skills.sources.files:FilesSource",
        "inline": "assembler.skills.sources.inline:InlineSource",
        "python": "assembler.skills.sources.python:PythonSource",
    },
    "decorators": {
        "cache": "assembler.skills.decorators.cache:Cache",
        "dedupe": "assembler.skills.decorators.dedupe:Dedupe",
        "filter": "assembler.skills.decorators.filter:Filter",
        "python": "assembler.skills.decorators.python:PythonDecorator",
    },
    "runner": {
        "python": "assembler.runners.python:PythonRunner",
        "sandbox": "assembler.runners.sandbox:Sandbox",
        "subprocess": "assembler.runners.plain:Subprocess",
    },
    "tools": {
        "python": "assembler.tools.python:PythonToolset",
    },
    "model": {
        "openai": "assembler.models.openai_responses:OpenAIResponses",
        "openai_chat": "assembler.models.openai_chat:OpenAIChat",
        "scripted": "assembler.models.scripted:Scripted",
    },
    "session": {
        "memory": "assembler.sessions.memory:Memory",
        "sqlite": "assembler.sessions.sqlite:Sqlite",
    },
}
"""Dotted names by room and kind, imported when first used. A new kind is one file and one line here."""


def find_kind(room: str, kind: str, outside: Path | None = None) -> Any:
    """The class that a room knows under a kind.

    Built-in kinds come from the table; entry points of the group ``assembler.<room>`` are looked at only for others,
    since scanning them costs tens of milliseconds. Installing a distribution is what trusts it; naming a kind is not.

    Args:
        room: Name of the room, such as ``sources``.
        kind: Registered name, such as ``files``.
        outside: Folder of a project whose own code provides no kinds: a project that somebody cloned may be on Python's
            path, and its metadata would have it run unasked.

    Raises:
        AssemblerError: No such kind (``component/unknown-kind``), or its distribution fails to import
            (``component/broken-kind``).
    """
    name = BUILT_IN.get(room, {}).get(kind)
    if name is not None:
        module, _, attribute = name.partition(":")
        return getattr(import_module(module), attribute)
    installed, own = _entry_points(room, outside)
    entry = installed.get(kind)
    if entry is None:
        hint = did_you_mean(kind, [*BUILT_IN.get(room, {}), *installed]) or f"no kinds of `{room}` are installed"
        if kind in own:
            hint = f"the project's own `{own[kind].value}` is used where it is installed, or named by `kind: python`"
        raise problem("component/unknown-kind", f"`{room}` has no kind `{kind}`", hint=hint)
    try:
        return entry.load()
    except Exception as error:  # a plug-in's module can fail in any way; the user needs its name, not a traceback
        raise problem(
            "component/broken-kind",
            f"kind `{kind}` of `{room}` cannot be loaded from `{entry.value}`: {type(error).__name__}: {error}",
            hint="repair or uninstall the distribution that provides it",
        ) from error


def _entry_points(room: str, outside: Path | None) -> tuple[dict[str, EntryPoint], dict[str, EntryPoint]]:
    """What provides kinds, by kind: the distributions on Python's path, and apart from them the project's own."""
    from importlib.metadata import distributions

    installed: dict[str, EntryPoint] = {}
    own: dict[str, EntryPoint] = {}
    # Not `entry_points`: of two distributions of one name it shows the first alone, which may be the project's.
    for distribution in distributions():
        for entry in distribution.entry_points.select(group=f"assembler.{room}"):
            # Where its metadata lies counts, not its code: a project that somebody installed to work on it is trusted.
            is_own = outside is not None and belongs_to(Path(str(distribution.locate_file(""))), outside)
            (own if is_own else installed).setdefault(entry.name, entry)
    return installed, own
