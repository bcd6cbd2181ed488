"""Dialects are found by the names that configurations use."""

import pytest

from assembler.errors import AssemblerError
from assembler.schemas.dialects import APPLIES_TO, DIALECTS, dialect_named


@pytest.mark.parametrize("name", ["openai", "azure", "none"])
def test_each_has_a_name(name: str) -> None:
    assert dialect_named(name).name == name


def test_unknown_ones_are_told_with_the_nearest() -> None:
    with pytest.raises(AssemblerError) as caught:
        dialect_named("opneai")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "schemas/unknown-dialect"
    assert "`opneai`" in diagnostic.message
    assert "`openai`" in diagnostic.hint


def test_every_keyword_of_a_dialect_applies_to_some_type() -> None:
    assert all(dialect.keywords <= APPLIES_TO.keys() for dialect in DIALECTS.values())
