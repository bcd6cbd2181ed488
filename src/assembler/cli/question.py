"""A call that needs an answer, as a person reads it, with no text in it that could pass for ours."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from assembler.approval.requests import ApprovalRequest
from assembler.cli.output import escaped, one_line
from assembler.values import JSON

MAX_ROWS = 60
"""Most rows of arguments."""
MAX_TEXT = 8_000
"""Most characters of one text in them."""

_DEEPEST = 6
_NARROWEST = 24


def question(request: ApprovalRequest, columns: int) -> str:
    """A request, up to the question.

    Args:
        request: What is asked.
        columns: How wide the terminal is; nothing wraps at its edge, where the rest could pass for a line of ours.
    """
    match = request.facts.match
    what = request.facts.runs or match.tool
    width = columns - 1
    lines = [*_folded(f"The agent asks to call {one_line(match.tool)}: {one_line(what)}", "", "  : ", width)]
    lines += _arguments(request.to_json()["arguments"], width)
    for name, digest in request.facts.digests:
        lines += _rows_of_digest(one_line(name), digest, width)
    return "\n".join(lines) + "\n"


def _rows_of_digest(name: str, digest: str, width: int) -> Iterator[str]:
    """A digest, on a row of its own rather than in pieces."""
    if _fits(f"  {name}: {digest}", width):
        yield f"  {name}: {digest}"
    else:
        yield from _folded(f"{name}:", "  ", "  : ", width)
        yield f"    {digest}"


def _arguments(arguments: JSON, width: int) -> Iterator[str]:
    """In one row where they fit, otherwise in rows of their own; what is left out is counted."""
    rows = list(_rows(arguments, "  arguments: ", "    ", width, depth=0))
    if len(rows) <= MAX_ROWS:
        yield from rows
        return
    tail = MAX_ROWS // 4
    yield from rows[: MAX_ROWS - tail]
    yield f"    [... {len(rows) - MAX_ROWS} rows left out ...]"
    yield from rows[-tail:]


def _rows(value: JSON, label: str, indent: str, width: int, *, depth: int) -> Iterator[str]:
    """A value behind its label.

    Args:
        value: The value.
        label: What stands before it in its first row, already escaped.
        indent: What stands before the rows under it.
        width: Columns of a row.
        depth: How many values it is in.
    """
    text = escaped(json.dumps(value, ensure_ascii=False))
    if not _has_lines(value) and _fits(label + text, width):
        yield label + text
        return
    yield label.rstrip()
    items = list(_items(value)) if depth < _DEEPEST else []
    if items and all(_fits(name, width // 2) for name, _ in items):
        for name, item in items:
            yield from _rows(item, f"{indent}{name} ", indent + "  ", width, depth=depth + 1)
    else:
        yield from _text(value if isinstance(value, str) else text, indent, width)


def _items(value: JSON) -> Iterator[tuple[str, JSON]]:
    """What is in a value, each with its label; nothing if it is no container."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield f"{escaped(json.dumps(key, ensure_ascii=False))}:", item
    elif isinstance(value, list):
        for item in value:
            yield "-", item


def _has_lines(value: JSON) -> bool:
    """Whether there is a text of several lines in a value."""
    if isinstance(value, str):
        return "\n" in value
    if isinstance(value, dict):
        return any(map(_has_lines, value.values()))
    return isinstance(value, list) and any(map(_has_lines, value))


def _fits(text: str, width: int) -> bool:
    from rich.cells import cell_len

    return cell_len(text) <= width


def _text(value: str, indent: str, width: int) -> Iterator[str]:
    """A long text, or one of several lines: each line behind a bar, its continuation behind a colon."""
    for part in _cut(value).split("\n"):
        yield from _folded(escaped(part), f"{indent}| ", f"{indent}: ", width)


def _cut(text: str) -> str:
    """A text that is not too long, or its two ends."""
    if len(text) <= MAX_TEXT:
        return text
    tail = MAX_TEXT // 4
    return f"{text[: MAX_TEXT - tail]}\n[... {len(text) - MAX_TEXT} characters left out ...]\n{text[-tail:]}"


def _folded(text: str, first: str, following: str, width: int) -> Iterator[str]:
    """Rows of a line that is longer than the terminal is wide."""
    from rich.cells import chop_cells

    pieces: Sequence[str] = chop_cells(text, max(_NARROWEST, width - max(len(first), len(following)))) or [""]
    for prefix, piece in zip((first, *[following] * (len(pieces) - 1)), pieces, strict=True):
        yield prefix + piece
