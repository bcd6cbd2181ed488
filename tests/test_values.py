"""Any Python value to JSON: what becomes of each kind, what has no JSON form, and what foreign code does."""

from __future__ import annotations

import array
import asyncio
import collections
import dataclasses
import enum
import json
import math
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple, NoReturn, TypedDict
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel, computed_field

from assembler.values import MAX_NODES, Irreducible, clean_text, to_json

JSONS: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Unit(enum.StrEnum):
    METRE = "m"


class Old(str, enum.Enum):  # noqa: UP042  as code of before 3.11 has it
    A = "a"


class Access(enum.Flag):
    READ = 1
    WRITE = 2


@dataclasses.dataclass
class Point:
    x: int
    when: date


@dataclasses.dataclass
class Node:
    next: object = None


class Pair(NamedTuple):
    a: int
    b: date


class Typed(TypedDict):
    a: int


class Model(BaseModel):
    size: Decimal
    note: str | None = None


class Aliased(BaseModel):
    long_name: int = Field(alias="longName")


class Words(str):
    """A text of a class of its own, as libraries for paths and markup have."""

    __slots__ = ()


class Money(float):
    """A number that shows itself in its own way."""

    def __repr__(self) -> str:
        return "a lot"


class Items(Mapping[str, Any]):
    """A mapping that is no dict."""

    def __init__(self, items: Mapping[str, Any]) -> None:
        self._items = items

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)


class Array:
    """What arrays and scalars of numeric libraries have in common."""

    def __init__(self, value: object) -> None:
        self._value = value

    def tolist(self) -> object:
        return self._value


def of_mcp(module: str, **fields: Any) -> BaseModel:
    """An object as MCP's package defines it: models with names of their own, and None for what is not said."""

    class Resource(BaseModel):
        uri: str
        mime_type: str | None = Field(default=None, serialization_alias="mimeType")
        text: str | None = None

    class Block(BaseModel):
        type: str
        text: str | None = None
        data: str | None = None
        mime_type: str | None = Field(default=None, serialization_alias="mimeType")
        name: str | None = None
        uri: str | None = None
        resource: Resource | None = None
        annotations: dict[str, Any] | None = None
        meta: dict[str, Any] | None = Field(default=None, serialization_alias="_meta")

    Block.model_rebuild(_types_namespace={"Resource": Resource, "Any": Any})
    Block.__module__ = Resource.__module__ = module
    return Block(**fields)


@given(JSONS)
def test_json_passes_unchanged(value: Any) -> None:
    reduced = to_json(value)
    assert reduced == value
    assert json.dumps(reduced) == json.dumps(value)  # the same types, and the keys in the same order


@pytest.mark.parametrize(
    "value",
    [
        {"type": "text", "text": "a plain object", "annotations": None, "meta": None},
        {"b": 1, "a": None},
        [None, 1.0, 1, -0.0, True],
        '{"a": 1}',
    ],
)
def test_json_that_looks_like_something_else_passes_unchanged(value: Any) -> None:
    assert json.dumps(to_json(value)) == json.dumps(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (datetime(2026, 1, 2, 3, 4, tzinfo=UTC), "2026-01-02T03:04:00+00:00"),
        (datetime(2026, 1, 2, 3, 4, tzinfo=timezone(timedelta(hours=5.5))), "2026-01-02T03:04:00+05:30"),
        (datetime(2026, 1, 2, 3, 4, 5, 6), "2026-01-02T03:04:05.000006"),  # noqa: DTZ001  no zone is invented
        (date(2026, 1, 2), "2026-01-02"),
        (time(3, 4), "03:04:00"),
        (timedelta(minutes=1), 60.0),
        (Decimal("1.10"), "1.10"),
        (Decimal("NaN"), "NaN"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("a/b"), "a/b"),
        (PureWindowsPath("a/b"), "a\\b"),
        (b"\x00\xff", "AP8="),
        (bytearray(b"\x00\xff"), "AP8="),
        (memoryview(b"\x00\xff"), "AP8="),
        ({3, 10, 2}, [2, 3, 10]),
        (frozenset({"b", 1, None, "a"}), [1, "a", "b", None]),
        ({frozenset({2}), frozenset({1, 3})}, [[1, 3], [2]]),
        ((1, None), [1, None]),
        (Pair(1, date(2026, 1, 2)), [1, "2026-01-02"]),
        (Typed(a=1), {"a": 1}),
        (collections.deque([1, 2]), [1, 2]),
        (range(3), [0, 1, 2]),
        (array.array("i", [1, 2]), [1, 2]),
        ({"b": 1, "a": 2}.keys(), ["b", "a"]),
        ({"b": 1, "a": 2}.values(), [1, 2]),
        (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (Items({"b": 1, "a": Decimal(2)}), {"b": 1, "a": "2"}),
        ({Unit.METRE: 1, Old.A: 2, Words("w"): 3}, {"m": 1, "a": 2, "w": 3}),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Unit.METRE, "m"),
        (Old.A, "a"),
        (Access.READ | Access.WRITE, 3),
        (Words("w"), "w"),
        (Money(1.5), 1.5),
        (Point(1, date(2026, 1, 2)), {"x": 1, "when": "2026-01-02"}),
        (Model(size=Decimal("0.5")), {"size": "0.5", "note": None}),
        (Aliased(longName=1), {"long_name": 1}),
        (RootModel[list[date]]([date(2026, 1, 2)]), ["2026-01-02"]),
        ({"a": [Point(1, date(2026, 1, 2))]}, {"a": [{"x": 1, "when": "2026-01-02"}]}),
        (ValueError("no such city"), "ValueError: no such city"),
        (KeyError("k"), "KeyError: 'k'"),
        (TimeoutError(), "TimeoutError"),
        (ExceptionGroup("two", [ValueError("a"), OSError("b")]), "ExceptionGroup: two (2 sub-exceptions)"),
        ([1, asyncio.CancelledError()], [1, "CancelledError"]),
        (Array([1, Array(2.5)]), [1, 2.5]),
    ],
)
def test_python_values_are_reduced(value: object, expected: object) -> None:
    reduced = to_json(value)
    assert json.dumps(reduced) == json.dumps(expected)


