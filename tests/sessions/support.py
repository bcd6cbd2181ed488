"""Conversations of tests, and stores that are open for a while."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from assembler import AssemblerError
from assembler.items import Item, assistant_message, function_call, function_call_output, user_message
from assembler.scope import Scope
from assembler.sessions.base import SessionBackend, SessionStore
from assembler.sessions.sqlite import Sqlite

T = TypeVar("T")

AGENT: dict[str, Any] = {"digest": "sha256:one", "declaration": {"name": "one"}}
OTHER: dict[str, Any] = {"digest": "sha256:two", "declaration": {"name": "two"}}


def run_of(name: str) -> list[Item]:
    """What one run adds: a question, a call, its output, an answer."""
    return [
        user_message(f"question {name}"),
        function_call(f"call-{name}", "probe", "{}"),
        function_call_output(f"call-{name}", f"output {name}"),
        assistant_message(f"answer {name}"),
    ]


def runs_in(items: Sequence[Item]) -> list[str]:
    """The names of the runs that a conversation is made of; it holds nothing but whole ones."""
    names = [str(item["call_id"]).removeprefix("call-") for item in items[1::4]]
    assert list(items) == [item for name in names for item in run_of(name)]
    return names


@asynccontextmanager
async def store_of(backend: SessionBackend, base: Path) -> AsyncGenerator[SessionStore]:
    """An open store."""
    scope = Scope()
    try:
        yield backend.open(scope, base)
    finally:
        await scope.aclose()


def using(backend: SessionBackend, base: Path, work: Callable[[SessionStore], Awaitable[T]]) -> T:
    """What comes of a store that is opened for it alone."""

    async def opened() -> T:
        async with store_of(backend, base) as store:
            return await work(store)

    return asyncio.run(opened())


async def append(store: SessionStore, name: str, *runs: str) -> None:
    """Adds runs to a conversation."""
    version = (await store.load(name)).version
    for run in runs:
        version = await store.append(name, run_of(run), expected=version, **AGENT)


def filled(path: Path, *runs: str, name: str = "s") -> Sqlite:
    """A file in which one conversation is made of these runs."""
    backend = Sqlite(path=path)
    using(backend, path.parent, lambda store: append(store, name, *runs))
    return backend


def runs_of(backend: SessionBackend, base: Path, name: str = "s") -> list[str]:
    """The names of the runs that are stored under a name."""
    return runs_in(using(backend, base, lambda store: store.load(name)).items)


def refused(backend: SessionBackend, base: Path, work: Callable[[SessionStore], Awaitable[object]]) -> str:
    """Code of the one thing that is told, with its way out."""
    with pytest.raises(AssemblerError) as caught:
        using(backend, base, work)
    (found,) = caught.value.diagnostics
    assert found.hint
    return found.code
