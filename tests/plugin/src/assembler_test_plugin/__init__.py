"""A kind of skill source from outside Assembler."""

from collections.abc import Sequence

from assembler.skills.inline import InlineSkill
from assembler.skills.skill import Skill, SourceContext
from assembler.skills.sources.base import SkillSource


class GreetingsSource(SkillSource, kind="greetings"):
    """One skill a language, which says how people greet in it."""

    languages: list[str] = ["en"]
    """Language codes."""

    async def list_skills(self, context: SourceContext) -> Sequence[Skill]:
        """The skills in the order of the languages."""
        return [
            InlineSkill(
                f"greet-{language}",
                f"Greets people who speak `{language}`. Use it when they say hello.",
                f"Greet in `{language}`.",
                source=context.name,
            )
            for language in self.languages
        ]
