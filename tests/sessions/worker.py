"""Processes that add to conversations until they are killed, each forked from one that has imported everything.

Reads lines of JSON from standard input: what to do, and the file. The first line that a child writes is its process
number; once it is dead, the parent writes `dead`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.agent.support import agent, call, done, say
from tests.sessions.support import AGENT, run_of, store_of

from assembler.sessions.sqlite import Sqlite

MOST = 500
"""Runs that a child does when nobody kills it."""


def tell(line: str) -> None:
    """In one write, so that what was told was told whole."""
    os.write(1, f"{line}\n".encode())


async def append(path: Path, version: int, first: int) -> None:
    """Adds runs to a conversation, and tells each that is kept."""
    async with store_of(Sqlite(path=path), path.parent) as store:
        for number in range(first, first + MOST):
            version = await store.append("s", run_of(str(number)), expected=version, **AGENT)
            tell(str(number))


async def talk(path: Path, version: int, first: int) -> None:
    """Runs an agent that calls a tool in each run, and tells each run that has ended."""
    numbers = range(first, first + MOST)
    streams = [turn for number in numbers for turn in (done(call(f"call-{number}")), done(say(f"answer {number}")))]

    async def body(arguments: Mapping[str, Any]) -> object:
        await asyncio.sleep(0.005)
        return "output"

    async with agent(*streams, body=body, session=Sqlite(path=path)) as opened:
        for number in numbers:
            result = await opened.run(f"question {number}", session="s")
            assert result.status == "completed", result
            tell(str(number))


WORK = {"append": append, "talk": talk}


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            tell(str(os.getpid()))
            asyncio.run(WORK[asked["work"]](Path(asked["path"]), asked["version"], asked["first"]))
            os._exit(0)
        os.waitpid(child, 0)
        tell("dead")


if __name__ == "__main__":
    main()
