"""What a decorator is: it wraps a source and is one."""

from __future__ import annotations

from abc import abstractmethod

from assembler.components import Component, Entry
from assembler.skills.skill import Source


class SkillDecorator(Component, Entry, room="decorators"):
    """Changes what a source lists."""

    @abstractmethod
    def wrap(self, inner: Source) -> Source:
        """A source over another one. Whatever has to be remembered lives in what is returned."""
