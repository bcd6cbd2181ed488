"""Every example of the documentation is tried: its files written, its commands and its Python run.

A page is played from top to bottom in a scratch project that is a copy of this repository's `conf/` and `skills/` where
the page says `<!-- project: example -->`, and empty otherwise:

- A block whose first line is a comment with a path, or that follows a line such as `skills/x/SKILL.md`: (in backticks),
  writes that file.
- In a `console` block, lines after `$ ` are run by bash, and the lines after them are what is printed on both outputs.
  A command that fails is followed by `$ echo $?`. After `<!-- terminal -->` it runs on a terminal, where what follows a
  prompt is typed.
- A `python` block is executed; a `text` block right after it is what it prints. The blocks of a page share their names.
- In output, `...` stands for anything. Times and digests are not compared.
- `<!-- needs: isolation -->`: the page is skipped where nothing isolates scripts.
- `<!-- server: 127.0.0.1:8080 -->`: a model server answers at that address.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.models import chat
from tests.models.loopback import message, serve, stream

from assembler import AssemblerError, Sandbox

from .expected import difference
from .pages import PAGES, Page
from .playing import Playground

ANSWER = "A sonnet has fourteen lines."
"""What the model server answers, whatever it is asked."""


def answer(path: str) -> Any:
    """The same in both APIs."""
    return chat.text(ANSWER) if path.endswith("/chat/completions") else stream(message(ANSWER))


@pytest.fixture
def servers() -> Iterator[ExitStack]:
    """Servers that run to the end of a test."""
    with ExitStack() as running:
        yield running


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("path", PAGES, ids=str)
def test_a_page(path: Path, tmp_path: Path, servers: ExitStack, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page.read(path)
    if page.marks.get("needs") == "isolation":
        skip_without_isolation()
    module = ModuleType("example")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    addresses: dict[str, str] = {}
    if "server" in page.marks:
        server = servers.enter_context(serve([answer] * 20))
        addresses[page.marks["server"]] = urlsplit(server.url).netloc
    playground = Playground(page, tmp_path / "project", tmp_path / "tools", module, addresses)
    monkeypatch.chdir(playground.folder)
    for ambient in ("ASSEMBLE_CONF", "OPENAI_API_KEY"):
        monkeypatch.delenv(ambient, raising=False)
    playground.play()


def skip_without_isolation() -> None:
    """Skips, and says why, where nothing isolates scripts."""
    try:
        asyncio.run(Sandbox().confinement())
    except AssemblerError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize(
    ("expected", "printed", "fits"),
    [
        ("a\n", "a\n", True),
        ("a\n", "a", False),
        ("a\n", "b\n", False),
        ("a\n", "a\nb\n", False),
        ("", "a\n", False),
        ("a\n...\n", "a\nb\nc\n", True),
        ("a\n...\nc\n", "a\nc\n", True),
        ("...\nc\n", "a\nd\n", False),
        ("a ... c\n", "a b c\n", True),
        ("a ...\n", "a b\nc\n", False),
        ("done (4 ms, isolation: x)\n", "done (1.2 s, isolation: x)\n", True),
        ("done (4 ms, isolation: x)\n", "done (4 ms, isolation: none)\n", False),
        ("took 4 ms\n", "took 5 ms\n", False),
        ("agent sha256:49db1af93c78\n", "agent sha256:0123456789ab\n", True),
        ("a.c (x)\n", "abc (x)\n", False),
    ],
)
def test_what_a_page_says_is_compared(expected: str, printed: str, fits: bool) -> None:
    assert (difference(expected, printed) == "") is fits
