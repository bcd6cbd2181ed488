"""The catalog: what the model is told of the skills before it loads any."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Annotated, Literal

from pydantic import Field

from assembler.components import Config
from assembler.errors import Diagnostic, problem
from assembler.skills.frontmatter import MAX_DESCRIPTION
from assembler.skills.skill import Skill

MIN_MARKED = 80
"""Shortest description, in characters, that is worth its own elements."""

MIN_PLAIN = 16
"""Shortest description, in characters, that is worth showing."""

OPENING, CLOSING = "<available_skills>", "</available_skills>"


@dataclass(frozen=True, slots=True)
class RenderedCatalog:
    """A catalog as the model sees it.

    Attributes:
        text: The text; empty where there are no skills.
        diagnostics: What was cut.
        cut: How many skills are not shown with their whole description.
    """

    text: str
    diagnostics: Sequence[Diagnostic] = ()
    cut: int = 0


class Catalog(Config):
    """How skills are offered to the model."""

    budget: Annotated[int, Field(ge=0)] = 8000
    """Characters that the catalog may take."""
    overflow: Literal["names", "search", "error"] = "names"
    """What happens when it takes more: `names` cuts descriptions and keeps every name; `search` does the same, adds a
    tool that finds skills, and leaves to it even names that do not fit; `error` stops."""

    def render(self, skills: Sequence[Skill]) -> RenderedCatalog:
        """The catalog of some skills.

        Raises:
            AssemblerError: It is larger than the budget, and `overflow` is `error` (``catalog/over-budget``).
        """
        if not skills:
            return RenderedCatalog("")
        offers = [_Offer(escape(skill.name, quote=False), _one_line(skill.description)) for skill in skills]
        whole = _marked(offers, [offer.description for offer in offers], "")
        if len(whole) <= self.budget:
            return RenderedCatalog(whole)
        if self.overflow == "error":
            message = f"the catalog of {len(skills)} skills has {len(whole)} characters, and may have {self.budget}"
            hint = f"set `skills.catalog.budget` to {len(whole)}, hide skills with a filter, or use `overflow: search`"
            raise problem("catalog/over-budget", message, hint=hint)
        return self._cut(offers, len(whole))

    def _cut(self, offers: Sequence[_Offer], needed: int) -> RenderedCatalog:
        """As much as fits: shortened descriptions, else names alone."""
        search = "; search_skills finds skills by what they do" if self.overflow == "search" else ""
        note = f"Some descriptions are cut, which … shows; load a skill to read all of it{search}."
        for layout, least in ((_marked, MIN_MARKED), (_plain, MIN_PLAIN)):
            around = len(layout(offers, ["…"] * len(offers), note)) - len(offers)
            limit = _fair_limit([len(escape(offer.description, quote=False)) for offer in offers], self.budget - around)
            if limit >= least:
                shown = [_shortened(offer.description, limit) for offer in offers]
                cut = sum(text != offer.description for text, offer in zip(shown, offers, strict=True))
                if cut == 0:
                    return RenderedCatalog(layout(offers, shown, ""))
                return self._told(layout(offers, shown, note), cut, len(offers), needed)
        return self._names(offers, search, needed)

    def _names(self, offers: Sequence[_Offer], search: str, needed: int) -> RenderedCatalog:
        note = f"Descriptions are left out for want of room; load a skill to see what it does{search}."
        text = _plain(offers, [""] * len(offers), note)
        if len(text) <= self.budget or self.overflow != "search":
            return self._told(text, len(offers), len(offers), needed)
        shown = list(offers)
        while shown and len(text) > self.budget:
            # Names are short and of similar length, so that this takes few rounds.
            surplus = len(text) - self.budget
            while shown and surplus > 0:
                surplus -= len(shown.pop().name) + 1
            more = f"{len(offers) - len(shown)} of {len(offers)} skills are not listed; search_skills finds them."
            text = _plain(shown, [""] * len(shown), more)
        return self._told(text, len(offers), len(offers), needed)

    def _told(self, text: str, cut: int, count: int, needed: int) -> RenderedCatalog:
        message = f"the descriptions of {cut} of {count} skills are cut to fit the catalog's {self.budget} characters"
        hint = f"set `skills.catalog.budget` to {needed} to show all of them, or hide skills with a filter"
        found = [Diagnostic("catalog/cut", message, "warning", hint=hint)]
        if len(text) > self.budget:
            message = f"the names of {count} skills alone make the catalog {len(text)} characters long"
            hint = "use `overflow: search`, which leaves names to a search tool, or hide skills with a filter"
            found.append(Diagnostic("catalog/names-over-budget", message, "warning", hint=hint))
        return RenderedCatalog(text, tuple(found), cut)


@dataclass(frozen=True, slots=True)
class _Offer:
    """A skill's escaped name and its description on one line, not yet escaped."""

    name: str
    description: str


def _one_line(text: str) -> str:
    """A description without line breaks and control characters, and no longer than a description may be."""
    line = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", " ", text).split())
    return _shortened(line, MAX_DESCRIPTION) if len(line) > MAX_DESCRIPTION else line


def _marked(offers: Sequence[_Offer], descriptions: Sequence[str], note: str) -> str:
    lines = [
        f"<skill><name>{offer.name}</name><description>{escape(text, quote=False)}</description></skill>"
        for offer, text in zip(offers, descriptions, strict=True)
    ]
    return _block(lines, note)


def _plain(offers: Sequence[_Offer], descriptions: Sequence[str], note: str) -> str:
    """A line a skill. No description can look like a line of its own, since it has no line breaks."""
    lines = [
        f"{offer.name}: {escape(text, quote=False)}" if text else offer.name
        for offer, text in zip(offers, descriptions, strict=True)
    ]
    return _block(lines, note)


def _block(lines: Sequence[str], note: str) -> str:
    return "\n".join([OPENING, *([f"<note>{note}</note>"] if note else []), *lines, CLOSING])


def _fair_limit(lengths: Sequence[int], room: int) -> int:
    """The length to which all have to be cut so that they fit; the short ones leave their rest to the long ones."""
    left = room
    for position, length in enumerate(sorted(lengths)):
        share = left // (len(lengths) - position)
        if length > share:
            return share
        left -= length
    return max(lengths)


def _shortened(text: str, limit: int) -> str:
    """The beginning of a text, up to a whole word where one ends near, that takes at most so much when escaped."""
    if len(escape(text, quote=False)) <= limit:
        return text
    length = 1  # of the ellipsis
    for end, character in enumerate(text):
        length += len(escape(character, quote=False))
        if length > limit:
            cut = text[:end]
            word = cut.rfind(" ")
            return (cut[:word] if word > limit // 2 else cut).rstrip() + "…"
    return text
