"""The CSV profiler's script: what it counts, what it tells of a file, and what it refuses to guess."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SCRIPT = "csv-profile", "scripts/csv_profile.py"
RunScript = Callable[..., Any]
Profile = Callable[..., str]


@pytest.fixture(scope="session")
def profiler(load_module: Callable[[str], ModuleType]) -> ModuleType:
    return load_module("csv-profile/scripts/csv_profile.py")


@pytest.fixture
def profile_of(profiler: ModuleType, tmp_path: Path) -> Profile:
    """Writes content into a file and returns its profile."""

    def profile(content: str | bytes, *flags: str, name: str = "data.csv") -> str:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        options = profiler.parser().parse_args([f"--file={path}", *flags])
        return profiler.render(profiler.profile(path, options), options.top)

    return profile


def row(markdown: str, column: str) -> dict[str, str]:
    """The cells of the line of a column, by the heads of the table."""
    table = [line.strip("| ").split(" | ") for line in markdown.splitlines() if line.startswith("| ")]
    head, *lines = ([cell.strip() for cell in cells] for cells in table)
    return dict(zip(head, next(cells for cells in lines if cells[0] == column), strict=False))


def column_file(values: Sequence[str]) -> str:
    """A file with an identifier and one column of values."""
    return "id;value\n" + "".join(f"{i};{value}\n" for i, value in enumerate(values))


TYPES = [
    (["1", "-2", "+3", "0"], "integer"),
    (["1", "2.5", "-.5", "1e3", "7."], "decimal"),
    (["true", "FALSE", "yes", "No"], "boolean"),
    (["2026-01-31", "2024-02-29"], "date"),
    (["2026-01-31T10:00", "2026-01-31 10:00:30", "2026-01-31T10:00:30.5+01:00", "2026-01-31"], "datetime"),
    (["31.12.2026", "1.2.2026"], "date"),
    (["12/31/2026", "01/02/2026"], "date"),
    (["a", "b c", "true"], "text"),
    (["", "NA", "null", " "], "empty"),
    (["00123", "12345"], "text"),
    (["1234567890123456789"], "text"),
    (["1,5", "2,25", "3"], "text"),
    (["1", "x"], "mixed"),
    (["2026-01-31", "2026-02-30"], "mixed"),
    (["13/01/2026", "01/13/2026"], "mixed"),
    (["٣"], "text"),
]


@pytest.mark.parametrize(("values", "kind"), TYPES)
def test_tells_the_type_of_a_column(values: list[str], kind: str, profile_of: Profile) -> None:
    assert row(profile_of(column_file(values)), "value")["Type"] == kind


def test_statistics_of_numbers(profile_of: Profile) -> None:
    cells = row(profile_of(column_file(["10", "20", "", "30", "40", "NA"])), "value")
    assert cells == {
        "Column": "value",
        "Type": "integer",
        "Missing": "2 (33.3 %)",
        "Distinct": "4",
        "Min": "10",
        "25 %": "17.5",
        "50 %": "25",
        "75 %": "32.5",
        "Max": "40",
        "Mean": "25",
    }


def test_range_of_dates_does_not_follow_their_spelling(profile_of: Profile) -> None:
    cells = row(profile_of(column_file(["02.01.2026", "01.12.2025", "15.06.2026"])), "value")
    assert (cells["Min"], cells["Max"]) == ("01.12.2025", "15.06.2026")
    cells = row(profile_of(column_file(["2026-01-01T00:30+02:00", "2025-12-31T23:00Z"])), "value")
    assert (cells["Min"], cells["Max"]) == ("2026-01-01T00:30+02:00", "2025-12-31T23:00Z")


TOLD = [
    pytest.param("a,b\n1,2\n", [], ["Encoding: UTF-8\n", "Delimiter: comma (detected)"], id="plain"),
    pytest.param("\ufeffa,b\n1,2\n", [], ["UTF-8 (byte order mark)", "| a | integer"], id="byte order mark"),
    pytest.param("\ufeffa,b\n1,2\n", ["--encoding=utf-8"], ["utf-8 (as asked)", "| a | integer"], id="mark, named"),
    pytest.param("a,b\né,2\n".encode("utf-16"), [], ["UTF-16 (byte order mark)", '"é" 1'], id="UTF-16"),
    pytest.param("a,b\né,2\n".encode("utf-16-le"), ["--encoding=utf-16-le"], ['"é" 1'], id="UTF-16 without mark"),
    pytest.param("a,b\né,2\n".encode("latin-1"), [], ["not UTF-8", "Windows-1252", '"é" 1'], id="Latin-1"),
    pytest.param(b"a,b\n\x81\xe9,2\n", [], ["not UTF-8, so read as Latin-1"], id="not even Windows-1252"),
    pytest.param("a;b\n1,5;2,5\n", [], ["Delimiter: semicolon (detected)"], id="semicolon beside decimal commas"),
    pytest.param("a\tb\n1;2\t3;4\n", [], ["Delimiter: tab (detected)"], id="tab"),
    pytest.param("a|b\n1|2\n", [], ["Delimiter: pipe (detected)"], id="pipe"),
    pytest.param("a~b\n1~2\n", ["--delimiter=~"], ["Delimiter: '~' (as asked)", "| b | integer"], id="other"),
    pytest.param("sep=;\na;b\n1;2\n", [], ["semicolon (from the line sep=)", "| a | integer"], id="Excel's hint"),
    pytest.param("word\nx, y\nz\n", [], ["comma (assumed: nothing splits the rows)", "Columns: 1"], id="one column"),
    pytest.param("1,2\n3,4\n", [], ["Header: none (detected", "Rows: 2", "| column_1 | integer"], id="no header"),
    pytest.param("x,y\nx,z\n", [], ["none (assumed", "Rows: 2"], id="first row like the others"),
    pytest.param("n,m\nx,y\n", [], ["first row (assumed: every column is text)", "Rows: 1"], id="all text"),
    pytest.param("n,m\nx,y\n", ["--header=absent"], ["none (as asked)", "Rows: 2"], id="header denied"),
    pytest.param("1,2\nx,y\n", ["--header=present"], ["first row (as asked)", "| 1 | text"], id="header insisted on"),
    pytest.param("a,b\n", [], ["Rows: 0", "| a | empty | 0 | 0 |"], id="header alone"),
    pytest.param("", [], ["no records (0 bytes"], id="empty"),
    pytest.param("\n\n", [], ["no records (2 bytes"], id="blank lines alone"),
    pytest.param(
        "a,b\n1,2\n3\n4,5,6\n7\n\n",
        [],
        [
            "too short: 2, the first in line 3",
            "too long: 1, the first in line 4",
            "Blank lines, not counted as rows: 1",
            "Rows: 4",
        ],
        id="ragged",
    ),
    pytest.param(
        "a,a,\n1,2,3\n", [], ["| a (2) |", "| column_3 |", "occur more than once", "column_N: 1"], id="odd names"
    ),
    pytest.param(
        "a,b\n1,2,x\n3,4,y\n", [], ["header names 2 columns, most rows have 3", "| column_3 | text"], id="short header"
    ),
    pytest.param('a,b\n1,"x\ny"\n2,"p\r\nq"\n', [], ["inside quotes: 2", "x␊y", "Rows: 2"], id="quoted line breaks"),
    pytest.param('a,b\n1,"x\n2,y\n3,z\n', [], ["A quote opened in line 2 is never closed", "Rows: 1"], id="open quote"),
    pytest.param("a,b\n1,2|`*<[\n", [], [r"2\|\`\*\<\["], id="Markdown in a value"),
    pytest.param("a|x,b\n1,\x1b[31m\u202e\n", [], [r"| a\|x | integer", "␛\\[31m\ufffd"], id="control characters"),
    pytest.param("a,b\n1,NA\n2,-999\n", [], ['counted as missing: "NA" 1', "| b | integer | 1 (50.0 %)"], id="markers"),
    pytest.param("a,b\n1,NA\n2,-999\n", ["--missing=-999"], ['missing: "-999" 1', "| b | text"], id="own markers"),
    pytest.param("a,b\n1,NA\n2,\n", ["--missing="], ["| b | text | 1 (50.0 %)"], id="no markers"),
    pytest.param("a;b\n1;1,5\n2;3\n", [], ['"1,5" (1)', "--numbers=decimal-comma"], id="decimal comma not guessed"),
    pytest.param(
        "a;b\n1;1.234,5\n2;3\n",
        ["--numbers=decimal-comma"],
        ["| b | decimal | 0 | 2 | 3 |", "| 1234.5 |"],
        id="decimal comma",
    ),
    pytest.param(
        "a;b\n1;1,234.5\n2;3\n", ["--numbers=grouped"], ["| b | decimal | 0 | 2 | 3 |", "| 1234.5 |"], id="grouped"
    ),
    pytest.param(
        "a,b\n1,03/04/2026\n",
        [],
        ["day and month cannot be told apart", "| b | date | 0 | 1 |  |"],
        id="ambiguous dates",
    ),
    pytest.param("a,b\n1,03/04/2026\n2,25/04/2026\n", [], ["dates read day first"], id="dates that decide"),
    pytest.param("a,b\n1,007\n2,123\n", [], ["leading zeros", "identifiers"], id="codes"),
    pytest.param(
        "a,b\n1,5\n2,6\n3,x\n",
        [],
        ['mixed: 2 integer, 1 text (the first text: "x" in line 4)', "its numbers (2)"],
        id="mixed",
    ),
    pytest.param("a,b\n1, x \n2,x\n", [], ["spaces around values are ignored (1)", '"x" 2'], id="padded"),
    pytest.param("a,b\n1,x\n2,y\n", ["--column=b"], ["1 of 2 columns are profiled", "| b | text"], id="chosen column"),
    pytest.param("a,b\n1,x\n2,y\n", ["--top=1"], ['- b: "x" 1 (50.0 %) (no value repeats)'], id="fewer values"),
    pytest.param("a,b\r1,x\r", [], ["Rows: 1"], id="line ends of old"),
]


@pytest.mark.parametrize(("content", "flags", "told"), TOLD)
def test_tells_how_a_file_was_read(
    content: str | bytes, flags: list[str], told: list[str], profile_of: Profile
) -> None:
    profile = profile_of(content, *flags)
    assert [words for words in told if words not in f"{profile}\n"] == []


def test_a_long_value_is_cut_but_not_confused(profile_of: Profile) -> None:
    start = "x" * 500
    profile = profile_of(column_file([f"{start}a", f"{start}b", f"{start}a"]))
    assert row(profile, "value")["Distinct"] == "2"
    assert f'"{"x" * 39}…" 2 (66.7 %)' in profile


def test_what_is_too_much_is_sampled_and_said(
    profile_of: Profile, profiler: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiler, "MAX_NUMBERS_EACH", 500)
    monkeypatch.setattr(profiler, "MAX_DISTINCT_EACH", 100)
    content = column_file([f"w{i % 300}" for i in range(5000)])
    profile = profile_of(content)
    cells = row(profile, "id")
    assert "id: quantiles are those of a random sample of 500 of 5000 numbers." in profile
    assert "value: frequent values are those among the first 100 distinct ones." in profile
    assert (cells["Min"], cells["Max"], cells["Mean"]) == ("0", "4999", "2499.5")
    assert cells["Distinct"] == "more than 100"
    assert abs(float(cells["50 %"]) - 2499.5) < 500
    assert profile_of(content) == profile


def test_many_columns_are_cut_and_said(profile_of: Profile) -> None:
    names = [f"c{i}" for i in range(150)]
    content = f"{','.join(names)}\n{','.join('1' for _ in names)}\n"
    profile = profile_of(content)
    assert "Columns: 150" in profile
    assert "100 of 150 columns are profiled" in profile
    assert "| c149 | integer" in profile_of(content, "--column=c149", "--column=c3")


@pytest.mark.parametrize(
    ("files", "arguments", "code", "message"),
    [
        ({}, {}, 2, "no .csv or .tsv file in the folder inputs/"),
        ({"a.csv": b"x\n"}, {"file": "b.csv"}, 2, "no file 'b.csv'; CSV files in inputs/: 'a.csv'"),
        ({"a.csv": b"x\n"}, {"file": "inputs"}, 2, "no file 'inputs'"),
        ({"a.csv": b"x,y\n1,2\n"}, {"column": "z"}, 2, "no column 'z'; the file has 'x', 'y'"),
        ({"a.csv": b"x\n"}, {"delimiter": "both"}, 2, "neither one character nor one of auto, tab"),
        ({"a.csv": b"x\n"}, {"encoding": "klingon"}, 2, "no text encoding that Python knows"),
        ({"a.csv": b"x\n"}, {"encoding": "rot13"}, 2, "no text encoding that Python knows"),
        ({"a.csv": b"x\n"}, {"numbers": "roman"}, 2, "invalid choice: 'roman'"),
        ({"a.csv": b"x\n"}, {"top": -1}, 2, "whole number"),
        ({"a.csv": b"x\n"}, {"sheet": 1}, 2, "unrecognized arguments: --sheet=1"),
        ({"a.csv": b"PK\x03\x04rest"}, {}, 1, "a.csv: is a ZIP archive or an Excel workbook"),
        ({"a.csv": "a,b\n".encode("utf-16-le")}, {}, 1, "holds NUL characters"),
        ({"a.csv": b"a,b\n\xff,1\n"}, {"encoding": "utf-8"}, 1, "is not valid utf-8"),
        (
            {"a.csv": b"a,b\n" + b"1,2\n" * 50_000 + b"\xff,1\n"},
            {"encoding": "utf-8"},
            1,
            "is not valid utf-8 after line",
        ),
        ({"a.csv": b'a,b\n1,"x\n' + b"1,2\n" * 400_000}, {}, 1, "line 2: field larger than field limit"),
        ({"a.csv": b"x" * 5_000_000}, {}, 1, "is longer than"),
    ],
)
def test_refuses_in_one_line(
    files: dict[str, bytes], arguments: dict[str, object], code: int, message: str, scratch: Path, run_script: RunScript
) -> None:
    for name, content in files.items():
        (scratch / "inputs" / name).write_bytes(content)
    done = run_script(*SCRIPT, arguments)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert message in done.err


def test_every_file_handed_over_is_profiled_and_a_bad_one_stops_no_other(scratch: Path, run_script: RunScript) -> None:
    for name, content in {"a.csv": b"x\n1\n", "b.csv": b"\x1f\x8b", "ü.TSV": b"y\tz\n1\t2\n", "c.txt": b"no"}.items():
        (scratch / "inputs" / name).write_bytes(content)
    done = run_script(*SCRIPT, {})
    assert done.code == 1
    assert [line for line in done.out.splitlines() if line.startswith("# ")] == [
        f"# Profile of inputs/{name}" for name in ("a.csv", "ü.TSV")
    ]
    assert "b.csv: is a gzip archive" in done.err
    done = run_script(*SCRIPT, {"file": ["ü.TSV", "inputs/a.csv"], "top": 0})
    assert (done.code, done.err) == (0, "")
    assert done.out.count("# Profile of ") == 2


MARKERS = {"", "NA", "N/A", "#N/A", "NaN", "null", "NULL", "None"}
texts = st.one_of(
    st.sampled_from(["", "NA", "a", "b", ' "quoted" ', "x,y", "x;y", "two\nlines", "two\r\nlines", "pipe|d", "tab\td"]),
    # Without a lone \r: Python before 3.13 writes it without quotes, and so as the end of a line.
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0\r"), max_size=12),
)
numbers = st.one_of(st.none(), st.integers(-(10**17), 10**17))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(texts, numbers, st.booleans()), min_size=1, max_size=40),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    line_end=st.sampled_from(["\n", "\r\n"]),
)
def test_counts_are_those_of_what_was_written(
    rows: list[tuple[str, int | None, bool]],
    delimiter: str,
    quoting: Any,
    line_end: str,
    profiler: ModuleType,
    tmp_path: Path,
) -> None:
    path = tmp_path / "data.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, quoting=quoting, lineterminator=line_end)
        writer.writerow(["words", "count", "flag"])
        writer.writerows([text, "" if number is None else number, str(flag)] for text, number, flag in rows)
    options = profiler.parser().parse_args([f"--delimiter={delimiter}", "--header=present"])
    profile = profiler.profile(path, options)
    words, count, flag = profile.columns

    present = [text.strip() for text, _, _ in rows if text.strip() not in MARKERS]
    assert profile.rows == len(rows)
    assert (profile.short_rows, profile.long_rows, profile.blank_lines, profile.unclosed) == (0, 0, 0, None)
    assert words.missing == len(rows) - len(present)
    assert words.counts == {text: present.count(text) for text in present}
    assert flag.type == "boolean"

    given_numbers = [number for _, number, _ in rows if number is not None]
    assert count.missing == len(rows) - len(given_numbers)
    if not given_numbers:
        assert count.type == "empty"
        return
    assert count.type == "integer"
    assert (count.extremes.low[0], count.extremes.high[0]) == (min(given_numbers), max(given_numbers))
    assert count.mean == Decimal(sum(given_numbers)) / len(given_numbers)
    doubled = given_numbers * 2 if len(given_numbers) == 1 else given_numbers  # `statistics` wants two
    expected = statistics.quantiles(map(Decimal, doubled), n=4, method="inclusive")
    assert count.quantiles(*(Decimal(quarter) / 4 for quarter in (1, 2, 3))) == expected


plain_words = st.text("abcdefgh ", min_size=1, max_size=8).filter(
    lambda text: text.strip() and text.strip() not in {"a", "b", "c"}
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(
    rows=st.lists(st.tuples(plain_words, st.integers(0, 10**6), plain_words), min_size=1, max_size=30),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_finds_out_how_a_plain_file_is_written(
    rows: list[tuple[str, int, str]], delimiter: str, encoding: str, profiler: ModuleType, tmp_path: Path
) -> None:
    path = tmp_path / "data.csv"
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([["a", "b", "c"], *rows])
    options = profiler.parser().parse_args([])
    profile = profiler.profile(path, options)
    assert profile.layout.delimiter == delimiter
    assert profile.layout.encoding == encoding
    assert (profile.header, profile.rows) == (["a", "b", "c"], len(rows))
    assert [column.type for column in profile.columns] == ["text", "integer", "text"]
