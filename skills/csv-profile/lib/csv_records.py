"""How a CSV file is written (encoding, delimiter, header), and its records one by one."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TextIO

from csv_values import TEXT, Classify

DELIMITERS = {"tab": "\t", "semicolon": ";", "pipe": "|", "comma": ","}
"""In order of preference where they split a file as evenly: decimal commas and prose make a comma the weakest sign."""

_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_NOT_CSV = {b"PK\x03\x04": "a ZIP archive or an Excel workbook", b"\x1f\x8b": "a gzip archive", b"%PDF": "a PDF"}
_SNIFFED_CHARACTERS, _SNIFFED_RECORDS = 1 << 16, 200
_MAX_LINE, _MAX_FIELD = 1 << 22, 1 << 20
_DECODED_AT_ONCE = 1 << 20


class BadFile(Exception):
    """A file cannot be read as CSV; the message says why, and what may help."""


@dataclass(frozen=True)
class Layout:
    """How a file is written, with the words that tell how this is known."""

    encoding: str
    encoding_told: str
    delimiter: str
    delimiter_told: str
    has_hint: bool
    """The first line is Excel's `sep=;`, not data."""
    header: bool
    header_told: str
    width: int
    """Columns: those of the header, or of most records where these have more."""


def read_layout(path: Path, encoding: str, delimiter: str, header: str, classify: Classify) -> Layout:
    """Looks at the start of a file; at all of it for its encoding.

    Args:
        path: The file.
        encoding: A Python codec, or `auto`.
        delimiter: A key of `DELIMITERS`, another single character, or `auto`.
        header: `present`, `absent` or `auto`.
        classify: Tells the kind of a value.

    Raises:
        BadFile: It is no text file, or not in that encoding.
    """
    encoding, encoding_told = _find_encoding(path) if encoding == "auto" else (encoding, f"{encoding} (as asked)")
    try:
        with open_text(path, encoding) as file:
            start = file.read(_SNIFFED_CHARACTERS)
    except UnicodeError as error:
        raise BadFile(f"is not valid {encoding}; pass another --encoding") from error
    if "\0" in start:
        raise BadFile("holds NUL characters: no text, or UTF-16 without a byte order mark (try --encoding=utf-16-le)")
    lines = list(io.StringIO(start, newline=""))
    if len(lines) > 1 and len(start) == _SNIFFED_CHARACTERS:
        lines.pop()  # most likely cut
    hint = lines[0].rstrip("\r\n")[4:] if lines and lines[0].lower().startswith("sep=") else ""
    has_hint = len(hint) == 1
    lines = lines[has_hint:]
    if delimiter != "auto":
        delimiter, delimiter_told = DELIMITERS.get(delimiter, delimiter), "as asked"
    elif has_hint:
        delimiter, delimiter_told = hint, "from the line sep="
    else:
        delimiter, delimiter_told = _find_delimiter(lines)
    records = [record for record in _sample(lines, delimiter) if record]
    header_told = {"present": "first row (as asked)", "absent": "none (as asked)"}.get(header)
    has_header = header == "present"
    if header_told is None:
        has_header, header_told = _find_header(records, classify)
    named = len(records[0]) if records and has_header else 0
    widths = [len(record) for record in records[has_header:]]
    usual, times = Counter(widths).most_common(1)[0] if widths else (0, 0)
    return Layout(
        encoding=encoding,
        encoding_told=encoding_told,
        delimiter=delimiter,
        delimiter_told=delimiter_told,
        has_hint=has_hint,
        header=has_header and bool(records),
        header_told=header_told,
        width=max(named, usual) if times * 2 > len(widths) else named or usual,
    )


def open_text(path: Path, encoding: str) -> TextIO:
    """Opens a file so that line ends inside quotes stay as they are."""
    # A mark at the start of a file is no part of its first name, whoever named the encoding.
    plain_utf8 = codecs.lookup(encoding).name == "utf-8"
    return path.open(encoding="utf-8-sig" if plain_utf8 else encoding, newline="")


