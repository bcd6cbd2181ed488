"""How the JSON value that a model sent reaches a script: as its command line, on standard input, or in a file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, cast

from assembler.components import Config
from assembler.errors import problem
from assembler.values import JSON

MAX_ARGUMENT_BYTES = 131_071
"""Longest single argument: MAX_ARG_STRLEN of Linux, without the NUL byte that ends it."""

MAX_COMMAND_LINE_BYTES = 1024**2
"""Longest command line: half of what Linux allows with its usual stack of 8 MiB, the rest left to the environment."""

POSITIONALS = "_"
"""Key of an object whose items follow the flags as positional arguments."""

_FLAG = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


_EXPECTED = {
    "argv": "an array of strings",
    "flags": "an object",
    "auto": "an array of strings or an object",
}


class ArgumentStyle(Config):
    """How a script takes its arguments."""

    style: Literal["auto", "argv", "flags", "json-stdin", "json-file"] = "auto"
    """`argv` takes an array of strings, word by word; `flags` an object, as `--key=value`; `auto` either of them;
    `json-stdin` passes any value on standard input, `json-file` in a file whose path is the only argument."""
    end_of_options: bool = False
    """Put `--` before the words of an array, so that none of them is taken for an option."""


@dataclass(frozen=True, slots=True)
class ScriptInput:
    """What a script is started with.

    Attributes:
        argv: Its command line, without program and script.
        stdin: What it reads; None for nothing at all.
        file: Content of a JSON file whose path has to follow `argv`; None for no file.
    """

    argv: tuple[str, ...] = ()
    stdin: bytes | None = None
    file: bytes | None = None


def map_arguments(value: JSON, how: ArgumentStyle) -> ScriptInput:
    """Turns a decoded JSON value into what the script is started with.

    Null means no arguments. In `flags` a true value is the bare flag, false and null leave it out, a list repeats it,
    an object is written as JSON, and the list under `_` follows as positional arguments after `--`. Values are joined
    to their flag by `=`, since a value of its own that looks like an option would be taken for one. Under `auto` a
    string is read as JSON, as some models encode twice; it is never split into words.

    Args:
        value: What the model sent, decoded.
        how: The script's style.

    Raises:
        AssemblerError: The value does not fit the style, or holds what no command line can
            (``script/bad-arguments``).
    """
    if how.style == "json-stdin":
        return ScriptInput(stdin=_json_bytes(value))
    if value is None:
        return ScriptInput()
    if how.style == "json-file":
        return ScriptInput(file=_json_bytes(value))
    if how.style == "auto" and isinstance(value, str):
        value = _read_again(value)
    if isinstance(value, list) and how.style != "flags":
        words = [_word(item, f"$[{index}]") for index, item in enumerate(value)]
        argv = ["--", *words] if how.end_of_options and words else words
    elif isinstance(value, dict) and how.style != "argv":
        argv = list(_flags(value))
    else:
        expected = _EXPECTED[how.style]
        _refuse(f"the script takes {expected}, not {_kind(value)}", hint=f"send {expected}, or null for no arguments")
    if sum(len(word.encode()) + 1 for word in argv) > MAX_COMMAND_LINE_BYTES:
        _refuse(f"the arguments are longer than {MAX_COMMAND_LINE_BYTES} bytes together", hint="pass less")
    return ScriptInput(tuple(argv))


def _flags(value: dict[str, JSON]) -> Iterator[str]:
    for key, item in value.items():
        if key == POSITIONALS:
            continue
        if not _FLAG.fullmatch(key):
            _refuse(
                f"{json.dumps(key)} cannot be the name of a flag",
                hint="names start with a letter and go on with letters, digits, `_` and `-`",
            )
        yield from _flag(key, item)
    positionals = value.get(POSITIONALS)
    if positionals is None:
        return
    if not isinstance(positionals, list):
        _refuse(f"`$.{POSITIONALS}` is {_kind(positionals)}", hint="positional arguments are an array of strings")
    if positionals:
        yield "--"
        for index, item in enumerate(positionals):
            yield _word(item, f"$.{POSITIONALS}[{index}]")


def _flag(key: str, item: JSON) -> Iterator[str]:
    if item is None or item is False:
        return
    if item is True:
        yield f"--{key}"
    elif isinstance(item, list):
        for index, part in enumerate(item):
            if part is None:
                _refuse(f"`$.{key}[{index}]` is null, which a repeated flag cannot say", hint="leave the item out")
            yield _checked(f"--{key}={_text(part)}", f"$.{key}[{index}]")
    else:
        yield _checked(f"--{key}={_text(item)}", f"$.{key}")


def _word(item: JSON, path: str) -> str:
    if not isinstance(item, str):
        _refuse(f"`{path}` is {_kind(item)}, not a string", hint='every item is a string: write 3 as "3"')
    return _checked(item, path)


def _checked(word: str, path: str) -> str:
    if "\0" in word:
        _refuse(f"`{path}` holds a NUL character, which no command line can", hint="leave the character out")
    try:
        size = len(word.encode())
    except UnicodeEncodeError:
        _refuse(f"`{path}` holds half of a surrogate pair, which is no character", hint="send whole characters")
    if size > MAX_ARGUMENT_BYTES:
        _refuse(f"`{path}` takes {size} bytes, more than the {MAX_ARGUMENT_BYTES} of one argument", hint="pass less")
    return word


def _text(item: JSON) -> str:
    return item if isinstance(item, str) else _json(item, ascii_only=False)


def _json_bytes(value: JSON) -> bytes:
    # Escapes alone, so that NUL and half surrogate pairs pass as they came.
    return _json(value, ascii_only=True).encode("ascii")


def _json(value: JSON, *, ascii_only: bool) -> str:
    try:
        return json.dumps(value, ensure_ascii=ascii_only, allow_nan=False, separators=(",", ":"))
    except (ValueError, RecursionError) as error:
        raise problem(
            "script/bad-arguments",
            "the arguments hold a number without a JSON form, or nest too deep",
            hint="send finite numbers of a usual size",
        ) from error


def _read_again(text: str) -> JSON:
    try:
        value: Any = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list | dict):
        _refuse("the arguments are one string", hint='send an array of strings such as ["-v", "in.txt"], or an object')
    return cast("JSON", value)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _kind(value: JSON) -> str:
    names: dict[type, str] = {
        dict: "an object",
        list: "an array",
        str: "a string",
        bool: "a boolean",
        type(None): "null",
    }
    return names.get(type(value), "a number")


def _refuse(message: str, *, hint: str) -> NoReturn:
    raise problem("script/bad-arguments", message, hint=hint)
