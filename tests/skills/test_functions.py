"""Python functions as scripts and resources: what the model is told of them, and what it can make them do."""

from __future__ import annotations

import asyncio
import functools
import threading
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field
from tests.skills.support import in_run

from assembler.errors import AssemblerError
from assembler.python.refs import FunctionRef
from assembler.scope import Scope
from assembler.skills.functions import FunctionResource, FunctionScript
from assembler.skills.skill import RunContext
from assembler.values import Irreducible


class Point(BaseModel):
    x: int
    y: int = 0


@dataclass
class Size:
    width: float


class Opaque: ...


def script(function: Any, name: str = "script") -> FunctionScript:
    return FunctionScript(name, FunctionRef.of(function))


def run(function: Any, arguments: Any = None) -> Any:
    async def main() -> Any:
        async with Scope() as scope:
            return await script(function).run(arguments, in_run(scope, services={"db": "DB"}))

    return asyncio.run(main())


def refused(function: Any, arguments: Any) -> list[tuple[str, str]]:
    with pytest.raises(AssemblerError) as caught:
        run(function, arguments)
    assert {told.code for told in caught.value.diagnostics} == {"script/bad-arguments"}
    return [(told.message, told.hint) for told in caught.value.diagnostics]


def add(left: int, right: int = 1) -> int:
    """Adds two
    numbers.

    And nothing else.
    """
    return left + right


def positional(first: int, /, second: int = 2, *rest: int, third: int = 3) -> Any:
    return first, second, rest, third


def anything(base: int, **more: int) -> Any:
    return base, more


def untyped(value, other=None):  # type: ignore[no-untyped-def]
    return value, other


def rich(
    when: date,
    point: Point,
    size: Size | None = None,
    unit: Literal["km", "mi"] = "km",
    way: list["Point"] | None = None,  # noqa: UP037  (as where annotations are evaluated at once)
    tags: Annotated[list[str], Field(max_length=2, description="Words.")] = [],  # noqa: B006
) -> Any:
    return when, point, size, unit, tags


def with_context(text: str, context: RunContext) -> Any:
    return text, context.services["db"]


def only_context(context: RunContext, /) -> Any:
    return context.services["db"]


def context_and_any(context: RunContext, maybe: RunContext | None = None, **more: str) -> Any:
    return context is maybe, more


def odd_names(schema: int, self: int, json: int = 0, arguments: int = 0) -> Any:
    return schema, self, json, arguments


async def slowly(text: str) -> Any:
    return text, threading.current_thread() is threading.main_thread()


def blocking(text: str) -> Any:
    return text, threading.current_thread() is threading.main_thread()


class Calculator:
    """Calculates."""

    def __call__(self, value: int) -> int:
        return value * 2

    def triple(self, value: int) -> int:
        """Times three."""
        return value * 3


def test_the_docstring_begins_with_what_it_does() -> None:
    assert script(add).description == "Adds two numbers."
    assert script(anything).description == ""
    assert script(Calculator()).description == "Calculates."
    assert script(Calculator().triple).description == "Times three."
    assert script(functools.partial(add, 1)).description == "Adds two numbers."


