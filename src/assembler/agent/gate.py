"""The gate that a declaration passes before anything of it is opened."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from assembler.agent.config import AgentConfig
from assembler.errors import NOWHERE, Where
from assembler.python import refs


class Gate(Protocol):
    """Stops what nobody agreed to. Both of its methods block, since they read files."""

    def admit(self) -> AgentConfig:
        """What may be opened: the declaration with the Python objects that it names.

        Raises:
            AssemblerError: Nobody agreed to some of it, or an object cannot be used.
        """
        ...

    def check(self) -> None:
        """Looks again, before a run, whether what was admitted is still what was agreed to.

        Raises:
            AssemblerError: It is not.
        """
        ...


class OwnGate:
    """The gate for what a program declares itself: that is its own doing, but for Python objects that it only names.

    Args:
        config: The declaration.
        is_trusted: Whether code that is named as ``package.module:Name`` may be imported; by default none may.
    """

    def __init__(self, config: AgentConfig, is_trusted: Callable[[str], bool] = lambda target: False) -> None:
        self._config = config
        self._is_trusted = is_trusted

    def admit(self) -> AgentConfig:
        """The declaration with the Python objects that it names.

        Raises:
            AssemblerError: One cannot be used, or is not trusted (``python/...``).
        """
        return refs.load(self._config, is_trusted=self._is_trusted, where=_nowhere)

    def check(self) -> None:
        """Nothing can have changed."""


def _nowhere(path: Sequence[str | int]) -> Where:
    return NOWHERE
