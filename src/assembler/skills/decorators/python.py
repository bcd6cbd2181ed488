"""A decorator that is written in Python."""

from __future__ import annotations

from assembler.python.parts import PythonPart
from assembler.skills.decorators.base import SkillDecorator
from assembler.skills.skill import Source


class PythonDecorator(PythonPart, SkillDecorator, kind="python"):
    """A Python object that changes what a source lists: a subclass of `SkillDecorator`, or an instance of one."""

    beside = frozenset({"order"})

    def wrap(self, inner: Source) -> Source:
        """What it makes of the source.

        Raises:
            AssemblerError: Nobody loaded it (``python/not-loaded``).
        """
        decorator: SkillDecorator = self.loaded
        return decorator.wrap(inner)
