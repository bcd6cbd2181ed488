"""One matcher for filters, approvals and overrides: which skills, scripts, tools, sources and tags are meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, model_validator


@dataclass(frozen=True, slots=True)
class Facts:
    """What a matcher can look at: a skill, or a call of a tool.

    Attributes:
        tool: Name of the tool that is called; empty when a skill alone is looked at.
        skill: Name of the skill; empty where none is involved.
        script: Path of the script from its skill's root, in POSIX form.
        source: Name of the skill's source, or of the toolset that owns the tool.
        tags: The skill's tags.
    """

    tool: str = ""
    skill: str = ""
    script: str = ""
    source: str = ""
    tags: tuple[str, ...] = ()


class Match(BaseModel):
    """Patterns over names: keys join with *and*, the patterns of a key with *or*.

    A pattern is a case-sensitive glob (``*`` and ``?`` match any character, ``/`` too; ``[abc]``); one that starts with
    ``!`` excludes, and an exclusion beats every inclusion. A key with nothing but exclusions includes all the rest.
    Instead of a mapping, a list of patterns is short for ``{skills: [...]}``.

    A key about skills, scripts, tools or sources is about what has one: it never matches a call that involves none,
    whatever its patterns exclude. Having no tags is as ordinary as having some, so ``tags: [!safe]`` matches whatever
    is not tagged `safe`, with tags or without: a rule that denies it denies what nobody has tagged.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    skills: tuple[str, ...] = ()
    """Names of skills."""
    scripts: tuple[str, ...] = ()
    """Scripts, as `skill/path/from/its/root`."""
    tools: tuple[str, ...] = ()
    """Names of tools as the model sees them."""
    sources: tuple[str, ...] = ()
    """Names of skill sources or toolsets."""
    tags: tuple[str, ...] = ()
    """Tags of a skill: the words of its `metadata.tags`."""

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        return {"skills": cast("Sequence[Any]", value)} if isinstance(value, list | tuple) else value

    @property
    def is_empty(self) -> bool:
        """Whether no key is given: an empty match means nothing in particular and matches nothing."""
        return not (self.skills or self.scripts or self.tools or self.sources or self.tags)

    def is_about(self, tool: str) -> bool:
        """Whether some call of a tool could match."""
        return not self.is_empty and _one(self.tools, tool)

    def matches(self, facts: Facts) -> bool:
        """Whether every given key matches; an empty match matches nothing."""
        if self.is_empty:
            return False
        script = f"{facts.skill}/{facts.script}" if facts.script else ""
        return (
            _one(self.skills, facts.skill)
            and _one(self.scripts, script)
            and _one(self.tools, facts.tool)
            and _one(self.sources, facts.source)
            and _fit(self.tags, facts.tags)
        )


def _one(patterns: Sequence[str], name: str) -> bool:
    """Whether a key's patterns fit a name; a key that is given does not fit where there is none."""
    return not patterns or (bool(name) and _fit(patterns, (name,)))


def _fit(patterns: Sequence[str], names: Sequence[str]) -> bool:
    """Whether a key's patterns fit one of the names and exclude none; a key that is not given does not restrict."""
    excluded = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
    included = [pattern for pattern in patterns if not pattern.startswith("!")]
    if any(fnmatchcase(name, pattern) for name in names for pattern in excluded):
        return False
    return not included or any(fnmatchcase(name, pattern) for name in names for pattern in included)
