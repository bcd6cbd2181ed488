"""Finds skills by what a request says."""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Sequence

from assembler.errors import problem
from assembler.skills.skill import Skill

MAX_WORDS = 32
"""Most words of a request that are looked for."""

NAME_WEIGHT, TAGS_WEIGHT, DESCRIPTION_WEIGHT = 6.0, 3.0, 1.0
"""How much a word counts where it stands, for BM25."""


class SkillSearch:
    """An index over names, tags and descriptions: SQLite's FTS5 with BM25, in memory.

    Can be used from any thread.

    Args:
        skills: What can be found; equally good ones come in this order.

    Raises:
        AssemblerError: This Python's SQLite has no FTS5 (``search/no-fts5``).
    """

    def __init__(self, skills: Sequence[Skill]) -> None:
        import sqlite3

        self._skills = tuple(skills)
        self._lock = threading.Lock()
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._database.close)
        try:
            self._database.execute(
                "CREATE VIRTUAL TABLE skill USING fts5(name, tags, description, tokenize='porter unicode61')"
            )
        except sqlite3.OperationalError as error:
            hint = "use a Python whose SQLite has FTS5, or `skills.catalog.overflow: names`"
            raise problem("search/no-fts5", "the SQLite of this Python has no full-text search", hint=hint) from error
        rows = [
            (number, skill.name, " ".join(skill.frontmatter.tags), skill.description)
            for number, skill in enumerate(self._skills)
        ]
        insert = "INSERT INTO skill(rowid, name, tags, description) VALUES (?, ?, ?, ?)"
        self._database.executemany(insert, [(number, *map(_storable, texts)) for number, *texts in rows])

    def search(self, query: str, limit: int = 10) -> list[Skill]:
        """The skills that fit a request best, the best first; none where no word of it occurs.

        Args:
            query: Plain language; nothing in it is an operator.
            limit: Most skills to return.
        """
        words = list(dict.fromkeys(re.findall(r"\w+", query.lower())))[:MAX_WORDS]
        if not words or limit < 1:
            return []
        wanted = " OR ".join(f'"{word}"' for word in words)
        select = "SELECT rowid FROM skill WHERE skill MATCH ? ORDER BY bm25(skill, ?, ?, ?), rowid LIMIT ?"
        with self._lock:
            rows = self._database.execute(
                select, (wanted, NAME_WEIGHT, TAGS_WEIGHT, DESCRIPTION_WEIGHT, limit)
            ).fetchall()
        return [self._skills[number] for (number,) in rows]


def _storable(text: str) -> str:
    """A text that SQLite takes: without lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")
