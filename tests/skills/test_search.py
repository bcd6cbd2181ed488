"""Search: the right skill comes first, and no query breaks it."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assembler.skills.inline import InlineSkill
from assembler.skills.search import SkillSearch

SHELF = {
    "unit-converter": "Converts lengths, weights, temperatures and speeds between metric and imperial units.",
    "csv-profile": "Profiles a CSV file: column types, missing values, quantiles. Use it for any table of data.",
    "invoice-writer": "Writes invoices and credit notes as PDF from a list of items and a customer's address.",
    "git-history": "Explains what changed in a repository between two commits, and who changed it.",
    "meeting-notes": "Turns a transcript of a meeting into minutes with decisions and action items.",
    "pdf-forms": "Fills in PDF forms and extracts the text and the fields of PDF documents.",
    "release-notes": "Drafts release notes from merged pull requests and their labels.",
    "sql-review": "Reviews SQL queries and migrations for slow joins, missing indexes and locks.",
    "translation": "Translates texts between languages and keeps a glossary of terms.",
    "travel-expenses": "Checks travel expense claims against the policy and computes allowances per day.",
}
FILLER = {f"filler-{number}": f"Handles the routine number {number} of the daily business." for number in range(300)}
REQUESTS = {
    "how many miles are 42 kilometres? convert them": "unit-converter",
    "what is 100 degrees fahrenheit as a metric temperature": "unit-converter",
    "please have a look at this table, how many values are missing per column": "csv-profile",
    "bill the customer for three items": "invoice-writer",
    "who changed this line and in which commit": "git-history",
    "summarise yesterday's meeting transcript": "meeting-notes",
    "get the text out of this PDF document": "pdf-forms",
    "what should go into the notes for our next release": "release-notes",
    "why is my query slow, is an index missing?": "sql-review",
    "say this in other languages": "translation",
    "is my hotel bill within the travel policy": "travel-expenses",
}


@pytest.fixture(scope="module")
def shelf() -> SkillSearch:
    return SkillSearch([InlineSkill(name, text) for name, text in {**FILLER, **SHELF}.items()])


@pytest.mark.parametrize(("request_", "name"), REQUESTS.items())
def test_the_right_skill_is_among_the_first_three(shelf: SkillSearch, request_: str, name: str) -> None:
    assert name in [skill.name for skill in shelf.search(request_, 3)]


def test_a_name_beats_a_mention() -> None:
    mention = InlineSkill("other", "Works well together with the converter of units, a unit converter.")
    search = SkillSearch([mention, InlineSkill("unit-converter", "Converts.")])
    assert [skill.name for skill in search.search("unit converter")] == ["unit-converter", "other"]


def test_tags_are_found() -> None:
    search = SkillSearch([InlineSkill("a", "One."), InlineSkill("b", "Two.", metadata={"tags": "finance, tax"})])
    assert [skill.name for skill in search.search("taxes")] == ["b"]


def test_equally_good_ones_come_in_their_order_up_to_the_limit() -> None:
    search = SkillSearch([InlineSkill(name, "Same words.") for name in ("c", "a", "b")])
    assert [skill.name for skill in search.search("same")] == ["c", "a", "b"]
    assert [skill.name for skill in search.search("same", 2)] == ["c", "a"]
    assert search.search("same", 0) == []


def test_what_occurs_nowhere_finds_nothing(shelf: SkillSearch) -> None:
    assert shelf.search("xylophone") == []
    assert SkillSearch([]).search("anything") == []


def test_texts_that_are_no_utf8_are_found_by_the_rest() -> None:
    search = SkillSearch([InlineSkill("demo", "Does \ud800 odd \0 things.", metadata={"tags": "a\udfff"})])
    assert [skill.name for skill in search.search("odd things")] == ["demo"]


HOSTILE = [
    "",
    '"',
    '" OR "',
    "name:unit*",
    "NEAR(a b)",
    "a AND OR NOT",
    "^a",
    "-a",
    "(",
    "'; DROP TABLE skill; --",
    "\0",
    "a\0b",
    "\ud800",
    "_",
    "unit_converter",
    "x" * 100_000,
    "a " * 100_000,
    "数据 é \U0001f600",
    "{name description} : units",
]


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_no_query_is_an_operator_or_breaks_it(shelf: SkillSearch, query: str) -> None:
    assert all(skill.name in {**SHELF, **FILLER} for skill in shelf.search(query))
    assert shelf.search("convert units", 1)[0].name == "unit-converter"


@given(st.text(), st.text(), st.text())
def test_any_skill_and_any_query_do(description: str, tags: str, query: str) -> None:
    search = SkillSearch([InlineSkill("demo", f"Demo {description}", metadata={"tags": tags})])
    assert len(search.search(query)) <= 1
    assert [skill.name for skill in search.search(f"{query[:50]} demo")] == ["demo"]


def test_threads_can_search_at_once(shelf: SkillSearch) -> None:
    failures: list[Any] = []

    def search() -> None:
        for request, name in REQUESTS.items():
            if name not in [skill.name for skill in shelf.search(request, 3)]:
                failures.append(request)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
