"""What an open agent holds: entered and left by one task, in reverse order."""

from __future__ import annotations

import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from assembler.folders import remove_tree


class Scope(AsyncExitStack):
    """Everything that has to be closed when an agent is: clients, connections, private folders."""

    def folder(self, purpose: str) -> Path:
        """A new private folder (mode 0700), removed with everything in it when the scope is left.

        Args:
            purpose: A word for whoever looks at a process list or a crashed machine.
        """
        path = Path(tempfile.mkdtemp(prefix=f"assembler-{purpose}-"))
        self.callback(remove_tree, path)
        return path
