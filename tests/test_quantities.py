"""Durations and sizes at their ends."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from assembler.quantities import Duration, Size

DURATION: TypeAdapter[Any] = TypeAdapter(Duration)
SIZE: TypeAdapter[Any] = TypeAdapter(Size)


@pytest.mark.parametrize(
    "value", [10**400, "9" * 400, "9" * 400 + "s", float("inf"), float("nan"), -1, "1e400", timedelta(-1)]
)
def test_a_duration_that_is_none(value: object) -> None:
    with pytest.raises(ValidationError):
        DURATION.validate_python(value)


@pytest.mark.parametrize("value", [2**63, 10**400, "9" * 400, "9" * 400 + "GB", "8192PiB", "8388608TiB", -1, True, 1.5])
def test_a_size_that_is_none(value: object) -> None:
    with pytest.raises(ValidationError):
        SIZE.validate_python(value)


def test_the_largest_size() -> None:
    assert SIZE.validate_python(2**63 - 1) == 2**63 - 1
    assert SIZE.validate_python("8388607TiB") == 8388607 * 2**40


@given(st.one_of(st.text(), st.integers(), st.floats(), st.from_regex(r"\d{1,400}(\.\d+)? ?[A-Za-z]{0,3}")))
def test_anything_is_a_quantity_or_a_plain_error(value: object) -> None:
    for adapter in (DURATION, SIZE):
        with suppress(ValidationError):
            assert adapter.validate_python(value) is not None
