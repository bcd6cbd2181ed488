"""The SKILL.md parser, by the failure classes that real skill sets showed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from assembler.errors import AssemblerError, Diagnostic, Where
from assembler.skills import yaml_text
from assembler.skills.frontmatter import SkillFile, parse

HERE = Where("demo/SKILL.md")
FINE = "---\nname: demo\ndescription: Does things.\n---\nDo it.\n"


def read(text: str | bytes, **options: Any) -> tuple[SkillFile, list[Diagnostic]]:
    said: list[Diagnostic] = []
    data = text if isinstance(text, bytes) else text.encode()
    return parse(data, HERE, said.append, **options), said


def told(diagnostics: Any) -> list[tuple[str, int | None, int | None]]:
    return [(found.code, found.where.line, found.where.column) for found in diagnostics]


def refused(text: str | bytes, **options: Any) -> AssemblerError:
    with pytest.raises(AssemblerError) as caught:
        read(text, **options)
    assert all(found.where.file == HERE.file for found in caught.value.diagnostics)
    return caught.value


def head(*lines: str) -> str:
    return "\n".join(["---", "name: demo", "description: Does things.", *lines, "---", "Do it."])


def test_a_good_file_gives_its_fields_and_no_word() -> None:
    text = head(
        "license: MIT",
        "compatibility: needs git",
        "metadata: {author: me, version: '1.10', tags: a b}",
        "allowed-tools: Bash(git:*) Read",
    )
    (frontmatter, body), said = read(text, fallback_name="demo")
    assert said == []
    assert (frontmatter.name, frontmatter.description) == ("demo", "Does things.")
    assert (frontmatter.license, frontmatter.compatibility) == ("MIT", "needs git")
    assert frontmatter.metadata == {"author": "me", "version": "1.10", "tags": "a b"}
    assert frontmatter.tags == ("a", "b")
    assert frontmatter.allowed_tools == ("Bash(git:*)", "Read")
    assert body == "Do it."


TWINS = {
    "BOM": b"\xef\xbb\xbf" + FINE.encode(),
    "CRLF": FINE.replace("\n", "\r\n").encode(),
    "CR": FINE.replace("\n", "\r").encode(),
    "blanks after the fences": FINE.replace("---\n", "---  \t\n").encode(),
    "no line feed at the end": FINE.strip().encode(),
    "blank lines around the body": FINE.replace("Do it.", "\n \n\nDo it.\n\n").encode(),
    "quotes": FINE.replace("Does things.", '"Does things."').encode(),
    "folded": FINE.replace("Does things.", ">-\n  Does\n  things.").encode(),
    "anchor and alias": FINE.replace("name: demo", "x: &n demo\nname: *n").encode(),
    "flow": b"---\n{name: demo, description: Does things.}\n---\nDo it.\n",
    "tag": FINE.replace("demo", "!!python/name:os.system demo").encode(),
}


@pytest.mark.parametrize("twin", TWINS.values(), ids=TWINS)
def test_what_is_written_differently_reads_the_same(twin: bytes) -> None:
    (frontmatter, body), said = read(twin)
    assert (frontmatter.name, frontmatter.description, body) == ("demo", "Does things.", "Do it.")
    assert said == []


@pytest.mark.parametrize("name", ["123", "true", "null", "1e3", "0x1f"])
def test_scalars_stay_the_text_that_was_written(name: str) -> None:
    (frontmatter, _), said = read(FINE.replace("demo", name))
    assert (frontmatter.name, said) == (name, [])


def test_three_dashes_inside_a_value_end_nothing() -> None:
    text = "---\nname: demo\ndescription: |\n  before\n  ---\n  after --- end\nlicense: a --- b\n---\nbody\n---\nmore\n"
    (frontmatter, body), _ = read(text)
    assert frontmatter.description == "before\n---\nafter --- end"
    assert frontmatter.license == "a --- b"
    assert body == "body\n---\nmore"


def test_indentation_of_the_first_line_stays() -> None:
    (_, body), _ = read(FINE.replace("Do it.", "\n    code\n"))
    assert body == "    code"


def test_an_empty_body_loads() -> None:
    assert read("---\nname: demo\ndescription: x\n---")[0].body == ""


def test_unknown_fields_are_kept_and_are_no_mistake() -> None:
    lines = ["version: 1.10", "triggers: [a, b]", "hooks:", "  pre: {run: x}", "empty:"]
    (frontmatter, _), said = read(head(*lines))
    expected = {"version": "1.10", "triggers": ["a", "b"], "hooks": {"pre": {"run": "x"}}, "empty": ""}
    assert frontmatter.extra == expected
    assert said == []


QUOTED = {
    "colon": ("description: Two axes: standards", "description", "Two axes: standards"),
    "colon at the end": ("description: Use for:", "description", "Use for:"),
    "apostrophe": ("description: It's: fine", "description", "It's: fine"),
    "two lines": ("description: Use for: this\n  and that: too", "description", "Use for: this and that: too"),
    "brackets": ("argument-hint: [branch] [--dry]", "argument-hint", "[branch] [--dry]"),
    "unclosed bracket": ("description: [draft", "description", "[draft"),
    "unclosed quote": ('description: "Quick" tool', "description", '"Quick" tool'),
    "at sign": ("author: @me", "author", "@me"),
    "backtick": ("author: `me`", "author", "`me`"),
    "percent": ("author: %me", "author", "%me"),
    "star": ("description: *.md files", "description", "*.md files"),
    "tab": ("description:\tTab: here", "description", "Tab: here"),
}


@pytest.mark.parametrize(("line", "field", "value"), QUOTED.values(), ids=QUOTED)
def test_a_value_that_needs_quotes_is_read_as_if_it_had_them(line: str, field: str, value: str) -> None:
    lines = ["---", "name: demo", *([] if field == "description" else ["description: x"]), line, "---", ""]
    (frontmatter, _), said = read("\n".join(lines))
    assert {**frontmatter.extra, "description": frontmatter.description}[field] == value
    position = lines.index(line)
    column = len(line.split("\n", maxsplit=1)[0]) - len(line.split("\n", maxsplit=1)[0].split(":", 1)[1].lstrip()) + 1
    assert told(said) == [("skills/quoted-value", position + 1, column)]
    assert said[0].severity == "warning"


def test_only_the_values_that_need_quotes_get_them() -> None:
    text = head("metadata:", "  good: [a, b]", "  bad: x: y", "  list:", "  - one: two: three", "  - four")
    (frontmatter, _), said = read(text)
    assert frontmatter.metadata == {"good": ["a", "b"], "bad": "x: y", "list": ["one: two: three", "four"]}
    assert [place for place in told(said) if place[0] == "skills/quoted-value"] == [
        ("skills/quoted-value", 6, 8),
        ("skills/quoted-value", 8, 5),
    ]


ALLOWED = {
    "spaces": ("Bash(git:*) Bash(jq:*) Read", ("Bash(git:*)", "Bash(jq:*)", "Read"), []),
    "commas": ("Read, Grep, Bash(a, b)", ("Read", "Grep", "Bash(a, b)"), ["skills/allowed-tools"]),
    "comma in parentheses alone": ("Read Bash(a, b)", ("Read", "Bash(a, b)"), []),
    "nested parentheses": ("Bash(a (b) c) Read", ("Bash(a (b) c)", "Read"), []),
    "never closed": ("Read Bash(a b", ("Read", "Bash(a b"), []),
    "closed too often": ("Read) Grep", ("Read)", "Grep"), []),
    "flow list": ('[Read, "Bash(a, b)"]', ("Read", "Bash(a, b)"), ["skills/allowed-tools"]),
    "block list": ("\n  - Read\n  - Bash(a, b)", ("Read", "Bash(a, b)"), ["skills/allowed-tools"]),
    "empty": ("", (), []),
    "null": ("~", (), []),
    "mapping": ("{a: b}", (), ["skills/ignored-field"]),
    "nested list": ("[[a]]", (), ["skills/ignored-field"]),
}


@pytest.mark.parametrize(("value", "tools", "codes"), ALLOWED.values(), ids=ALLOWED)
def test_allowed_tools_are_read_in_every_form(value: str, tools: tuple[str, ...], codes: list[str]) -> None:
    (frontmatter, _), said = read(head(f"allowed-tools: {value}"))
    assert frontmatter.allowed_tools == tools
    assert [found.code for found in said] == codes


MENDED = {
    "name with spaces": ("name: Unit Converter", "unit-converter", "unit-converter", [("skills/bad-name", 2, 7)]),
    "name that is its folder's": (
        "name: Unit Converter",
        "Unit Converter",
        "unit-converter",
        [("skills/bad-name", 2, 7)],
    ),
    "name as a path": ("name: ../../etc", "etc", "etc", [("skills/bad-name", 2, 7)]),
    "name with a line feed": ('name: "demo\\n"', "demo", "demo", [("skills/bad-name", 2, 7)]),
    "no name": ("license: MIT", "demo", "demo", [("skills/no-name", 1, 1)]),
    "no name in a folder that has none": ("license: MIT", "My Demo", "my-demo", [("skills/no-name", 1, 1)]),
    "empty name": ("name:", "demo", "demo", [("skills/no-name", 2, 6)]),
    "name is a list": ("name: [a]", "demo", "demo", [("skills/no-name", 2, 7)]),
    "nothing left": ("name: '...'", "demo", "demo", [("skills/bad-name", 2, 7), ("skills/no-name", 2, 7)]),
    "other name than the folder": ("name: other", "demo", "other", [("skills/name-differs", 2, 7)]),
    "wrong case": ("Name: demo", "demo", "demo", [("skills/wrong-case-field", 2, 7)]),
}


@pytest.mark.parametrize(("line", "folder", "name", "places"), MENDED.values(), ids=MENDED)
def test_a_name_becomes_one_that_can_be_loaded(line: str, folder: str, name: str, places: list[Any]) -> None:
    (frontmatter, _), said = read(f"---\n{line}\ndescription: x\n---\n", fallback_name=folder)
    assert frontmatter.name == name
    assert told(said) == places


IGNORED = {
    "compatibility as a list": ("compatibility: [a, b]", ("skills/ignored-field", 4, 16)),
    "license as a mapping": ("license: {a: b}", ("skills/ignored-field", 4, 10)),
    "metadata as text": ("metadata: text", ("skills/ignored-field", 4, 11)),
    "metadata as a list": ("metadata: [a]", ("skills/ignored-field", 4, 11)),
    "template in a field": ("version: {{ version }}", ("skills/ignored-field", 4, 10)),
    "key that is no text": ("[a]: b", ("skills/ignored-field", 4, 1)),
    "duplicate key": ("name: demo", ("skills/duplicate-key", 4, 1)),
    "exact one beside it": ("Description: other", ("skills/wrong-case-field", 4, 14)),
    "recursive alias": ("x: &a [*a]", ("skills/ignored-field", 4, 4)),
    "too deep": ("x: " + "[" * 40 + "]" * 40, ("skills/ignored-field", 4, 4)),
    "description too long": ("license: MIT", ("skills/too-long", 3, 14)),
    "compatibility too long": (f"compatibility: {'x' * 501}", ("skills/too-long", 4, 16)),
}


@pytest.mark.parametrize(("line", "place"), IGNORED.values(), ids=IGNORED)
def test_what_is_ignored_or_unusual_is_told_with_its_place(line: str, place: Any, request: Any) -> None:
    long = "description too long" in request.node.name
    text = head(line).replace("Does things.", "x" * 1025) if long else head(line)
    (frontmatter, _), said = read(text)
    assert frontmatter.name == "demo"
    assert frontmatter.description == ("x" * 1025 if long else "Does things.")
    assert told(said) == [place]


def test_nested_metadata_is_kept() -> None:
    (frontmatter, _), said = read(head("metadata:", "  tags: [a, b]", "  bot: {emoji: x}"))
    assert frontmatter.metadata == {"tags": ["a", "b"], "bot": {"emoji": "x"}}
    assert frontmatter.tags == ("a", "b")
    assert [(found.code, found.severity) for found in said] == [("skills/nested-metadata", "info")]


def test_blank_lines_before_the_frontmatter_are_told() -> None:
    (frontmatter, _), said = read("\n  \n" + FINE)
    assert frontmatter.name == "demo"
    assert told(said) == [("skills/blank-lines", 3, 1)]


def test_an_alias_bomb_is_harmless() -> None:
    bomb = ["a: &a [x, x, x, x, x, x, x, x]"]
    bomb += [
        f"{key}: &{key} [{', '.join([f'*{inner}'] * 8)}]" for inner, key in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    (frontmatter, _), said = read(head(*bomb))
    assert frontmatter.extra["a"] == ["x"] * 8
    assert "i" not in frontmatter.extra
    assert {code for code, *_ in told(said)} == {"skills/ignored-field"}


REFUSED = {
    "empty": (b"", ("skills/no-frontmatter", 1, 1)),
    "heading first": (b"# Demo\n", ("skills/no-frontmatter", 1, 1)),
    "fields without fences": (b"name: demo\ndescription: x\n", ("skills/no-frontmatter", 1, 1)),
    "code fence around": (b"```markdown\n---\nname: demo\n---\n```\n", ("skills/no-frontmatter", 1, 1)),
    "comment first": (b"<!-- x -->\n---\nname: demo\n---\n", ("skills/no-frontmatter", 1, 1)),
    "four dashes": (b"----\nname: demo\n----\n", ("skills/no-frontmatter", 1, 1)),
    "never closed": (b"\n---\nname: demo\n", ("skills/no-frontmatter", 2, 1)),
    "closed by an indented fence": (b"---\nname: demo\n  ---\n", ("skills/no-frontmatter", 1, 1)),
    "Latin-1": (b"---\nname: demo\ndescription: caf\xe9\n---\n", ("skills/not-utf8", 3, 17)),
    "Latin-1 after CRLF": (b"---\r\nname: \xe9\r\n---\r\n", ("skills/not-utf8", 2, 7)),
    "UTF-16": (FINE.encode("utf-16"), ("skills/not-utf8", 1, 1)),
    "C1 control character": ("---\nname: demo\ndescription: a\x80\n---\n".encode(), ("skills/bad-frontmatter", 3, 15)),
    "NUL": (b"---\nname: demo\ndescription: a\0\n---\n", ("skills/bad-frontmatter", 3, 15)),
    "list": (b"---\n- a\n---\n", ("skills/bad-frontmatter", 2, 1)),
    "text": (b"---\njust text\n---\n", ("skills/bad-frontmatter", 2, 1)),
    "nothing": (b"---\n---\n", ("skills/bad-frontmatter", 2, 1)),
    "comment alone": (b"---\n# x\n---\n", ("skills/bad-frontmatter", 2, 1)),
    "never closed brace": (b"---\n{name: demo\n---\n", ("skills/bad-frontmatter", 3, 1)),
    "huge": (b"---\nx: " + b"y" * 70_000 + b"\n---\n", ("skills/bad-frontmatter", 2, 1)),
    "no description": (b"---\nname: demo\n---\n", ("skills/no-description", 1, 1)),
    "empty description": (b"---\nname: demo\ndescription: ''\n---\n", ("skills/no-description", 3, 14)),
    "null description": (b"---\nname: demo\ndescription: ~\n---\n", ("skills/no-description", 3, 14)),
    "description is a list": (b"---\nname: demo\ndescription: [a]\n---\n", ("skills/no-description", 3, 14)),
    "no name at all": (b"---\ndescription: x\n---\n", ("skills/no-name", 1, 1)),
}


@pytest.mark.parametrize(("data", "place"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_loaded_says_why_and_where(data: bytes, place: Any) -> None:
    error = refused(data)
    assert told(error.diagnostics) == [place]
    assert all(found.severity == "error" for found in error.diagnostics)


@pytest.fixture(params=["C", "Python"])
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each of PyYAML's loaders: not every PyYAML is built with libyaml."""
    if request.param == "Python":
        monkeypatch.delattr(yaml, "CBaseLoader")
    yaml_text._loader.cache_clear()
    yield
    yaml_text._loader.cache_clear()