@pytest.mark.parametrize("module", ["mcp.types", "mcp_types._types"])
@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "text", "text": "hi"}, {"type": "text", "text": "hi"}),
        (
            {"type": "image", "data": "AA==", "mime_type": "image/png"},
            {"type": "image", "data": "AA==", "mimeType": "image/png"},
        ),
        ({"type": "resource_link", "name": "x", "uri": "file:///x"},) * 2,
        (
            {"type": "resource", "resource": {"uri": "file:///x", "mime_type": "text/plain", "text": "y"}},
            {"type": "resource", "resource": {"uri": "file:///x", "mimeType": "text/plain", "text": "y"}},
        ),
        (
            {"type": "text", "text": "hi", "meta": {"a": None}},
            {"type": "text", "text": "hi", "_meta": {"a": None}},
        ),
    ],
)
def test_what_mcp_defines_becomes_what_mcp_sends(module: str, block: Any, expected: Any) -> None:
    assert to_json([of_mcp(module, **block)]) == [expected]


def test_a_model_of_anyone_else_keeps_its_names_and_its_nulls() -> None:
    assert to_json(of_mcp("mcpx.types", type="text"))["mime_type"] is None  # type: ignore[index, call-overload]


def _endless() -> object:
    value: list[object] = []
    value.append(value)
    return value


def _round() -> object:
    node = Node()
    node.next = node
    return node


class Itself:
    """Says that it is itself, without end."""

    def model_dump(self, **_: object) -> object:
        return self


class Anything:
    """Has every attribute, as mocks and proxies have."""

    def __getattr__(self, name: str) -> object:
        return Anything()

    def __call__(self, *_: object, **__: object) -> object:
        return Anything()


class Loose(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    value: Any


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": [1, math.nan]}, "$.a[1]"),
        ([math.inf], "$[0]"),
        ([Money("nan")], "$[0]"),
        ({"a": {1: 2}}, "$.a"),
        ({"a": {None: 2}}, "$.a"),
        ([object()], "$[0]"),
        (lambda: None, "$"),
        (1j, "$"),
        ({"a": Point}, "$.a"),
        ({"a": Model}, "$.a"),
        ({"a": Colour}, "$.a"),
        ({"a": (number for number in [1])}, "$.a"),
        ({"a": iter([1])}, "$.a"),
        ({"a": map(str, [1])}, "$.a"),
        (_endless(), "$" + "[0]" * 101),
        (_round(), "$" + ".next" * 101),
        ({"a": Itself()}, "$.a"),
        ({"a": Anything()}, "$.a"),
        ({"a": Loose(value=object())}, "$.a"),
        ({"a": Point(1, math.inf)}, "$.a.when"),  # type: ignore[arg-type]
        ({1, math.nan}, "$[]"),
        ({"a": 10**4300}, "$.a"),
        ([-(10**4300)], "$[0]"),
        (dict.fromkeys(["a\ud800", "a\udfff"]), "$"),
        ([[0] * 999] * 1001, "$[999][998]"),
    ],
)
def test_what_has_no_json_form_is_named_by_its_path(value: object, path: str) -> None:
    with pytest.raises(Irreducible) as caught:
        to_json(value)
    assert caught.value.path == path


def test_a_large_value_and_a_long_integer_are_json() -> None:
    assert to_json(10**4300 - 1) == 10**4300 - 1
    assert to_json([None] * (MAX_NODES - 1)) == [None] * (MAX_NODES - 1)


