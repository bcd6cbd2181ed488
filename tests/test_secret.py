"""Secrets: references that no dump resolves, and what they stood for, found in whatever form it comes back."""

from __future__ import annotations

import base64
import copy
import json
import pickle
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel

from assembler.errors import AssemblerError, Diagnostic, Where
from assembler.scrubbing import (
    LEAST,
    MARK,
    Scrubber,
    scrubbed,
    scrubbed_diagnostic,
    scrubbed_error,
    scrubbed_json,
)
from assembler.secret import Secret


def knowing(*texts: str) -> Scrubber:
    scrubber = Scrubber()
    for text in texts:
        scrubber.add(text)
    return scrubber


def in_json(text: str, *, only_ascii: bool = True) -> str:
    """As it stands between the quotes of a JSON text."""
    return json.dumps(text, ensure_ascii=only_ascii)[1:-1]


ENCODERS: dict[str, Callable[[str], str]] = {
    "as it stands": str,
    "JSON": in_json,
    "JSON that is not ASCII": lambda text: in_json(text, only_ascii=False),
    "JSON with escaped slashes": lambda text: in_json(text).replace("/", "\\/"),
    "JSON within JSON": lambda text: in_json(in_json(text)),
    "JSON within JSON that is not ASCII": lambda text: in_json(in_json(text, only_ascii=False)),
    "a query": quote_plus,
    "a part of an address": lambda text: quote(text, safe=""),
    "a path": quote,
    "a path in lower case": lambda text: re.sub("%..", lambda escape: escape[0].lower(), quote(text)),
    "JavaScript's part of an address": lambda text: quote(text, safe="!*'()"),
    "JavaScript's address": lambda text: quote(text, safe=";,/?:@&=+$#!*'()"),
}

SHOWN = st.text(st.characters(codec="utf-8"), min_size=LEAST).map(str.strip)
KNOWN = SHOWN.filter(
    lambda text: len(text) >= LEAST and text not in MARK and not re.fullmatch("[A-Za-z]{,8}", text, re.ASCII)
)


@given(st.lists(KNOWN, min_size=1, max_size=4), st.data())
def test_no_scrubbed_text_holds_what_was_revealed(secrets: list[str], data: st.DataObject) -> None:
    text = "".join(data.draw(st.lists(st.sampled_from(secrets) | st.text(max_size=5), max_size=8)))
    told = knowing(*secrets).text(text)
    for piece in told.split(MARK):
        assert not [secret for secret in secrets if secret in piece]


@pytest.mark.parametrize("form", ENCODERS)
@given(secret=KNOWN, before=st.text(max_size=5), after=st.text(max_size=5))
@example(secret="p\xe4ss/w\u20acrd \"+\\'\n\U0001f600%!", before="x", after="y")
def test_no_form_of_a_text_is_left(form: str, secret: str, before: str, after: str) -> None:
    encode = ENCODERS[form]
    told = knowing(secret).text(encode(before + secret + after))
    assert MARK in told
    assert not [piece for piece in told.split(MARK) if encode(secret) in piece]


def decodings(text: str) -> Iterator[bytes]:
    """What a base64 text may stand for, wherever its groups begin."""
    for start in range(4):
        part = text[start:].rstrip("=")
        yield base64.b64decode(part[: len(part) // 4 * 4], "-_" if set("-_") & set(part) else "+/")


@given(
    secret=KNOWN.filter(lambda text: len(text.encode()) >= 8),
    before=st.binary(max_size=7),
    after=st.binary(max_size=7),
    url_safe=st.booleans(),
)
def test_base64_is_found_within_something_longer(secret: str, before: bytes, after: bytes, url_safe: bool) -> None:
    encode = base64.urlsafe_b64encode if url_safe else base64.b64encode
    told = knowing(secret).text(encode(before + secret.encode() + after).decode())
    assert MARK in told
    for piece in told.split(MARK):
        assert not [found for found in decodings(piece) if secret.encode() in found]


@pytest.mark.parametrize(
    ("texts", "text", "told"),
    [
        (["hunter2"], "the key is hunter2.", "the key is [secret]."),
        (["hunter2"], "hunter2hunter2", "[secret][secret]"),
        (["hunter2", "hunter2-admin"], "hunter2-admin or hunter2", "[secret] or [secret]"),
        (["hunter2-admin", "hunter2"], "hunter2-admin or hunter2", "[secret] or [secret]"),
        (["2-ad", "hunter2", "hunter2-admin"], "hunter2-admin, hunter2, 2-ad", "[secret], [secret], [secret]"),
        (["ab3d", "b3defghi"], "ab3defghi", "a[secret]"),
        (["  hunter2\r\n"], "hunter2", "[secret]"),
        (["hunter2"], "Hunter2 HUNTER2 hunter", "Hunter2 HUNTER2 hunter"),
        (["abc"], "abc", "abc"),
        (["secret"], "a secret", "a secret"),
        (["    \n"], "    \n", "    \n"),
        (["user:hunter2"], "dXNlcjpodW50ZXIy", "[secret]"),
        (["hunter2!"], "dXNlcjpodW50ZXIyIQ==", "dXNlcjp[secret]Q=="),
        (["hunter2"], "aHVudGVyMg==", "[secret]"),
        (["hunter2"], "aHVudGVyMg", "[secret]"),
        (["ab3d"], "YWIzZA== xYWIzZx", "[secret] xYWIzZx"),
        (["caf\udce9-1"], "caf\udce9-1 caf\ufffd-1 Y2Fm6S0x caf%E9-1", "[secret] [secret] [secret] [secret]"),
    ],
)
def test_what_is_put_in_place_of_a_text(texts: Sequence[str], text: str, told: str) -> None:
    assert knowing(*texts).text(text) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("a hunter2", "a [secret]"),
        (["hunter2", 1, None, True, 1.5], ["[secret]", 1, None, True, 1.5]),
        ({"a": {"b": ["x", "hunter2"]}}, {"a": {"b": ["x", "[secret]"]}}),
        ({"hunter2": 1}, {"[secret]": 1}),
        ({"hunter2": 1, "aHVudGVyMg==": 2, "[secret]": 3}, {"[secret]": 1, "[secret][secret]": 2, MARK * 3: 3}),
        ({}, {}),
    ],
)
def test_json_is_scrubbed_in_texts_and_keys(value: Any, told: Any) -> None:
    before = copy.deepcopy(value)
    assert knowing("hunter2").json(value) == told
    assert value == before


