"""A toolset that is written in Python."""

from __future__ import annotations

from collections.abc import Sequence

from assembler.python.parts import PythonPart
from assembler.scope import Scope
from assembler.tools.base import Tool, Toolset


class PythonToolset(PythonPart, Toolset, kind="python"):
    """Tools that a Python object brings: a subclass of `Toolset`, or an instance of one."""

    beside = frozenset({"order"})

    async def tools(self, name: str, scope: Scope) -> Sequence[Tool]:
        """Its tools.

        Raises:
            AssemblerError: Nobody loaded it (``python/not-loaded``), or as it does.
        """
        toolset: Toolset = self.loaded
        return await toolset.tools(name, scope)