def _find_encoding(path: Path) -> tuple[str, str]:
    with path.open("rb") as file:
        start = file.read(4)
    for magic, what in _NOT_CSV.items():
        if start.startswith(magic):
            raise BadFile(f"is {what}, not CSV; export it as CSV first")
    for mark, encoding in _BOMS.items():
        if start.startswith(mark):
            return encoding, f"{encoding.removesuffix('-sig').upper()} (byte order mark)"
    if _decodes(path, "utf-8"):
        return "utf-8", "UTF-8"
    doubt = "not UTF-8, so read as {}: check accented letters, or pass --encoding"
    # Windows-1252 is Latin-1 with printable characters in a gap of 32, five of them unassigned.
    if _decodes(path, "cp1252"):
        return "cp1252", doubt.format("Windows-1252, a superset of Latin-1")
    return "latin-1", doubt.format("Latin-1")


def _decodes(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with path.open("rb") as file:
            for block in iter(partial(file.read, _DECODED_AT_ONCE), b""):
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _sample(lines: list[str], delimiter: str) -> list[list[str]]:
    try:
        return list(islice(csv.reader(lines, delimiter=delimiter), _SNIFFED_RECORDS))
    except csv.Error as error:  # the records themselves report it, with its line
        raise BadFile(f"is not CSV: {error}") from error


def _find_delimiter(lines: list[str]) -> tuple[str, str]:
    best = (False, 0.0)
    found = None
    for name, delimiter in DELIMITERS.items():
        widths = [len(record) for record in _sample(lines, delimiter) if record]
        usual, times = Counter(widths).most_common(1)[0] if widths else (1, 0)
        if usual == 1 or times * 2 <= len(widths):
            continue
        score = (widths[0] > 1, times / len(widths))
        if score > best:
            best, found = score, name
    return (DELIMITERS[found], "detected") if found else (",", "assumed: nothing splits the rows")


def _find_header(records: list[list[str]], classify: Classify) -> tuple[bool, str]:
    if not records:
        return False, "none"
    first, rest = [cell.strip() for cell in records[0]], records[1:]
    names = [name for name in first if name]
    if not names or any(classify(name)[0] != TEXT for name in names):
        return False, "none (detected: the first row holds values)"
    below = [[text for record in rest if (text := "".join(record[i : i + 1]).strip())] for i in range(len(first))]
    if any(sum(classify(text)[0] != TEXT for text in texts) * 2 > len(texts) for texts in below):
        return True, "first row (detected)"
    if len(set(names)) < len(names) or any(name in texts for name, texts in zip(first, below, strict=True)):
        return False, "none (assumed: the first row is like the others)"
    return True, "first row (assumed: every column is text)"


class Records:
    """The records of an open file, streamed; what stood out is known when they are through."""

    def __init__(self, file: TextIO, layout: Layout) -> None:
        self.line = 0
        """The last line, counted from 1, of the record at hand."""
        self.multiline = 0
        """Records with line breaks inside quotes."""
        self.unclosed: int | None = None
        """The first line of the last record, if a quote in it swallowed the rest of the file."""
        self._file = file
        self._layout = layout
        self._quotes = 0

    def __iter__(self) -> Iterator[list[str]]:
        """Yields the records, empty lists for blank lines.

        Raises:
            BadFile: A line or a field is too long, or a character is not in the encoding.
        """
        csv.field_size_limit(_MAX_FIELD)
        lines = self._lines()
        skipped = 1 if self._layout.has_hint else 0
        for _ in islice(lines, skipped):
            self.line = 1
        reader = csv.reader(lines, delimiter=self._layout.delimiter)
        try:
            for record in reader:
                first, self.line = self.line + 1, reader.line_num + skipped
                self.multiline += self.line > first
                # An odd number of quotes closes no field; within one line it may as well be an inch mark.
                self.unclosed = first if self._quotes % 2 and self.line > first else None
                self._quotes = 0
                yield record
        except csv.Error as error:
            raise BadFile(f"line {self.line + 1}: {error}; is a quote left open?") from error
        except UnicodeError as error:
            raise BadFile(
                f"is not valid {self._layout.encoding} after line {self.line}; pass another --encoding"
            ) from error

    def _lines(self) -> Iterator[str]:
        for line in iter(partial(self._file.readline, _MAX_LINE), ""):
            if len(line) == _MAX_LINE:
                raise BadFile(f"a line after line {self.line} is longer than {_MAX_LINE} characters: no CSV?")
            self._quotes += line.count('"')
            yield line
