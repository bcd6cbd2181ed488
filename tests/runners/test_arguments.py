"""How a model's JSON value becomes a command line, standard input or a file."""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assembler.errors import AssemblerError
from assembler.runners.arguments import (
    MAX_ARGUMENT_BYTES,
    MAX_COMMAND_LINE_BYTES,
    ArgumentStyle,
    ScriptInput,
    map_arguments,
)

AUTO = ArgumentStyle()

JSONS: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("value", "argv"),
    [
        (None, []),
        ([], []),
        ({}, []),
        (["a", "--b", "", "ä b\n$HOME"], ["a", "--b", "", "ä b\n$HOME"]),
        ({"name": "x"}, ["--name=x"]),
        ({"q": "--verbose"}, ["--q=--verbose"]),
        ({"n": 3, "ratio": 0.5, "big": 10**30}, ["--n=3", "--ratio=0.5", f"--big={10**30}"]),
        ({"yes": True, "no": False, "none": None}, ["--yes"]),
        (
            {"tag": ["a", 1, True, {"k": None}, [1]]},
            ["--tag=a", "--tag=1", "--tag=true", '--tag={"k":null}', "--tag=[1]"],
        ),
        ({"tag": []}, []),
        ({"where": {"city": "Köln", "n": [1]}}, ['--where={"city":"Köln","n":[1]}']),
        ({"_": ["in.txt", "-x"], "v": True}, ["--v", "--", "in.txt", "-x"]),
        ({"_": []}, []),
        ({"_": None}, []),
        ({"empty": ""}, ["--empty="]),
        ({"snake_case": 1, "kebab-case": 2, "X9": 3}, ["--snake_case=1", "--kebab-case=2", "--X9=3"]),
        ('["a", "b"]', ["a", "b"]),
        (' {"a": 1} ', ["--a=1"]),
    ],
)
def test_auto_maps(value: Any, argv: list[str]) -> None:
    assert map_arguments(value, AUTO) == ScriptInput(tuple(argv))


@pytest.mark.parametrize(
    ("style", "value", "message"),
    [
        ("auto", "--verbose in.txt", "the arguments are one string"),
        ("auto", '"text"', "the arguments are one string"),
        ("auto", "NaN", "the arguments are one string"),
        ("auto", '{"a": NaN}', "the arguments are one string"),
        ("auto", "[" * 100_000, "the arguments are one string"),
        ("auto", 3, "an array of strings or an object, not a number"),
        ("auto", True, "not a boolean"),
        ("auto", ["a", 3], "`$[1]` is a number, not a string"),
        ("auto", ["a", None], "`$[1]` is null, not a string"),
        ("auto", [["a"]], "`$[0]` is an array, not a string"),
        ("auto", {"--help": True}, '"--help" cannot be the name of a flag'),
        ("auto", {"": 1}, '"" cannot be the name of a flag'),
        ("auto", {"a=b": 1}, "cannot be the name of a flag"),
        ("auto", {"a\n": 1}, "cannot be the name of a flag"),
        ("auto", {"ä": 1}, "cannot be the name of a flag"),
        ("auto", {"a": [None]}, "`$.a[0]` is null"),
        ("auto", {"_": "in.txt"}, "`$._` is a string"),
        ("auto", {"_": [1]}, "`$._[0]` is a number, not a string"),
        ("auto", ["a\0b"], "`$[0]` holds a NUL character"),
        ("auto", {"a": "\0"}, "`$.a` holds a NUL character"),
        ("auto", ["\ud800"], "`$[0]` holds half of a surrogate pair"),
        ("auto", {"a": {"b": "\udfff"}}, "`$.a` holds half of a surrogate pair"),
        ("auto", ["x" * (MAX_ARGUMENT_BYTES + 1)], f"takes {MAX_ARGUMENT_BYTES + 1} bytes"),
        ("auto", ["ä" * (MAX_ARGUMENT_BYTES // 2 + 1)], f"takes {MAX_ARGUMENT_BYTES + 1} bytes"),
        ("auto", {"a": "x" * (MAX_ARGUMENT_BYTES - 3)}, f"takes {MAX_ARGUMENT_BYTES + 1} bytes"),
        ("auto", ["x" * 100_000] * 11, f"longer than {MAX_COMMAND_LINE_BYTES} bytes together"),
        ("auto", {"a": float("nan")}, "a number without a JSON form"),
        ("auto", {"a": 10**5000}, "a number without a JSON form"),
        ("json-stdin", float("inf"), "a number without a JSON form"),
        ("argv", {"a": 1}, "takes an array of strings, not an object"),
        ("argv", '["a"]', "takes an array of strings, not a string"),
        ("flags", ["a"], "takes an object, not an array"),
    ],
)
def test_what_does_not_fit_is_refused(style: Any, value: Any, message: str) -> None:
    with pytest.raises(AssemblerError) as caught:
        map_arguments(value, ArgumentStyle(style=style))
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.code == "script/bad-arguments"
    assert message in diagnostic.message
    assert diagnostic.hint


def test_the_longest_argument_passes() -> None:
    word = "x" * MAX_ARGUMENT_BYTES
    assert map_arguments([word], AUTO).argv == (word,)
    assert subprocess.run(["true", word], check=False).returncode == 0


def test_words_can_be_kept_from_being_options() -> None:
    how = ArgumentStyle(end_of_options=True)
    assert map_arguments(["--rm"], how).argv == ("--", "--rm")
    assert map_arguments([], how).argv == ()


@pytest.mark.parametrize("value", [None, [], {"a": "\0\ud800"}, "text", 3, {"ä": [1.5, None]}])
def test_json_styles_pass_any_value(value: Any) -> None:
    on_stdin = map_arguments(value, ArgumentStyle(style="json-stdin"))
    assert on_stdin.argv == ()
    assert json.loads(on_stdin.stdin or b"") == value
    in_file = map_arguments(value, ArgumentStyle(style="json-file"))
    assert in_file.argv == ()
    assert in_file.file is None if value is None else json.loads(in_file.file or b"") == value


@given(JSONS)
def test_every_value_is_mapped_or_refused_and_what_is_mapped_can_be_executed(value: Any) -> None:
    with contextlib.suppress(AssemblerError):
        for word in map_arguments(value, AUTO).argv:
            assert b"\0" not in word.encode()


FLAG_VALUES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@given(
    st.dictionaries(st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{1,8}", fullmatch=True), FLAG_VALUES, max_size=4),
    st.lists(FLAG_VALUES, max_size=4),
)
def test_argparse_reads_back_what_was_sent(flags: dict[str, str], positionals: list[str]) -> None:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name in flags:
        parser.add_argument(f"--{name}", dest=name)
    parser.add_argument("_", nargs="*")
    read = vars(parser.parse_args(list(map_arguments({**flags, "_": list(positionals)}, AUTO).argv)))
    assert read == {**flags, "_": positionals}
