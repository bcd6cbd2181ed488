"""Where templates are rendered: over JSON values only, in bounded time and memory.

Nothing can stop a computation inside of one process, so everything that a template makes Python do is paid for from a
budget, before it is done where its result may be larger than what it is made from:

- each turn of a loop and each call of a macro pays for the nodes and the text of its body;
- each operator, comparison, filter, test, call and output pays for all values that go in, and for what comes out.

A value's price is the number of its characters and elements, repeated ones counted again, so that one which holds the
same list a thousand times is as dear as it is to print. What is left out of Jinja is what has no such price.
"""

from __future__ import annotations

import re
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import Any, cast

from jinja2 import StrictUndefined, TemplateRuntimeError, Undefined, nodes, pass_context
from jinja2.exceptions import SecurityError, TemplateSyntaxError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

MAX_WORK = 5_000_000
"""Characters and elements that a rendering may handle, each time that it handles them: one to three seconds' work."""

CALL = 20
"""Price of a call, which takes as long as handling so many elements."""

MAX_BITS = 16_384
"""Largest integer that an operator takes or makes; a little more than Python writes in decimal."""

MAX_LEVELS = 200
"""Deepest value; JSON values have at most half of it."""

METHODS: Mapping[type, frozenset[str]] = {
    str: frozenset(
        (
            *("capitalize", "casefold", "count", "endswith", "find", "index", "isalnum", "isalpha", "isascii"),
            *("isdecimal", "isdigit", "islower", "isnumeric", "isspace", "istitle", "isupper", "join", "lower"),
            *("lstrip", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rpartition"),
            *("rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "swapcase", "title", "upper"),
        )
    ),
    dict: frozenset({"get", "items", "keys", "values"}),
    list: frozenset({"count", "index"}),
    tuple: frozenset({"count", "index"}),
}
"""Methods of JSON values; those which pad or format a text would need a price of their own."""

UNKNOWN_FILTERS = frozenset({"attr", "pprint", "random", "urlize", "wordwrap", "xmlattr"})
"""Filters that reach attributes, differ from run to run, or take much longer than their arguments are large."""

STATEMENTS = (
    nodes.Assign,
    nodes.AssignBlock,
    nodes.CallBlock,
    nodes.FilterBlock,
    nodes.For,
    nodes.If,
    nodes.Macro,
    nodes.Output,
    nodes.With,
)
"""Statements; blocks, inheritance and imports would need other templates, of which there are none."""


class TooMuchWork(TemplateRuntimeError):
    """A template takes more time or memory than one may."""

    def __init__(self) -> None:
        super().__init__("it takes more time or memory than a template may")


class Sandbox(ImmutableSandboxedEnvironment):
    """The environment of one rendering."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True, lstrip_blocks=True)
        self._left = MAX_WORK
        known = cast("Any", self).globals
        del known["lipsum"], known["cycler"]
        self.filters = {
            name: _paid_filter(name, do) for name, do in self.filters.items() if name not in UNKNOWN_FILTERS
        }
        self.filters |= {_PAID: _paid, _TURNS: _turns, _TOLL: _toll}
        self.tests = {name: _paid_test(do) for name, do in self.tests.items()}

    def rendered(self, source: str, values: Mapping[str, object]) -> Iterator[str]:
        """The parts of a rendering, as they are made."""
        template = self.parse(source)
        self._instrument(template)
        return self.from_string(template).generate(values)

    def pay(self, price: int) -> None:
        """Takes from the budget.

        Raises:
            TooMuchWork: Not as much is left.
        """
        self._left -= price
        if self._left < 0:
            raise TooMuchWork

    def pay_for(self, *values: object, strict: bool = True) -> int:
        """Pays for values that something is done with.

        Args:
            values: The values.
            strict: Whether they have to be JSON; not where they are only handed on, or asked what they are.

        Returns:
            What was paid.
        """
        before = self._left
        for value in values:
            self._walk(value, strict=strict)
        return before - self._left

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether a template may reach an attribute: some methods of JSON values, and what is Jinja's own."""
        for kind, names in METHODS.items():
            if isinstance(obj, kind):
                return attr in names
        is_jinjas_own = type(obj).__module__.partition(".")[0] == "jinja2"
        return is_jinjas_own and super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """None: `str.format` is no method that a template may call."""
        return None

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805, PYI063 - Jinja's
        """Calls a method, a macro or a function of Jinja's."""
        owner = getattr(__obj, "__self__", None)
        given = [*args, *kwargs.values()]
        price = __self.pay_for(owner, *given, strict=False)
        __self.pay(CALL)
        if isinstance(owner, str):
            __self.pay(_growth(getattr(__obj, "__name__", ""), price, owner, given))
        return __self.settled(super().call(__context, __obj, *args, **kwargs), strict=False)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Computes what an operator of two values does."""
        self.pay_for(left, right)
        if any(isinstance(number, int) and number.bit_length() > MAX_BITS for number in (left, right)):
            raise TooMuchWork
        match operator:
            case "*":
                self._check_product(left, right)
            case "**":
                _check_power(left, right)
            case "%" if isinstance(left, str):
                self.pay(_formatted_size(left))
            case _:
                pass
        result = super().call_binop(context, operator, left, right)
        return self.settled(result)

    def settled(self, result: Any, *, strict: bool = True) -> Any:
        """Pays for a result; what would only be computed when it is iterated is computed now."""
        if isinstance(result, Iterator | KeysView | ValuesView | ItemsView):
            result = list(self._paid_elements(cast("Iterable[Any]", result), strict=strict))
        else:
            self._walk(result, strict=strict)
        return result

    def _paid_elements(self, elements: Iterable[Any], *, strict: bool) -> Iterator[Any]:
        for element in elements:
            self.pay(1)
            self._walk(element, strict=strict)
            yield element

    def _check_product(self, left: Any, right: Any) -> None:
        for times, other in ((left, right), (right, left)):
            if isinstance(times, int) and isinstance(other, Sequence):
                self.pay(max(times, 0) * len(cast("Sequence[Any]", other)))

    def _walk(self, value: object, *, strict: bool) -> None:
        waiting: list[tuple[Any, int]] = [(value, 1)]
        while waiting:
            value, level = waiting.pop()
            if level > MAX_LEVELS:
                raise TooMuchWork
            self.pay(level)  # deep ones cost more: JSON may be written with an indent
            if isinstance(value, str | bytes):
                self.pay(len(value))
            elif isinstance(value, int):
                self.pay(value.bit_length() // 8)
            elif isinstance(value, range):
                self.pay(len(value))
            elif isinstance(value, Mapping):
                pairs = cast("Mapping[Any, Any]", value)
                self.pay(len(pairs))
                waiting += ((item, level + 1) for pair in pairs.items() for item in pair)
            elif isinstance(value, list | tuple):
                elements = cast("Sequence[Any]", value)
                self.pay(len(elements))
                waiting += ((element, level + 1) for element in elements)
            elif strict and not isinstance(value, float | Undefined | type(None)):
                raise SecurityError(f"a {type(value).__name__} cannot be used here")

    def _instrument(self, node: nodes.Node) -> int:
        """Refuses what is left out, makes the rest pay, and returns the size of what was there."""
        size = 1 + sum(self._instrument(child) for child in node.iter_child_nodes())
        match node:
            case nodes.TemplateData(data=data):
                size += len(data)
            case nodes.Const(value=value) if isinstance(value, str):
                size += len(value)
            case nodes.For():
                if node.recursive:
                    raise TemplateSyntaxError("loops cannot be recursive here", node.lineno)
                node.iter = self._filter(node.iter, _TURNS, size)
            case nodes.Macro() | nodes.CallBlock():
                toll = nodes.Output([self._filter(nodes.Const(""), _TOLL, size)], lineno=node.lineno)
                node.body.insert(0, toll)
            case nodes.Output():
                node.nodes = [self._paid_unless_data(child) for child in node.nodes]
            case nodes.Concat():
                node.nodes = [self._filter(child, _PAID) for child in node.nodes]
            case nodes.Compare():
                node.expr = self._filter(node.expr, _PAID)
                for operand in node.ops:
                    operand.expr = self._filter(operand.expr, _PAID)
            case nodes.Getitem(arg=nodes.Slice()):
                node.node = self._filter(node.node, _PAID)
            case nodes.Stmt() if not isinstance(node, STATEMENTS):
                raise TemplateSyntaxError(f"a template cannot have a `{type(node).__name__.lower()}`", node.lineno)
            case _:
                pass
        return size

    def _paid_unless_data(self, node: nodes.Expr) -> nodes.Expr:
        return node if isinstance(node, nodes.TemplateData) else self._filter(node, _PAID)

    def _filter(self, node: Any, name: str, *arguments: int) -> nodes.Filter:
        constants = [nodes.Const(argument, lineno=node.lineno) for argument in arguments]
        made = nodes.Filter(node, name, constants, [], None, None, lineno=node.lineno)
        made.set_environment(self)
        return made


_PAID, _TURNS, _TOLL = " paid", " turns", " toll"
"""Filters that no template can name."""

# All filters and tests take the context, since Jinja computes the others when it compiles a template, for nothing.


@pass_context
def _paid(context: Context, value: Any) -> Any:
    _sandbox(context).pay_for(value)
    return value


@pass_context
def _turns(context: Context, value: Any, size: int) -> Any:
    """What a loop goes through, all of its turns paid."""
    sandbox = _sandbox(context)
    sandbox.pay_for(value)
    turns = list(value)
    sandbox.pay(len(turns) * size)
    return turns


@pass_context
def _toll(context: Context, value: str, size: int) -> str:
    _sandbox(context).pay(size)
    return value


def _paid_filter(name: str, do: Callable[..., Any]) -> Callable[..., Any]:
    @pass_context
    def filtered(context: Context, value: Any = "", *args: Any, **kwargs: Any) -> Any:
        sandbox = _sandbox(context)
        given = [*args, *kwargs.values()]
        price = sandbox.pay_for(value, *given)
        # A number is a width, a count or a precision here: what it asks for costs as much.
        sandbox.pay(sum(abs(number) for number in given if isinstance(number, int)))
        sandbox.pay(_growth(name, price, value, given))
        return sandbox.settled(do(*_first_argument(do, context), value, *args, **kwargs))

    return filtered


def _paid_test(do: Callable[..., Any]) -> Callable[..., Any]:
    @pass_context
    def tested(context: Context, *args: Any) -> Any:
        _sandbox(context).pay_for(*args, strict=False)
        return do(*_first_argument(do, context), *args)

    return tested


def _first_argument(do: Callable[..., Any], context: Context) -> tuple[Any, ...]:
    """What Jinja hands to a function before its arguments, as its `pass_...` decorators say."""
    match getattr(getattr(do, "jinja_pass_arg", None), "name", None):
        case "context":
            return (context,)
        case "eval_context":
            return (context.eval_ctx,)
        case "environment":
            return (context.environment,)
        case _:
            return ()


def _sandbox(context: Context) -> Sandbox:
    return cast("Sandbox", context.environment)


def _growth(name: str, price: int, value: Any, given: Sequence[Any]) -> int:
    """How much larger than what goes in the result may be, for the filters and methods where it may.

    Args:
        name: The filter or method.
        price: What its arguments cost together.
        value: What is filtered, or whose method it is.
        given: Its other arguments.
    """
    longest = max((_length(item) for item in given), default=0)
    match name:
        case "replace":
            found = max((str(value).count(text) for text in given if isinstance(text, str)), default=0)
            return found * longest
        case "join":
            return _length(value) * longest
        case "indent" | "tojson":
            width = max((abs(number) for number in given if isinstance(number, int)), default=4)
            return price * max(width, longest)
        case "format":
            return _formatted_size(str(value))
        case "sum" if any(isinstance(start, list | tuple) for start in given):
            raise SecurityError("`sum` adds numbers")  # lists would be copied once for each of them
        case _:
            return 0


def _length(value: object) -> int:
    return len(cast("Sequence[Any]", value)) if isinstance(value, Sequence | Mapping) else 0


def _formatted_size(text: str) -> int:
    """How much `%` may add to the values that it writes, where each is written once.

    Raises:
        SecurityError: A width has more than three digits or is a value, or a value has a name and could be repeated.
    """
    if any(re.search(r"[(*]|\d{4}", found) for found in re.findall(r"%([^a-zA-Z%]*)", text)):
        raise SecurityError("`%` takes no names here, no `*`, and no widths of more than three digits")
    return text.count("%") * 1000


def _check_power(left: object, right: object) -> None:
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() * abs(right) > MAX_BITS:
        raise TooMuchWork