@pytest.mark.usefixtures("loader")
def test_both_loaders_read_the_same() -> None:
    for twin in TWINS.values():
        (frontmatter, _), said = read(twin)
        assert (frontmatter.name, frontmatter.description, said) == ("demo", "Does things.", [])
    for data, place in REFUSED.values():
        assert told(refused(data).diagnostics) == [place]


@pytest.mark.usefixtures("loader")
def test_bottomless_nesting_is_refused() -> None:
    for depth, reason in ((600, ""), (60_000, "brackets")):
        (found,) = refused("---\n{x: " + "[" * depth + "\n---\n").diagnostics
        assert found.code == "skills/bad-frontmatter"
        assert reason in found.message


def test_everything_that_is_wrong_is_told_at_once() -> None:
    error = refused("---\nName: A\nfoo: x\n---\n", mode="strict")
    assert [found.code for found in error.diagnostics] == [
        "skills/wrong-case-field",
        "skills/bad-name",
        "skills/no-description",
    ]


STRICT = {
    "quotes needed": head("license: a: b"),
    "name": FINE.replace("demo", "Demo"),
    "blank lines": "\n" + FINE,
    "duplicate": head("name: demo"),
    "nested metadata": head("metadata: {a: [b]}"),
    "commas in allowed-tools": head("allowed-tools: Read, Grep"),
    "list of allowed-tools": head("allowed-tools: [Read]"),
    "long description": FINE.replace("Does things.", "x" * 1025),
    "license as a list": head("license: [MIT]"),
}


@pytest.mark.parametrize("text", STRICT.values(), ids=STRICT)
def test_strict_mode_refuses_what_lenient_mode_mends(text: str) -> None:
    (frontmatter, _), said = read(text, fallback_name="demo")
    assert frontmatter.name == "demo"
    error = refused(text, fallback_name="demo", mode="strict")
    if "license: a: b" not in text:
        assert [found.code for found in error.diagnostics] == [found.code for found in said]


def test_strict_mode_accepts_what_the_specification_says_nothing_about() -> None:
    (frontmatter, _), said = read(head("version: 1"), fallback_name="demo", mode="strict")
    assert frontmatter.extra == {"version": "1"}
    assert [(found.code, found.severity) for found in said] == [("skills/unknown-field", "warning")]