def _in_items(fail: Callable[[], NoReturn]) -> object:
    class Hostile(Items):
        def __getitem__(self, key: str) -> Any:
            fail()

    return Hostile({"a": 1})


def _in_iteration(fail: Callable[[], NoReturn]) -> object:
    class Hostile(list[int]):
        def __iter__(self) -> Iterator[int]:
            fail()

    return Hostile([1])


def _in_attribute(fail: Callable[[], NoReturn]) -> object:
    class Hostile:
        def __getattr__(self, name: str) -> object:
            fail()

    return Hostile()


def _in_field(fail: Callable[[], NoReturn]) -> object:
    @dataclasses.dataclass
    class Hostile:
        a: int = 1

        def __getattribute__(self, name: str) -> Any:
            return fail() if name == "a" else object.__getattribute__(self, name)

    return Hostile()


def _in_dump(fail: Callable[[], NoReturn]) -> object:
    class Hostile:
        def model_dump(self, **_: object) -> object:
            fail()

    return Hostile()


def _in_computed_field(fail: Callable[[], NoReturn]) -> object:
    class Hostile(BaseModel):
        @computed_field
        def a(self) -> int:
            fail()

    return Hostile()


def _in_text(fail: Callable[[], NoReturn]) -> object:
    class Hostile(Exception):
        def __str__(self) -> str:
            return str(fail())

    return Hostile()


def _in_value(fail: Callable[[], NoReturn]) -> object:
    class Hostile(enum.Enum):
        A = 1

        @property
        def value(self) -> Any:
            fail()

    return Hostile.A


def _in_class(fail: Callable[[], NoReturn]) -> object:
    class Hostile:
        @property
        def __class__(self) -> Any:
            fail()

        @__class__.setter
        def __class__(self, value: Any) -> None: ...

    return Hostile()


PLACES = [
    _in_items,
    _in_iteration,
    _in_attribute,
    _in_field,
    _in_dump,
    _in_computed_field,
    _in_text,
    _in_value,
    _in_class,
]


@pytest.mark.parametrize("error", [ValueError, RecursionError, SystemExit, asyncio.CancelledError, GeneratorExit])
@pytest.mark.parametrize("place", PLACES)
def test_whatever_the_code_of_a_value_raises_is_a_reason(
    place: Callable[[Callable[[], NoReturn]], object], error: type[BaseException]
) -> None:
    def fail() -> NoReturn:
        raise error("hunter2")

    with pytest.raises(Irreducible) as caught:
        to_json({"a": [place(fail)]})
    assert caught.value.path == "$.a[0]"
    assert "hunter2" not in str(caught.value)


def test_a_set_has_one_order_whatever_its_members_are() -> None:
    members = {"b", "a", 3, 20, 1.5, None, False, ("x",), PurePosixPath("c")}
    assert to_json(members) == [False, 1.5, 3, 20, "a", "b", "c", ["x"], None]


@pytest.mark.parametrize(
    ("text", "clean"),
    [("", ""), ("plain", "plain"), ("caf\xe9 \U0001f600", "caf\xe9 \U0001f600"), ("a\ud800b\udfff", "a\ufffdb\ufffd")],
)
def test_text_is_cleaned_of_lone_surrogates(text: str, clean: str) -> None:
    assert clean_text(text) == clean
    assert to_json({text: [text, PurePosixPath("d", text)]}) == {clean: [clean, str(PurePosixPath("d", clean))]}


SURROGATES = st.text(st.characters(codec=None) | st.characters(categories=["Cs"]))


@given(SURROGATES)
def test_clean_text_can_be_written(text: str) -> None:
    assert len(clean_text(text).encode("utf-8").decode("utf-8")) == len(text)


ODD: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        *(st.from_type(kind) for kind in (int, float, complex, str, bytes, date, datetime, timedelta, Decimal, UUID)),
        SURROGATES,
        st.sampled_from([Colour.RED, Level.HIGH, Unit.METRE, object(), Point, ValueError("x"), PurePosixPath("a")]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text() | SURROGATES | st.integers() | st.just(Unit.METRE), inner, max_size=3),
        st.builds(Node, inner),
        st.builds(Items, st.dictionaries(st.text(), inner, max_size=2)),
        st.builds(iter, st.lists(inner, max_size=1)),
        st.builds(Array, inner),
    ),
    max_leaves=8,
)


@given(ODD)
def test_a_value_is_json_or_has_no_json_form(value: object) -> None:
    try:
        reduced = to_json(value)
    except Irreducible:
        return
    written = json.dumps(reduced, allow_nan=False, ensure_ascii=False)
    written.encode()
    assert json.loads(written) == reduced
    assert json.dumps(to_json(reduced), ensure_ascii=False) == written
