"""Pages of the documentation as their readers see them: blocks to try, links to follow, headings to land on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

PAGES = (Path("README.md"), *sorted(path.relative_to(ROOT) for path in (ROOT / "docs").glob("*.md")))
"""Every page, by its path from the root of the checkout."""

_FENCE = re.compile(r"(?P<ticks>`{3,})(?P<language>\w*)")
_MARK = re.compile(r"<!-- (?P<name>[a-z]+)(?:: (?P<value>.+))? -->")
_FILE_COMMENT = re.compile(r"# (?P<file>[\w./-]+\.\w+)")
_FILE_LINE = re.compile(r"`(?P<file>[\w./-]+\.\w+)`:")
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_CODE_SPAN = re.compile(r"`[^`]*`")
_HEADING = re.compile(r"#{1,6} (?P<text>.+)")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block.

    Attributes:
        language: What its fence says.
        text: What stands in it.
        line: Line of the page on which the text begins, counted from 1.
        before: The line before it that is not blank.
    """

    language: str
    text: str
    line: int
    before: str

    @property
    def file(self) -> str | None:
        """The file that it shows: named by a comment in its first line, or by the line before it."""
        first = self.text.partition("\n")[0]
        found = _FILE_COMMENT.fullmatch(first) or _FILE_LINE.fullmatch(self.before)
        return found["file"] if found else None

    @property
    def is_output(self) -> bool:
        """Whether it shows what the Python right before it prints."""
        return self.language == "text" and self.before == "```python"

    def is_marked(self, name: str) -> bool:
        """Whether a comment `<!-- name -->` stands right before it."""
        return self.before == f"<!-- {name} -->"


@dataclass(frozen=True, slots=True)
class Page:
    """A page.

    Attributes:
        path: From the root of the checkout.
        blocks: Its fenced blocks.
        prose: What is left without them, as lines with their numbers.
    """

    path: Path
    blocks: tuple[Block, ...]
    prose: tuple[tuple[int, str], ...]

    @classmethod
    def read(cls, path: Path) -> Page:
        """Reads a page of this checkout."""
        blocks: list[Block] = []
        prose: list[tuple[int, str]] = []
        before = ""
        lines = enumerate((ROOT / path).read_text("utf-8").splitlines(), 1)
        for number, line in lines:
            fence = _FENCE.fullmatch(line)
            if fence is None:
                prose.append((number, line))
                before = line if line.strip() else before
                continue
            inside: list[str] = []
            for _, inner in lines:
                if inner == fence["ticks"]:
                    break
                inside.append(inner)
            else:
                raise ValueError(f"{path}:{number}: the block is never closed")
            blocks.append(Block(fence["language"], "".join(f"{text}\n" for text in inside), number + 1, before))
            before = f"```{fence['language']}"
        return cls(path, tuple(blocks), tuple(prose))

    @property
    def marks(self) -> dict[str, str]:
        """The page's comments `<!-- name: value -->`."""
        found = (_MARK.fullmatch(line) for _, line in self.prose)
        return {mark["name"]: mark["value"] for mark in found if mark and mark["value"]}

    @property
    def links(self) -> Iterator[tuple[int, str]]:
        """Targets of its links, with their lines."""
        # Of a code span the line ends stay, so that lines can be counted.
        text = _CODE_SPAN.sub(lambda span: "\n" * span[0].count("\n"), "\n".join(line for _, line in self.prose))
        for link in _LINK.finditer(text):
            yield self.prose[text.count("\n", 0, link.end())][0], link["target"]

    @property
    def anchors(self) -> set[str]:
        """What a link can name after `#`, made of the headings as GitHub makes it."""
        headings = (_HEADING.fullmatch(line) for _, line in self.prose)
        return {_anchor(heading["text"]) for heading in headings if heading}


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
