"""The `skills` of an agent: sources, decorators over all of them, and how they are offered."""

from __future__ import annotations

from assembler.components import Config, NamedKinds
from assembler.skills.catalog import Catalog
from assembler.skills.decorators.base import SkillDecorator
from assembler.skills.skill import Source
from assembler.skills.sources.aggregate import Aggregate
from assembler.skills.sources.base import SkillSource


class Skills(Config):
    """Where skills come from, what they pass through, and how they are offered."""

    sources: NamedKinds[SkillSource] = {}
    """Sources by name; on equal names of skills, the first in order wins."""
    decorators: NamedKinds[SkillDecorator] = {}
    """What the skills of all sources pass through, innermost first."""
    catalog: Catalog = Catalog()
    """How skills are offered to the model."""

    def open(self) -> Source:
        """One source over all of them, which remembers what its decorators remember."""
        return Aggregate(self.sources, self.decorators)
