"""What happens to skills with the same name: the first one counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from assembler.errors import Diagnostic
from assembler.skills.skill import Report, Skill


def first_of_each(skills: Iterable[Skill], key: Callable[[str], str], report: Report) -> list[Skill]:
    """The first skill of each name.

    Args:
        skills: In their order.
        key: What makes two names the same.
        report: Told of every skill that is left out, unless its SKILL.md is that of the first to the byte.
    """
    first: dict[str, Skill] = {}
    for skill in skills:
        winner = first.setdefault(key(skill.name), skill)
        if winner is not skill and winner.stamp != skill.stamp:
            report(_shadowed(skill, winner))
    return list(first.values())


def _shadowed(skill: Skill, winner: Skill) -> Diagnostic:
    message = f"the skill {_told(skill)} is left out: {_told(winner)} comes first"
    hint = "rename one of them, hide one with a filter, or change the `order` of their sources"
    return Diagnostic("skills/shadowed", message, "warning", skill.where, hint)


def _told(skill: Skill) -> str:
    place = str(skill.where)
    return f"`{skill.name}` of `{skill.source}`" + (f" ({place})" if place else "")