@pytest.mark.parametrize(
    ("function", "properties", "required", "more"),
    [
        (add, {"left": {"type": "integer"}, "right": {"type": "integer", "default": 1}}, ["left"], False),
        (anything, {"base": {"type": "integer"}}, ["base"], {"type": "integer"}),
        (untyped, {"value": {}, "other": {"default": None}}, ["value"], False),
        (with_context, {"text": {"type": "string"}}, ["text"], False),
        (only_context, {}, None, False),
        (context_and_any, {}, None, {"type": "string"}),
        (Calculator(), {"value": {"type": "integer"}}, ["value"], False),
        (
            positional,
            {
                "first": {"type": "integer"},
                "second": {"type": "integer", "default": 2},
                "third": {"type": "integer", "default": 3},
            },
            ["first"],
            False,
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_its_parameters_become_a_schema(function: Any, properties: Any, required: Any, more: Any) -> None:
    schema: Any = script(function).schema
    assert (schema["type"], schema["properties"]) == ("object", properties)
    assert schema.get("required") == required
    assert schema["additionalProperties"] == more


def test_types_of_all_sorts_become_a_schema() -> None:
    schema: Any = script(rich).schema
    assert schema["properties"]["when"] == {"type": "string", "format": "date"}
    assert schema["properties"]["unit"]["enum"] == ["km", "mi"]
    assert schema["properties"]["way"]["anyOf"][0] == {"type": "array", "items": {"$ref": "#/$defs/Point"}}
    assert schema["properties"]["tags"]["description"] == "Words."
    assert set(schema["$defs"]) == {"Point", "Size"}


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (add, {"left": 1}, 2),
        (add, {"right": 5, "left": "2"}, 7),
        (positional, {"first": 1}, (1, 2, (), 3)),
        (positional, {"third": 7, "second": 8, "first": 9}, (9, 8, (), 7)),
        (anything, {"base": 1, "x": 2}, (1, {"x": 2})),
        (untyped, {"value": [1, {"a": None}]}, ([1, {"a": None}], None)),
        (with_context, {"text": "x"}, ("x", "DB")),
        (only_context, {}, "DB"),
        (only_context, None, "DB"),
        (context_and_any, {"a": "b"}, (True, {"a": "b"})),
        (odd_names, {"schema": 1, "self": 2, "arguments": 3}, (1, 2, 0, 3)),
        (slowly, {"text": "x"}, ("x", True)),
        (blocking, {"text": "x"}, ("x", False)),
        (Calculator(), {"value": 2}, 4),
        (Calculator().triple, {"value": 2}, 6),
        (functools.partial(add, right=4), {"left": 1}, 5),
        (
            rich,
            {"when": "2026-01-02", "point": {"x": 1}, "size": {"width": 2}},
            (date(2026, 1, 2), Point(x=1), Size(2.0), "km", []),
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_it_gets_what_the_model_sends(function: Any, arguments: Any, expected: Any) -> None:
    assert run(function, arguments) == expected


@pytest.mark.parametrize(
    ("function", "arguments", "told"),
    [
        (add, {"lift": 1, "left": 1}, [("there is no argument `lift`", "it takes `left`, `right`")]),
        (
            add,
            {"right": "x", "more": 1},
            [
                ("`left` is required, and missing", "it takes `left`, `right`"),
                ("`right` does not fit: Input should be a valid integer, unable to parse string as an integer", ""),
                ("there is no argument `more`", "it takes `left`, `right`"),
            ],
        ),
        (add, None, [("`left` is required, and missing", "it takes `left`, `right`")]),
        (add, [1, 2], [("the arguments have names: expected a JSON object", "it takes `left`, `right`")]),
        (add, "1 2", [("the arguments have names: expected a JSON object", "it takes `left`, `right`")]),
        (only_context, [], [("the arguments have names: expected a JSON object", "it takes none")]),
        (only_context, {"context": {}}, [("there is no argument `context`", "it takes none")]),
        (with_context, {"text": "x", "context": 1}, [("there is no argument `context`", "it takes `text`")]),
        (context_and_any, {"maybe": "x"}, [("there is no argument `maybe`", "it takes none")]),
        (
            positional,
            {"first": 1, "rest": [2]},
            [("there is no argument `rest`", "it takes `first`, `second`, `third`")],
        ),
        (anything, {"base": 1, "x": "y"}, None),
        (rich, {"when": "2026-01-02", "point": {"x": "y"}}, None),
        (rich, {"when": "2026-01-02", "point": {"x": 1}, "tags": ["a", "b", "c"]}, None),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_does_not_fit_is_told_and_runs_nothing(function: Any, arguments: Any, told: Any) -> None:
    ran: list[Any] = []

    @functools.wraps(function)
    def watched(*args: Any, **kwargs: Any) -> None:
        ran.append(args)

    found = refused(watched, arguments)
    assert found
    assert sorted(found) == sorted(told or found)
    assert ran == []


def test_a_place_within_an_argument_is_named() -> None:
    ((message, _),) = refused(rich, {"when": "2026-01-02", "point": {"x": "y"}})
    assert message.startswith("`point.x` does not fit")


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


SCRIPTS = [script(function) for function in (add, anything, with_context, rich, untyped)]


@given(arguments=JSONS)
def test_whatever_the_model_sends_is_taken_or_told(arguments: Any) -> None:
    told: list[str] = []

    async def main() -> None:
        async with Scope() as scope:
            for each in SCRIPTS:
                try:
                    await each.run(arguments, in_run(scope, services={"db": "DB"}))
                except AssemblerError as error:
                    told.extend(diagnostic.code for diagnostic in error.diagnostics)

    asyncio.run(main())
    assert set(told) <= {"script/bad-arguments"}


def takes_opaque(value: Opaque) -> None: ...


def takes_nothing_known(value: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize("function", [takes_opaque, takes_nothing_known, iter])
def test_a_function_that_no_model_can_call_is_refused(function: Any) -> None:
    with pytest.raises(AssemblerError) as caught:
        script(function)
    (told,) = caught.value.diagnostics
    assert told.code == "skills/bad-function"
    assert f":{function.__name__}`" in told.message


def test_a_default_that_json_cannot_hold_is_left_out() -> None:
    def found(when: Any = Opaque(), *, path: Path = Path("x")) -> Any:  # noqa: B008
        return when, path

    assert script(found).schema["properties"]["when"] == {}  # type: ignore[call-overload, index]
    when, path = run(found)
    assert isinstance(when, Opaque)
    assert path == Path("x")


def test_what_it_raises_goes_on() -> None:
    def fails() -> None:
        raise LookupError("no luck")

    with pytest.raises(LookupError, match="no luck"):
        run(fails)


def test_before_it_is_loaded_only_its_name_is_known() -> None:
    waiting = FunctionScript("later", FunctionRef(target="nowhere:x"))
    assert (waiting.name, waiting.description, waiting.schema, waiting.needs_runner) == ("later", "", None, False)
    assert "nowhere:x" in waiting.runs

    async def use() -> None:
        async with Scope() as scope:
            with pytest.raises(AssemblerError) as caught:
                await waiting.run({}, in_run(scope))
            assert caught.value.diagnostics[0].code == "python/not-loaded"
            with pytest.raises(AssemblerError):
                await FunctionResource("later", FunctionRef(target="nowhere:x")).read(in_run(scope))

    asyncio.run(use())


def read(function: Any) -> Any:
    async def main() -> Any:
        async with Scope() as scope:
            resource = FunctionResource("now", FunctionRef.of(function))
            return await resource.read(in_run(scope, services={"db": "DB"}))

    return asyncio.run(main())


def test_a_resource_is_made_at_each_read() -> None:
    count = iter(range(10))

    def number() -> str:
        """Counts."""
        return f"{next(count)}"

    async def later(context: RunContext, width: int = 3) -> bytes:
        return b"x" * width

    def opaque() -> Opaque:
        return Opaque()

    assert FunctionResource("now", FunctionRef.of(number)).description == "Counts."
    assert (read(number), read(number), read(later)) == ("0", "1", b"xxx")
    assert read(only_context) == "DB"
    assert read(lambda: {"a": [1, "ü"]}) == '{"a": [1, "ü"]}'
    with pytest.raises(Irreducible):
        read(opaque)


def test_a_resource_takes_nothing_from_the_model() -> None:
    with pytest.raises(AssemblerError) as caught:
        read(add)
    (told,) = caught.value.diagnostics
    assert (told.code, "`left`" in told.message, "`right`" in told.message) == ("skills/bad-function", True, False)
