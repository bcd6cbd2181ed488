"""Profile CSV files as Markdown: `csv_profile.py --file=inputs/data.csv`.

Files are streamed, in bounded memory whatever their size. What is approximate says so in the output.
Exit codes: 0 profiled; 1 a file is not readable as CSV; 2 wrong arguments, or no such file. Standard error says why.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import NoReturn

# An isolated interpreter does not look beside the script; a folder of its own keeps these out of the list of scripts.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lib"))

from csv_columns import Column
from csv_markdown import LONGEST_PATH, Profile, render, shown
from csv_records import DELIMITERS, BadFile, Records, open_text, read_layout
from csv_values import NUMBER_STYLES, classifier

SUFFIXES = (".csv", ".tsv")
MISSING_MARKERS = ["NA", "N/A", "#N/A", "NaN", "null", "NULL", "None"]
MAX_COLUMNS = 100
# For all columns of a file together, and for one of them: numbers kept for quantiles, distinct values counted.
MAX_NUMBERS, MAX_NUMBERS_EACH = 500_000, 100_000
MAX_DISTINCT, MAX_DISTINCT_EACH = 400_000, 10_000


class BadRequest(Exception):
    """The arguments cannot be followed; the message tells the caller what to change."""


def column_names(header: list[str], width: int) -> list[str]:
    """A name for each column, each once: `column_3` for one without, `price (2)` for the second `price`."""
    names: list[str] = []
    for place in range(width):
        plain = (header[place].strip() if place < len(header) else "") or f"column_{place + 1}"
        name, times = plain, 1
        while name in names:
            times += 1
            name = f"{plain} ({times})"
        names.append(name)
    return names


def make_columns(names: list[str], wanted: list[str]) -> list[Column]:
    """The columns to profile, which share the room there is.

    Raises:
        BadRequest: A wanted one does not exist.
    """
    if unknown := [name for name in wanted if name not in names]:
        known = ", ".join(map(repr, names[:MAX_COLUMNS]))
        raise BadRequest(f"no column {unknown[0]!r}; the file has {known}")
    chosen = [i for i, name in enumerate(names) if not wanted or name in wanted][:MAX_COLUMNS]
    numbers = min(MAX_NUMBERS_EACH, MAX_NUMBERS // max(1, len(chosen)))
    distinct = min(MAX_DISTINCT_EACH, MAX_DISTINCT // max(1, len(chosen)))
    return [Column(names[i], i, max_numbers=numbers, max_distinct=distinct) for i in chosen]


def profile(path: Path, options: argparse.Namespace) -> Profile:
    """The profile of one file.

    Raises:
        BadFile: It cannot be read as CSV.
        BadRequest: It has not the columns asked for.
    """
    classify = classifier(options.numbers)
    markers = frozenset(MISSING_MARKERS if options.missing is None else options.missing)
    layout = read_layout(path, options.encoding, options.delimiter, options.header, classify)
    with open_text(path, layout.encoding) as file:
        records = Records(file, layout)
        stream = iter(records)
        header = next((record for record in stream if record), []) if layout.header else []
        result = Profile(told(path), path.stat().st_size, layout, header, column_names(header, layout.width))
        result.columns = make_columns(result.names, options.column)
        for record in stream:
            if not record:
                result.blank_lines += 1
                continue
            result.rows += 1
            if len(record) < layout.width:
                result.short_rows += 1
                result.first_short = result.first_short or records.line
            elif len(record) > layout.width:
                result.long_rows += 1
                result.first_long = result.first_long or records.line
            for column in result.columns:
                cell = record[column.index] if column.index < len(record) else ""
                column.add(cell, records.line, classify, markers)
        result.multiline, result.unclosed = records.multiline, records.unclosed
    return result


def scratch_folder() -> Path:
    """The folder that the run works in; the files handed to it lie in `inputs/`."""
    return Path(os.environ.get("SCRATCH_DIR", ""))


def told(path: Path) -> str:
    """A file's name as the caller knows it, without the folders of this machine."""
    scratch = scratch_folder()
    return str(path.relative_to(scratch) if path.is_relative_to(scratch) else path)


