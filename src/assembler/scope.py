"""What an open agent holds: entered and left by one task, in reverse order."""

from __future__ import annotations

import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from assembler.errors import problem
from assembler.folders import discard_tree


class Scope(AsyncExitStack):
    """Everything that has to be closed when an agent is: clients, connections, private folders."""

    def __init__(self) -> None:
        super().__init__()
        self._left = False

    async def __aenter__(self) -> Self:
        self._left = False
        return await super().__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._left = True
        return bool(await super().__aexit__(kind, error, trace))

    def folder(self, purpose: str) -> Path:
        """A new private folder (mode 0700), removed with everything in it when the scope is left.

        Args:
            purpose: A word for whoever looks at a process list or a crashed machine.

        Raises:
            AssemblerError: The scope was left: nobody would remove it (``agent/not-open``).
            OSError: It cannot be made.
        """
        if self._left:
            raise problem("agent/not-open", "the agent was closed meanwhile", hint="use it inside of `async with`")
        path = Path(tempfile.mkdtemp(prefix=f"assembler-{purpose}-"))
        self.callback(discard_tree, path)
        return path
