"""The SKILL.md parser on whatever comes: it never crashes, and reads what was written."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from assembler.errors import AssemblerError, Diagnostic, Where
from assembler.skills.frontmatter import body_of, parse
from assembler.skills.names import is_name

HERE = Where("demo/SKILL.md")


@given(st.binary() | st.binary().map(lambda data: b"---\n" + data + b"\n---\n"))
def test_no_bytes_crash_it(data: bytes) -> None:
    check(data)


YAML_LIKE = st.lists(
    st.sampled_from(
        ["name: ", "description: ", "a: b: c", "- ", "? ", "[", "{", "]", "}", "&a ", "*a", "|\n", ">\n", "\n"]
    )
    | st.sampled_from(
        ["  ", "'", '"', "#", "x", "é", "\t", "---", "...", "%", "!", "\x85", "\u2028", "\U0001f600", ": "]
    )
).map("".join)


@given(YAML_LIKE)
def test_no_text_that_looks_like_yaml_crashes_it(text: str) -> None:
    check(f"---\nname: demo\ndescription: x\n{text}\n---\n".encode())


def check(data: bytes) -> None:
    said: list[Diagnostic] = []
    try:
        frontmatter, body = parse(data, HERE, said.append, fallback_name="folder")
    except AssemblerError as error:
        said.extend(error.diagnostics)
        assert any(found.severity == "error" for found in said)
    else:
        assert is_name(frontmatter.name)
        assert frontmatter.description
        assert body == body_of(data, HERE)
        assert all(found.severity != "error" for found in said)
    for found in said:
        assert found.where.file == HERE.file
        assert (found.where.line or 0) >= 1
        assert (found.where.column or 0) >= 1


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=40)
TEXTS = WORDS.map(str.strip).filter(bool)


@given(
    name=st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,3}", fullmatch=True),
    description=TEXTS,
    extra=st.dictionaries(
        TEXTS.map(lambda key: f"x-{key}"),
        st.recursive(WORDS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3)),
        max_size=4,
    ),
    body=st.text(st.characters(codec="utf-8", exclude_characters="\r")),
    ends=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_what_is_written_is_what_is_read(name: str, description: str, extra: Any, body: str, ends: str) -> None:
    fields = yaml.safe_dump({"name": name, "description": description, **extra}, sort_keys=False)
    text = f"---\n{fields}---\n{body}"
    said: list[Diagnostic] = []
    (frontmatter, read_body) = parse(text.replace("\n", ends).encode(), HERE, said.append)
    assert (frontmatter.name, frontmatter.description, frontmatter.extra) == (name, description, extra)
    assert read_body.strip() == body.strip()
    assert [found for found in said if found.code != "skills/ignored-field"] == []
