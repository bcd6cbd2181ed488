"""Reads a SKILL.md: https://agentskills.io/specification, and the client guide where it is lenient.

``mode: lenient`` loads whatever can be loaded safely and says what it changed; in ``mode: strict`` the same findings
are errors, so that only what the specification allows is loaded.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, NamedTuple, NoReturn

from assembler.errors import AssemblerError, Diagnostic, Severity, Where
from assembler.skills import names, yaml_text
from assembler.skills.skill import Frontmatter, Report
from assembler.skills.yaml_text import BadYaml, Node, NoValue
from assembler.values import JSON

Mode = Literal["lenient", "strict"]

MAX_FRONTMATTER = 64 * 1024
"""Longest frontmatter in code points."""

MAX_DESCRIPTION = 1024
"""Longest description in code points."""

MAX_COMPATIBILITY = 500
"""Longest `compatibility` in code points."""

FIELDS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
"""The fields that the specification knows."""


class SkillFile(NamedTuple):
    """What a SKILL.md says.

    Attributes:
        frontmatter: Its head.
        body: The instructions after it, with line feeds between lines and no blank lines around.
    """

    frontmatter: Frontmatter
    body: str


def parse(
    data: bytes, where: Where, report: Report, *, fallback_name: str | None = None, mode: Mode = "lenient"
) -> SkillFile:
    """Reads a SKILL.md.

    Args:
        data: Its bytes: UTF-8, with or without a BOM, with any line ends.
        where: The file; lines and columns are added to it.
        report: Takes what was changed or ignored; never an error.
        fallback_name: Name of the folder, which the name should equal and which stands in for a missing one.
        mode: Whether what breaks the specification is mended or refused.

    Raises:
        AssemblerError: It cannot be loaded, with every reason; ``skills/not-utf8``, ``skills/no-frontmatter``,
            ``skills/bad-frontmatter``, ``skills/no-description``, ``skills/no-name``, and in strict mode any other.
    """
    parts = _split(data, where)
    reader = _Reader(where, report, mode, parts.line)
    frontmatter = reader.read(parts, fallback_name)
    return SkillFile(frontmatter, parts.body)


def body_of(data: bytes, where: Where) -> str:
    """The instructions of a SKILL.md, without looking into its frontmatter.

    Raises:
        AssemblerError: ``skills/not-utf8`` or ``skills/no-frontmatter``.
    """
    return _split(data, where).body


class _Parts(NamedTuple):
    head: str
    body: str
    line: int
    """Line of the file, counted from 0, on which the head starts."""


_OPENING = re.compile(r"(?P<blank>(?:[ \t]*\n)*)---[ \t]*(?:\n|\Z)")
_CLOSING = re.compile(r"^---[ \t]*$", re.MULTILINE)


def _split(data: bytes, where: Where) -> _Parts:
    text = _decode(data, where)
    opening = _OPENING.match(text)
    if opening is None:
        hint = "start the file with a line `---`, the fields `name` and `description`, and another line `---`"
        raise _no_frontmatter("the file does not start with frontmatter", where, 0, hint)
    line = opening["blank"].count("\n")
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        raise _no_frontmatter("its frontmatter is never closed", where, line, "end it with a line `---`")
    return _Parts(text[opening.end() : closing.start()], _trimmed(text[closing.end() :]), line + 1)


def _decode(data: bytes, where: Where) -> str:
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = _one_line_end(data[: error.start].decode("utf-8"))
        place = _at(where, before.count("\n"), len(before) - (before.rfind("\n") + 1))
        message = f"the file is not UTF-8 text: byte 0x{data[error.start]:02x}"
        hint = "save it as UTF-8"
        raise AssemblerError(Diagnostic("skills/not-utf8", message, where=place, hint=hint)) from error
    return _one_line_end(text)


def _one_line_end(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _trimmed(body: str) -> str:
    """Without blank lines before it and white space after it; indentation stays, since it may be code."""
    return re.sub(r"\A(?:[ \t]*\n)+", "", body).rstrip()


def _no_frontmatter(message: str, where: Where, line: int, hint: str) -> AssemblerError:
    return AssemblerError(Diagnostic("skills/no-frontmatter", message, where=_at(where, line, 0), hint=hint))


def _at(where: Where, line: int, column: int) -> Where:
    return replace(where, line=line + 1, column=column + 1)


class _Reader:
    """Reads the fields of one frontmatter and gathers what is wrong with them."""

    def __init__(self, where: Where, report: Report, mode: Mode, line: int) -> None:
        self._where, self._report, self._mode, self._line = where, report, mode, line
        self._errors: list[Diagnostic] = []
        self._expander = yaml_text.Expander()

    def read(self, parts: _Parts, folder: str | None) -> Frontmatter:
        if parts.line > 1:
            self._bend("skills/blank-lines", "blank lines stand before its frontmatter", None, "remove them")
        fields = self._known_names(self._fields(parts.head))
        extra = {key: value for key, value in fields.items() if key not in FIELDS}
        frontmatter = Frontmatter(
            name=self._name(fields.get("name"), folder),
            description=self._description(fields.get("description")),
            license=self._text("license", fields.get("license")),
            compatibility=self._compatibility(fields.get("compatibility")),
            metadata=self._metadata(fields.get("metadata")),
            allowed_tools=self._allowed_tools(fields.get("allowed-tools")),
            extra=self._extra(extra),
        )
        if self._errors:
            raise AssemblerError(*self._errors)
        return frontmatter

    def _fields(self, head: str) -> dict[str, Node]:
        """The top level by key; the last of equal keys counts, as it does in YAML 1.1 parsers."""
        fields: dict[str, Node] = {}
        places: dict[str, Node] = {}
        for key, value in self._entries(head):
            if key.text is None:
                self._bend("skills/ignored-field", "a key that is not text is ignored", key, "quote it")
                continue
            if key.text in fields:
                first = self._line + places[key.text].line + 1
                message = f"`{key.text}` stands twice; the one in line {first} is ignored"
                self._bend("skills/duplicate-key", message, key, "remove one of them")
            fields[key.text], places[key.text] = value, key
        return fields

    def _entries(self, head: str) -> list[tuple[Node, Node]]:
        if len(head) > MAX_FRONTMATTER:
            self._fail("skills/bad-frontmatter", f"the frontmatter is longer than {MAX_FRONTMATTER // 1024} KiB")
        try:
            found = yaml_text.entries(head)
        except BadYaml as error:
            found = self._second_try(head, error)
        if found is None:
            hint = "write `name: ...` and `description: ...`, each on its line"
            self._fail("skills/bad-frontmatter", "the frontmatter is not a mapping of fields", hint=hint)
        return found

    def _second_try(self, head: str, error: BadYaml) -> list[tuple[Node, Node]] | None:
        try:
            mended, quoted = yaml_text.with_quotes(head)
            found = yaml_text.entries(mended)
        except BadYaml:
            quoted, found = [], None
        if self._mode == "strict" or not quoted:
            message = f"the frontmatter is not YAML: {error.reason}"
            self._fail("skills/bad-frontmatter", message, error.line, error.column, error.hint)
        for line, column in quoted:
            place = _at(self._where, self._line + line, column)
            message = "the value cannot stand without quotes; it is read as if it had them"
            self._report(Diagnostic("skills/quoted-value", message, "warning", place, "put the value in quotes"))
        return found

    def _known_names(self, fields: dict[str, Node]) -> dict[str, Node]:
        """The fields; one written `Name` or `allowed_tools` stands in for the exact one where that is missing."""
        for key in [key for key in fields if key not in FIELDS]:
            meant = key.lower().replace("_", "-")
            if meant not in FIELDS:
                continue
            if meant in fields:
                message = f"`{key}` is ignored, since `{meant}` stands too"
                self._bend("skills/wrong-case-field", message, fields[key], f"remove `{key}`")
            else:
                message = f"`{key}` is read as `{meant}`"
                self._bend("skills/wrong-case-field", message, fields[key], f"write `{meant}`")
                fields[meant] = fields.pop(key)
        return fields

    def _name(self, node: Node | None, folder: str | None) -> str:
        own = node.text if node is not None and node.text is not None else ""
        if not own.strip():
            return self._folder_name(node, folder)
        name = names.safe_name(own)
        if not name:
            hint = f"a name has {names.RULE}"
            self._bend("skills/bad-name", f"nothing of the name `{own}` can be used", node, hint)
            return self._folder_name(node, folder)
        if name != own:
            message = f"the name `{own.strip()}` is not a skill name; it is offered as `{name}`"
            self._bend("skills/bad-name", message, node, f"a name has {names.RULE}")
        if folder is not None and folder not in (name, own.strip()):
            message = f"the skill `{name}` lies in a folder named `{folder}`"
            self._bend("skills/name-differs", message, node, "give the folder and the skill one name")
        return name

    def _folder_name(self, node: Node | None, folder: str | None) -> str:
        name = names.safe_name(folder or "")
        if not name:
            self._fail("skills/no-name", "the skill has no `name`", *_place(node), hint=f"a name has {names.RULE}")
        self._bend(
            "skills/no-name", f"the skill has no usable `name`; it takes its folder's, `{name}`", node, "add one"
        )
        return name

    def _description(self, node: Node | None) -> str:
        text = "" if node is None or node.text is None or node.is_null else node.text.strip()
        if not text:
            found = "is empty" if node is not None and node.text is not None else "is not text"
            message = "the skill has no `description`" if node is None else f"the `description` {found}"
            hint = "say in a sentence or two what the skill does and when to use it"
            self._error("skills/no-description", message, *_place(node), hint=hint)
        return self._at_most("description", node, text, MAX_DESCRIPTION, "the catalog shows its beginning")

    def _compatibility(self, node: Node | None) -> str:
        text = self._text("compatibility", node)
        return self._at_most("compatibility", node, text, MAX_COMPATIBILITY, "it is kept whole")

    def _at_most(self, field: str, node: Node | None, text: str, most: int, what_then: str) -> str:
        if len(text) > most:
            message = f"`{field}` has {len(text)} characters, more than {most}; {what_then}"
            self._bend("skills/too-long", message, node, f"shorten it to {most} characters")
        return text

    def _text(self, field: str, node: Node | None) -> str:
        if node is None or node.is_null:
            return ""
        if node.text is None:
            self._bend("skills/ignored-field", f"`{field}` is ignored, since it is not text", node, "write it as text")
            return ""
        return node.text.strip()

    def _metadata(self, node: Node | None) -> Mapping[str, JSON]:
        value = {} if node is None or node.is_null else self._json("metadata", node)
        if not isinstance(value, dict):
            if value is not None:
                message = "`metadata` is ignored, since it is not a mapping"
                self._bend("skills/ignored-field", message, node, "write keys and values below it")
            return {}
        nested = [key for key, item in value.items() if not isinstance(item, str)]
        if nested:
            message = f"`metadata.{nested[0]}` is not text, which other clients may drop; it is kept as it is"
            self._bend("skills/nested-metadata", message, node, "write it as one text", "info")
        return value

    def _allowed_tools(self, node: Node | None) -> tuple[str, ...]:
        value = None if node is None or node.is_null else self._json("allowed-tools", node)
        if value is None:
            return ()
        if isinstance(value, str):
            if "," in re.sub(r"\([^)]*\)?", "", value):
                self._bend("skills/allowed-tools", "`allowed-tools` has commas", node, "use spaces", "info")
            return _words(value)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            self._bend("skills/allowed-tools", "`allowed-tools` is a list", node, "write one text, with spaces", "info")
            return tuple(item.strip() for item in value if isinstance(item, str) and item.strip())
        message = "`allowed-tools` is ignored, since it is neither text nor a list of texts"
        self._bend("skills/ignored-field", message, node, "write the tools as one text, with spaces between them")
        return ()

    def _extra(self, fields: Mapping[str, Node]) -> Mapping[str, JSON]:
        """Fields that the specification says nothing about: no mistakes, but told in strict mode."""
        if self._mode == "strict":
            for key, node in fields.items():
                place = _at(self._where, self._line + node.line, node.column)
                message = f"`{key}` is no field of the specification"
                self._report(Diagnostic("skills/unknown-field", message, "warning", place, "put it into `metadata`"))
        values = {key: self._json(key, node) for key, node in fields.items()}
        return {key: value for key, value in values.items() if value is not None}

    def _json(self, field: str, node: Node) -> JSON:
        """A field's value; None where it has none, which is told."""
        try:
            return self._expander.value(node)
        except NoValue as error:
            self._bend("skills/ignored-field", f"`{field}` is ignored, since {error}", node, "write it as text")
            return None

    def _bend(self, code: str, message: str, node: Node | None, hint: str, lenient: Severity = "warning") -> None:
        """Tells of what breaks the specification and can be mended; in strict mode it is an error."""
        if self._mode == "strict":
            self._error(code, message, *_place(node), hint=hint)
            return
        line, column = _place(node)
        self._report(Diagnostic(code, message, lenient, _at(self._where, self._line + line, column), hint))

    def _error(self, code: str, message: str, line: int = 0, column: int = 0, hint: str = "") -> None:
        self._errors.append(Diagnostic(code, message, where=_at(self._where, self._line + line, column), hint=hint))

    def _fail(self, code: str, message: str, line: int = 0, column: int = 0, hint: str = "") -> NoReturn:
        self._error(code, message, line, column, hint)
        raise AssemblerError(*self._errors)


def _place(node: Node | None) -> tuple[int, int]:
    """Line and column from the head's start; the fence above it for what is missing."""
    return (-1, 0) if node is None else (node.line, node.column)


def _words(text: str) -> tuple[str, ...]:
    """The words between spaces and commas that stand in no parentheses: ``Bash(git add, git rm)`` is one."""
    words: list[str] = [""]
    depth = 0
    for character in text:
        if depth == 0 and (character == "," or character.isspace()):
            words.append("")
            continue
        depth += {"(": 1, ")": -1 if depth else 0}.get(character, 0)
        words[-1] += character
    return tuple(word for word in words if word)
