"""Equal skills: which stays, and which of the others are told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st
from tests.skills.support import Listed, Static, Write, list_of, skill_md

from assembler.skills.decorators.dedupe import Dedupe
from assembler.skills.inline import InlineSkill
from assembler.skills.skill import Frontmatter, Skill

By = Literal["name", "content"]


def deduped(by: By, *skills: Skill) -> Listed:
    return asyncio.run(list_of(Dedupe(by=by).wrap(Static(*skills))))


def test_of_equal_names_the_first_stays_and_the_other_is_told() -> None:
    first, other = InlineSkill("demo", "One.", source="a"), InlineSkill("demo", "Two.", source="b")
    found = deduped("name", first, InlineSkill("more", "More."), other)
    assert found.skills[0] is first
    assert found.names == ["demo", "more"]
    assert [(told.code, told.severity) for told in found.diagnostics] == [("skills/shadowed", "warning")]
    assert "`demo` of `b`" in found.diagnostics[0].message
    assert "`demo` of `a`" in found.diagnostics[0].message


def test_upper_and_lower_case_are_the_same_name() -> None:
    class Loud(InlineSkill):
        def __init__(self, name: str) -> None:
            super().__init__("demo", "Loud.")
            self.frontmatter = Frontmatter(name, "Loud.")
            self.stamp = name

    found = deduped("name", Loud("Demo"), Loud("DEMO"), Loud("demo"))
    assert (found.names, found.codes) == (["Demo"], ["skills/shadowed"] * 2)


def test_equal_content_goes_without_a_word() -> None:
    found = deduped("name", InlineSkill("demo", "One.", source="a"), InlineSkill("demo", "One.", source="b"))
    assert ([skill.source for skill in found.skills], found.diagnostics) == (["a"], [])


def test_places_of_both_are_told(write: Write, find: Callable[..., Listed]) -> None:
    write({"a/demo/SKILL.md": skill_md("demo", "One."), "b/demo/SKILL.md": skill_md("demo", "Two.")})
    (told,) = deduped("name", *find("a", "b").skills).diagnostics
    assert str(told.where) == "b/demo/SKILL.md"
    assert "a/demo/SKILL.md" in told.message


class TestByContent:
    def test_files_that_are_the_same_to_the_byte_stay_once(self, write: Write, find: Callable[..., Listed]) -> None:
        for folder, data in (("a", "same"), ("b", "same"), ("c", "other")):
            write({f"{folder}/demo/SKILL.md": skill_md("demo"), f"{folder}/demo/x.txt": data})
        found = deduped("content", *find("a", "b", "c").skills)
        assert (found.places, found.diagnostics) == (["a/demo/SKILL.md", "c/demo/SKILL.md"], [])

    def test_one_that_cannot_be_read_stays_and_is_told(self, write: Write, find: Callable[..., Listed]) -> None:
        write({f"{folder}/demo/SKILL.md": skill_md("demo") for folder in "ab"})
        skills = find("a", "b").skills
        write({"b/demo/SKILL.md": "changed"})
        found = deduped("content", *skills)
        assert (len(found.skills), found.codes) == (2, ["skills/changed"])


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"))), st.sampled_from(["name", "content"]))
def test_the_first_of_each_stays_in_order_and_a_second_time_changes_nothing(
    pairs: Sequence[tuple[str, str]], by: By
) -> None:
    skills = [InlineSkill(name, text) for name, text in pairs]
    keys = [name if by == "name" else (name, text) for name, text in pairs]
    expected = [skill for position, skill in enumerate(skills) if keys[position] not in keys[:position]]
    found = deduped(by, *skills)
    assert list(found.skills) == expected
    again = deduped(by, *found.skills)
    assert (list(again.skills), again.diagnostics) == (expected, [])