def test_nothing_is_copied_where_there_is_nothing_to_hide() -> None:
    value, text = {"a": ["b"]}, "a text"
    assert Scrubber().json(value) is value
    assert Scrubber().text(text) is text
    assert knowing("hunter2").text(text) is text


def test_texts_that_threads_tell_at_once_are_all_known() -> None:
    scrubber = Scrubber()
    texts = [[f"secret-{thread}-{number}!" for number in range(40)] for thread in range(8)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=lambda mine=mine: [*map(scrubber.add, mine)]) for mine in texts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert {scrubber.text(text) for mine in texts for text in mine} == {MARK}


VALUE = 'k3y/of "quotes"+\xe4'


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> Secret:
    monkeypatch.setenv("A_VALUE", f"{VALUE}\n")
    return Secret("Bearer secret://env/A_VALUE")


class Holder(BaseModel):
    key: Secret


@pytest.mark.parametrize(
    "dump",
    [
        str,
        repr,
        format,
        copy.copy,
        copy.deepcopy,
        lambda secret: secret.references,
        lambda secret: pickle.dumps(secret, protocol=2),
        pickle.dumps,
        lambda secret: Holder(key=secret),
        lambda secret: Holder(key=secret).model_dump(),
        lambda secret: Holder(key=secret).model_dump(mode="json"),
        lambda secret: Holder(key=secret).model_dump_json(),
        lambda secret: copy.deepcopy(Holder(key=secret)),
    ],
)
def test_no_dump_holds_the_value(dump: Callable[[Secret], object], embedded: Secret) -> None:
    assert embedded.reveal() == f"Bearer {VALUE}\n"
    dumped = dump(embedded)
    for form in (VALUE, json.dumps(VALUE)[1:-1], ascii(VALUE)[1:-1]):
        assert form not in f"{dumped} {dumped!r}"


def test_a_copy_is_equal_and_reveals_the_same(embedded: Secret) -> None:
    copies = [copy.deepcopy(embedded), pickle.loads(pickle.dumps(embedded))]  # noqa: S301  it was written here
    assert copies == [embedded] * 2
    assert [each.reveal() for each in copies] == [embedded.reveal()] * 2


def test_what_was_revealed_is_hidden_from_then_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a key"
    file.write_text("from-a-file\n")
    monkeypatch.setenv("A_VALUE", "from-a-variable\n")
    monkeypatch.setenv("A_SHORT", "z9")
    texts = ["from-a-file", "from-a-variable", "v1.z9.x"]
    assert scrubbed(" ".join(texts)) == " ".join(texts)
    Secret(f"secret://file/{quote(str(file))}").reveal()
    Secret("Basic secret://env/A_VALUE").reveal()
    Secret("v1.secret://env/A_SHORT.x").reveal()
    assert scrubbed(" ".join(texts)) == "[secret] [secret] [secret]"
    assert scrubbed("Basic from-a-variable") == MARK
    assert scrubbed("z9") == "z9"
    assert scrubbed_json({"a": texts}) == {"a": [MARK] * 3}


def test_what_was_read_is_hidden_though_another_part_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_VALUE", "read-before-it-failed")
    monkeypatch.delenv("A_MISSING", raising=False)
    with pytest.raises(AssemblerError, match="A_MISSING"):
        Secret("secret://env/A_VALUE:secret://env/A_MISSING").reveal()
    assert scrubbed("read-before-it-failed") == MARK


def test_diagnostics_and_errors(embedded: Secret) -> None:
    embedded.reveal()
    override = Where(override=f"override #1 `a={VALUE}`")
    found = Diagnostic("a/b", f"no `{VALUE}`", "warning", override, f"not {VALUE}")
    told = Diagnostic("a/b", f"no `{MARK}`", "warning", Where(override=f"override #1 `a={MARK}`"), f"not {MARK}")
    assert scrubbed_diagnostic(found) == told
    error = scrubbed_error(AssemblerError(found, found))
    assert error.diagnostics == (told, told)
    assert VALUE not in f"{error} {error!r}"