def find_files(wanted: list[str]) -> list[Path]:
    """The files to profile: those asked for, else every CSV file handed to the run.

    Raises:
        BadRequest: There is none, or one asked for does not exist.
    """
    scratch = scratch_folder()
    inputs = scratch / "inputs"
    handed = sorted(path for path in inputs.glob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    existing = ", ".join(repr(path.name) for path in handed) or "none"
    if not wanted and not handed:
        raise BadRequest("no .csv or .tsv file in the folder inputs/; name one with --file")
    found: list[Path] = []
    for name in wanted:
        places = [place for place in (Path(name), scratch / name, inputs / name) if place.is_file()]
        if not places:
            raise BadRequest(f"no file {name!r}; CSV files in inputs/: {existing}")
        found.append(places[0])
    return found or handed


def delimiter_option(text: str) -> str:
    """The type of `--delimiter`."""
    text = "tab" if text == "\\t" else text
    if text in {"auto", *DELIMITERS} or (len(text) == 1 and text not in '"\r\n '):
        return text
    raise argparse.ArgumentTypeError(f"{text!r} is neither one character nor one of auto, {', '.join(DELIMITERS)}")


def top_option(text: str) -> int:
    """The type of `--top`."""
    if re.fullmatch(r"\d{1,2}", text, re.ASCII):
        return int(text)
    raise argparse.ArgumentTypeError(f"{text[:20]!r} is not a whole number from 0 to 99")


def encoding_option(text: str) -> str:
    """The type of `--encoding`."""
    if text != "auto":
        try:
            "".encode(text)
        except LookupError as error:
            raise argparse.ArgumentTypeError(f"{text!r} is no text encoding that Python knows") from error
    return text


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, with no usage before it."""

    def error(self, message: str) -> NoReturn:
        """Ends the program as every other bad request does."""
        raise BadRequest(" ".join(message.split()))


def parser() -> Parser:
    """The command line."""
    result = Parser(prog="csv_profile.py", description="Profile CSV files as Markdown.", allow_abbrev=False)
    add = result.add_argument
    add("--file", action="append", default=[], metavar="PATH", help="may be repeated (default: all in inputs/)")
    add(
        "--column",
        action="append",
        default=[],
        metavar="NAME",
        help=f"may be repeated (default: the first {MAX_COLUMNS})",
    )
    add("--delimiter", type=delimiter_option, default="auto", help=f"auto, {', '.join(DELIMITERS)} or one character")
    add("--encoding", type=encoding_option, default="auto", help="auto, or a name such as utf-8, cp1252, utf-16-le")
    add(
        "--header",
        choices=("auto", "present", "absent"),
        default="auto",
        help="whether the first row names the columns",
    )
    add("--numbers", choices=tuple(NUMBER_STYLES), default="plain", help="1234.5, 1.234,5 or 1,234.5")
    add("--missing", action="append", metavar="TEXT", help=f"may be repeated (default: {' '.join(MISSING_MARKERS)})")
    add("--top", type=top_option, default=5, metavar="N", help="how many frequent values to show (default: 5)")
    return result


def main(arguments: list[str]) -> int:
    """Prints a profile of each file; returns the exit code."""
    # Isolated interpreters ignore PYTHONUTF8; file names need not be text.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    failed = False
    try:
        options = parser().parse_args(arguments)
        for place, path in enumerate(find_files(options.file)):
            try:
                text = render(profile(path, options), options.top)
            except (BadFile, OSError) as error:
                print(f"error: {shown(told(path), LONGEST_PATH)}: {error}", file=sys.stderr)
                failed = True
                continue
            print(f"\n{text}" if place else text)
    except BadRequest as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
