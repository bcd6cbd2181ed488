"""Python functions as scripts and resources of a skill: they run in this process, with its rights."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from typing import Any, cast

from assembler.calling import call
from assembler.errors import problem
from assembler.python.refs import FunctionRef
from assembler.skills.parameters import Parameters
from assembler.skills.skill import RunContext, SkillResource, SkillScript
from assembler.values import JSON, to_json


class FunctionScript(SkillScript):
    """A function that the model can run; its description is the first paragraph of the docstring.

    Before the function is loaded, nothing is known of it but its reference.

    Args:
        name: Name of the script.
        function: The function.

    Raises:
        AssemblerError: Its parameters cannot be described to a model (``skills/bad-function``).
    """

    needs_runner = False

    def __init__(self, name: str, function: FunctionRef) -> None:
        self.name, self._function = name, function
        self.runs = f"the Python function `{function.target}`, in this process"
        if function.is_loaded:
            self.description = _summary(function.loaded)
            self._parameters = Parameters(function.loaded, function.target)
            self.schema = self._parameters.schema

    async def run(self, arguments: JSON, context: RunContext) -> object:
        """Calls the function.

        Returns:
            What it returns.

        Raises:
            AssemblerError: It was not called: it is not loaded (``python/not-loaded``), or an argument is unknown,
                missing, or does not fit (``script/bad-arguments``).
            Exception: Whatever the function raises.
        """
        function = self._function.loaded
        by_position, by_name = self._parameters.filled(arguments, context)
        return await call(function, *by_position, **by_name)


class FunctionResource(SkillResource):
    """A function that is called whenever the model reads the resource.

    Args:
        name: Name of the resource.
        function: The function; it has no parameters but those that have defaults or take the ``RunContext``.

    Raises:
        AssemblerError: It has others (``skills/bad-function``).
    """

    def __init__(self, name: str, function: FunctionRef) -> None:
        self.name, self._function = name, function
        if function.is_loaded:
            self.description = _summary(function.loaded)
            self._parameters = Parameters(function.loaded, function.target)
            if self._parameters.required:
                names = ", ".join(f"`{name}`" for name in self._parameters.required)
                message = f"`{function.target}` is a resource, and nothing fills its parameters {names}"
                raise problem("skills/bad-function", message, hint="give them defaults, or make it a script")

    async def read(self, context: RunContext) -> str | bytes:
        """What the function returns: text and bytes as they are, anything else as JSON.

        Raises:
            AssemblerError: It is not loaded (``python/not-loaded``).
            Irreducible: What it returns has no JSON form.
            Exception: Whatever the function raises.
        """
        function = self._function.loaded
        by_position, by_name = self._parameters.filled(None, context)
        content = await call(function, *by_position, **by_name)
        if isinstance(content, str | bytes):
            return content
        return str(await call(_written, content))  # which may take long, or run code of the value's own


def _written(content: object) -> str:
    return json.dumps(to_json(content), ensure_ascii=False)


def _summary(function: Callable[..., Any]) -> str:
    """The first paragraph of a function's docstring, on one line."""
    described = cast("functools.partial[Any]", function).func if isinstance(function, functools.partial) else function
    return " ".join((inspect.getdoc(described) or "").partition("\n\n")[0].split())
