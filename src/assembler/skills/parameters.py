"""The parameters of a function: told to the model as a JSON Schema, and filled with what the model sends."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ArgsKwargs, ErrorDetails

from assembler.errors import AssemblerError, Diagnostic, first_line, problem
from assembler.schemas.problems import parameter
from assembler.skills.skill import RunContext
from assembler.values import JSON


class Parameters:
    """What a function has to be called with: arguments of the model's, and what the framework fills in.

    A parameter of type ``RunContext`` is filled in; the model neither sees it nor reaches it by its name. The others
    take named arguments, also those that Python fills by position; ``**kwargs`` takes any name, and ``*args`` nothing.

    Args:
        function: The function.
        reference: Its name for messages, as ``package.module:Name``.

    Attributes:
        schema: JSON Schema of the model's arguments: an object.
        names: The names that these arguments can have, others than those of ``**kwargs``.
        required: Those that have to be there.

    Raises:
        AssemblerError: The parameters cannot be found out, or JSON cannot hold what they take
            (``skills/bad-function``).
    """

    def __init__(self, function: Callable[..., Any], reference: str) -> None:
        try:
            found = inspect.signature(function, eval_str=True).parameters.values()
            self._all = [each for each in found if each.kind is not Parameter.VAR_POSITIONAL]
            open_ = [each for each in self._all if not _is_context(each)]
            self._validator = TypeAdapter(cast("Any", _taker(open_, getattr(function, "__module__", None))))
            self.schema = cast("JSON", self._validator.json_schema(schema_generator=_Schema))
        except Exception as error:  # annotations are foreign code, and a type can be refused in many ways
            raise problem(
                "skills/bad-function",
                f"the parameters of `{reference}` cannot be described: {type(error).__name__}: {first_line(error)}",
                hint="annotate them with what JSON can hold, such as `str`, `list[int]` or a Pydantic model",
            ) from error
        named = [each for each in open_ if each.kind is not Parameter.VAR_KEYWORD]
        self.names: Sequence[str] = [each.name for each in named]
        self.required: Sequence[str] = [each.name for each in named if each.default is Parameter.empty]
        self._filled_in = {each.name for each in self._all if _is_context(each)}

    def filled(self, arguments: JSON, context: RunContext) -> tuple[list[Any], dict[str, Any]]:
        """What to call the function with.

        Args:
            arguments: The decoded value that the model sent: an object, or None for none.
            context: What parameters of its type get.

        Returns:
            Values by position, and by name.

        Raises:
            AssemblerError: Everything that is wrong with the arguments (``script/bad-arguments``).
        """
        values = {**self._checked(arguments), **dict.fromkeys(self._filled_in, context)}
        by_position = [values.pop(each.name) for each in self._all if each.kind is Parameter.POSITIONAL_ONLY]
        return by_position, values

    def _checked(self, arguments: JSON) -> dict[str, Any]:
        given = {} if arguments is None else arguments
        if not isinstance(given, Mapping):
            message = "the arguments have names: expected a JSON object"
            raise problem("script/bad-arguments", message, hint=self._allowed())
        # `**kwargs` would take the name of what is filled in, too.
        faults = [self._unknown(name) for name in given if name in self._filled_in]
        values: dict[str, Any] = {}
        try:
            values = self._validator.validate_python(ArgsKwargs((), given))
        except ValidationError as error:
            faults += map(self._fault, error.errors(include_url=False, include_input=False))
        if faults:
            raise AssemblerError(*dict.fromkeys(faults))
        return values

    def _fault(self, found: ErrorDetails) -> Diagnostic:
        path, kind = found["loc"], found["type"]
        if kind == "unexpected_keyword_argument":
            return self._unknown(str(path[0]))
        if kind == "missing_keyword_only_argument":
            message = f"{parameter(path)} is required, and missing"
            return Diagnostic("script/bad-arguments", message, hint=self._allowed())
        return Diagnostic("script/bad-arguments", f"{parameter(path)} does not fit: {found['msg']}")

    def _unknown(self, name: str) -> Diagnostic:
        return Diagnostic("script/bad-arguments", f"there is no argument {parameter([name])}", hint=self._allowed())

    def _allowed(self) -> str:
        if not self.names:
            return "it takes none"
        return "it takes " + ", ".join(f"`{name}`" for name in self.names)


class _Schema(GenerateJsonSchema):
    """Without what says nothing: titles made of names; a default that JSON cannot hold is left out without a word."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


def _is_context(each: Parameter) -> bool:
    annotation = each.annotation
    if get_origin(annotation) in {Annotated, Union, UnionType}:
        return RunContext in get_args(annotation)
    return annotation is RunContext


def _taker(parameters: Sequence[Parameter], module: str | None) -> Callable[..., dict[str, Any]]:
    """A function with these parameters, all of them by name, that returns what it is called with."""

    def take(**values: Any) -> dict[str, Any]:
        return values

    by_name = [
        each if each.kind is Parameter.VAR_KEYWORD else each.replace(kind=Parameter.KEYWORD_ONLY) for each in parameters
    ]
    taker = cast("Any", take)
    taker.__signature__ = inspect.Signature(by_name)
    taker.__annotations__ = {each.name: each.annotation for each in by_name}
    taker.__module__ = module  # where names in annotations are looked up
    return take
