"""Skills written in the configuration, or in Python and named there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import isclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, JsonValue, StringConstraints, ValidationInfo
from pydantic_core import PydanticCustomError

from assembler.components import Entry, Named
from assembler.errors import AssemblerError, Diagnostic, first_line, problem
from assembler.python.refs import Function, Places, PythonRef
from assembler.skills import names
from assembler.skills.inline import InlineSkill
from assembler.skills.skill import Frontmatter, Skill, SourceContext
from assembler.skills.sourced import Sourced
from assembler.skills.sources.base import SkillSource

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class InlineSkillConfig(Entry):
    """A skill written in the configuration; the key is its name."""

    description: Text
    """What it does and when to use it."""
    instructions: str = ""
    """What loading it hands to the model."""
    resources: dict[str, str | Function] = {}
    """What the model can read, by name: texts, and Python functions (`{target: package.module:Name}`) that are called
    at each read."""
    scripts: dict[str, Function] = {}
    """Python functions that the model can run, by name: `{target: package.module:Name}`."""
    metadata: dict[str, JsonValue] = {}
    """Keys of your own; `tags` among them is what matchers look at."""


class ClassSkill(PythonRef, Entry):
    """A skill written in Python: a subclass of `Skill` that takes no arguments, or an instance; the key is its name."""

    @classmethod
    def expected(cls) -> type[Skill]:
        """A skill."""
        return Skill

    def accept(self, found: object, where: Places) -> object:
        """The skill.

        Raises:
            AssemblerError: It is none (``python/wrong-type``), or its class cannot be called
                (``python/construction-failed``).
        """
        if isclass(found) and issubclass(found, Skill):
            found = self._made(found, where)
        frontmatter, stamp = getattr(found, "frontmatter", None), getattr(found, "stamp", None)
        if isinstance(found, Skill) and isinstance(frontmatter, Frontmatter) and isinstance(stamp, str):
            return found
        raise self.unfit("a subclass of `Skill`, or an instance of one, with `frontmatter` and `stamp`", found, where)

    def _made(self, found: type[Skill], where: Places) -> Skill:
        try:
            return found()
        except Exception as error:  # constructors are foreign code
            message = f"`{self.target}` cannot be made: {type(error).__name__}: {first_line(error)}"
            raise AssemblerError(Diagnostic("python/construction-failed", message, where=where(("target",)))) from error


def _entry(value: Any, info: ValidationInfo) -> InlineSkillConfig | ClassSkill:
    """What has a target is written in Python; told apart first, so that mistakes are those of one form only."""
    if isinstance(value, InlineSkillConfig | ClassSkill):
        return value
    form = ClassSkill if isinstance(value, Mapping) and "target" in value else InlineSkillConfig
    return form.model_validate(value, context=info.context)


InlineEntry = Annotated[InlineSkillConfig | ClassSkill, BeforeValidator(_entry)]


def _with_good_names(skills: dict[str, InlineSkillConfig | ClassSkill]) -> dict[str, InlineSkillConfig | ClassSkill]:
    for name in skills:
        if not names.is_name(name):
            safe = names.safe_name(name)
            context = {"entry": name, "rule": names.RULE, "hint": f"did you mean `{safe}`?" if safe else ""}
            raise PydanticCustomError("skills/bad-name", "`{entry}` is not a skill name: use {rule}", context)
    return skills


class InlineSource(SkillSource, kind="inline"):
    """Skills whose text stands in the configuration."""

    skills: Annotated[Named[InlineEntry], AfterValidator(_with_good_names)]
    """Skills by name."""

    def folders(self, base: Path) -> Sequence[Path]:
        """None: its scripts are functions."""
        return ()

    async def list_skills(self, context: SourceContext) -> Sequence[Skill]:
        """The skills in their order; what is wrong with one is told, and the others stay."""
        skills: list[Skill] = []
        for name, entry in self.skills.items():
            try:
                skills.append(_skill(name, entry, context.name))
            except AssemblerError as error:
                for diagnostic in error.diagnostics:
                    context.report(diagnostic)
        return skills


def _skill(name: str, entry: InlineSkillConfig | ClassSkill, source: str) -> Skill:
    if isinstance(entry, InlineSkillConfig):
        return InlineSkill(
            name,
            entry.description,
            entry.instructions,
            resources=entry.resources,
            scripts=entry.scripts,
            metadata=entry.metadata,
            source=source,
        )
    skill: Skill = entry.loaded
    if skill.name != name:
        message = f"`{entry.target}` is the skill `{skill.name}`, and the configuration calls it `{name}`"
        raise problem("skills/bad-name", message, hint=f"write it under the key `{skill.name}`")
    return Sourced(skill, source)
