"""Names: which are good, and which safe one stands for each that is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assembler.skills.names import MAX_NAME, is_name, safe_name

GOOD = ["a", "unit-converter", "123", "true", "a1-b2", "élan", "数据", "x" * 64]
BAD = ["", "-a", "a-", "a--b", "A", "a b", "a_b", "a/b", "a.b", "..", "a\n", "x" * 65, "É", "a\u200bb", "²"]


@pytest.mark.parametrize("name", GOOD)
def test_a_good_name_stays_as_it_is(name: str) -> None:
    assert is_name(name)
    assert safe_name(name) == name


@pytest.mark.parametrize("name", BAD)
def test_a_bad_name_is_told_apart(name: str) -> None:
    assert not is_name(name)


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("Managing SSL/TLS Certificates", "managing-ssl-tls-certificates"),
        ("-21risk Automation", "21risk-automation"),
        ("my_skill", "my-skill"),
        ("../../etc/passwd", "etc-passwd"),
        ("x" * 63 + "-y", "x" * 63),
        ("...", ""),
    ],
)
def test_the_safe_name_keeps_what_can_stay(name: str, safe: str) -> None:
    assert safe_name(name) == safe


@given(st.text())
def test_every_safe_name_is_good_or_empty(text: str) -> None:
    safe = safe_name(text)
    assert safe == "" or is_name(safe)
    assert len(safe) <= MAX_NAME
    assert safe_name(safe) == safe
