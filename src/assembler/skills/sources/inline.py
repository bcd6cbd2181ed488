"""Skills written in the configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, JsonValue, StringConstraints
from pydantic_core import PydanticCustomError

from assembler.components import Entry, Named
from assembler.skills import names
from assembler.skills.inline import InlineSkill
from assembler.skills.skill import Skill, SourceContext
from assembler.skills.sources.base import SkillSource

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class InlineSkillConfig(Entry):
    """A skill written in the configuration; the key is its name."""

    description: Text
    """What it does and when to use it."""
    instructions: str = ""
    """What loading it hands to the model."""
    resources: dict[str, str] = {}
    """Texts that the model can read, by name."""
    metadata: dict[str, JsonValue] = {}
    """Keys of your own; `tags` among them is what matchers look at."""


def _with_good_names(skills: dict[str, InlineSkillConfig]) -> dict[str, InlineSkillConfig]:
    for name in skills:
        if not names.is_name(name):
            raise PydanticCustomError(
                "skills/bad-name",
                "`{name}` is not a skill name: use {rule}",
                {"name": name, "rule": names.RULE},
            )
    return skills


class InlineSource(SkillSource, kind="inline"):
    """Skills whose text stands in the configuration."""

    skills: Annotated[Named[InlineSkillConfig], AfterValidator(_with_good_names)]
    """Skills by name."""

    async def list_skills(self, context: SourceContext) -> Sequence[Skill]:
        """The skills in their order."""
        return [
            InlineSkill(
                name,
                skill.description,
                skill.instructions,
                resources=skill.resources,
                metadata=skill.metadata,
                source=context.name,
            )
            for name, skill in self.skills.items()
        ]
