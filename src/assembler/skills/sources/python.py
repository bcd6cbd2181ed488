"""A source that is written in Python."""

from __future__ import annotations

from collections.abc import Sequence

from assembler.python.parts import PythonPart
from assembler.skills.skill import Skill, SourceContext
from assembler.skills.sources.base import SkillSource


class PythonSource(PythonPart, SkillSource, kind="python"):
    """Skills that a Python object lists: a subclass of `SkillSource`, or an instance of one."""

    beside = frozenset({"decorators", "order"})

    async def list_skills(self, context: SourceContext) -> Sequence[Skill]:
        """What it lists.

        Raises:
            AssemblerError: Nobody loaded it (``python/not-loaded``), or as it does.
        """
        source: SkillSource = self.loaded
        return await source.list_skills(context)
