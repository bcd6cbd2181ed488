"""What the classes of a configuration say of their own keys: values, defaults and meanings."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

import yaml
from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo

from assembler.kinds import BUILT_IN, find_kind
from assembler.quantities import parse_size
from assembler.secret import Secret

REQUIRED = "required"

_WORDS: Mapping[Any, str] = {
    str: "text",
    int: "number",
    float: "number",
    bool: "`true` or `false`",
    Path: "path",
    timedelta: "duration",
    Secret: "secret reference",
    NoneType: "`null`",
}


def rows(shown: type[BaseModel], before: Collection[type[BaseModel]]) -> Iterator[tuple[str, str, str]]:
    """Key, values and meaning of each field of a class, without those of ancestors that were shown before."""
    known = {name for base in before if base is not shown and issubclass(shown, base) for name in base.model_fields}
    meanings = _meanings(shown)
    for name, field in shown.model_fields.items():
        if name not in known:
            yield name, _values(field), meanings[name]


def is_default(field: FieldInfo, text: str) -> bool:
    """Whether a text, read as YAML where the field stands, is the field's default."""
    if field.is_required():
        return text == REQUIRED
    default = field.get_default(call_default_factory=True)
    given = yaml.safe_load(text.strip("`"))
    if given is None or default is None:
        return given is default
    whole: Any = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
    return TypeAdapter(whole).validate_python(given) == default


def reachable(root: type[BaseModel]) -> set[type[BaseModel]]:
    """Every class that can stand in a configuration, the built-in kinds included."""
    found: set[type[BaseModel]] = set()
    waiting = [root, *(find_kind(room, kind) for room, kinds in BUILT_IN.items() for kind in kinds)]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            for field in current.model_fields.values():
                waiting += _models(field.annotation)
    return found


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def _meanings(shown: type[BaseModel]) -> dict[str, str]:
    """The texts below the fields of a class and its ancestors, each on one line."""
    meanings: dict[str, str] = {}
    for base in reversed(shown.__mro__):
        if not (issubclass(base, BaseModel) and base is not BaseModel):
            continue
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        body = cast("ast.ClassDef", definition).body
        for statement, following in pairwise(body):
            match statement, following:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    meanings[name] = " ".join(text.split())
                case _:
                    pass
    return meanings


def _values(field: FieldInfo) -> str:
    is_size = any(getattr(item, "func", None) is parse_size for item in field.metadata)
    return "size" if is_size else _words(field.annotation)


def _words(annotation: Any) -> str:
    """A type in a reader's words."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in _WORDS:
        return _WORDS[annotation]
    if origin is Annotated:
        return _words(arguments[0])
    if origin is Literal:
        return ", ".join(f"`{option}`" for option in arguments)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_words(argument) for argument in arguments))
    if origin in (tuple, list, Sequence):
        return "list"
    return "mapping"
