"""What a declared skill source is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path

from assembler.components import Component, Entry, NamedKinds
from assembler.skills.decorators.base import SkillDecorator
from assembler.skills.skill import Skill, SourceContext


class SkillSource(Component, Entry, room="sources"):
    """Finds skills."""

    decorators: NamedKinds[SkillDecorator] = {}
    """What this source's skills pass through, innermost first, before the decorators over all sources."""

    def folders(self, base: Path) -> Sequence[Path]:
        """Folders of this machine that the files of its scripts lie in; unless it says so, anywhere in the project.

        Args:
            base: The project's folder, against which relative paths resolve.
        """
        return (base,)

    @abstractmethod
    async def list_skills(self, context: SourceContext) -> Sequence[Skill]:
        """Lists what it has, in a deterministic order.

        One bad skill never stops another: what is skipped or changed goes to ``context.report``.

        Raises:
            AssemblerError: The source as a whole cannot be read.
        """
