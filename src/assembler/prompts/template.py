"""Templates: Jinja2, sandboxed, strict about undeclared variables, over JSON values only."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from assembler.components import Config
from assembler.errors import problem
from assembler.values import JSON, to_json

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

MAX_OUTPUT = 1024 * 1024
"""Characters that a template may produce."""


class TextFile(Config):
    """A text kept in a file of its own."""

    file: Path
    """Path, relative to the project's folder."""

    def read(self, base: Path) -> str:
        """The file's text.

        Raises:
            AssemblerError: It cannot be read as UTF-8 (``prompt/unreadable-file``).
        """
        try:
            return (base / self.file).read_text("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise problem("prompt/unreadable-file", f"cannot read `{self.file}`: {reason}") from error


class Prompt(Config):
    """The system prompt: a template over the agent's instructions and its catalog of skills."""

    template: Literal["default"] | TextFile = "default"
    """`default`, or `{file: path}`: a template over `name`, `description`, `instructions`, `catalog` (the text that
    offers the skills, empty if there are none), `tools` (their names) and `variables`."""

    catalog: Literal["prompt", "none"] = "prompt"
    """Whether the catalog of skills stands in the prompt."""

    def source(self, base: Path) -> str:
        """The template's text."""
        if isinstance(self.template, TextFile):
            return self.template.read(base)
        return files("assembler.prompts").joinpath("default.jinja").read_text("utf-8")


def render(source: str, values: Mapping[str, object], *, what: str) -> str:
    """Renders a template.

    Args:
        source: The template's text.
        values: Its variables; each is reduced to JSON first, so that no object's attributes can be reached.
        what: What the template is, for messages.

    Raises:
        AssemblerError: A syntax error, an undeclared variable or an error while rendering (``prompt/bad-template``).
    """
    if "{{" not in source and "{%" not in source and "{#" not in source:
        return source
    from jinja2 import TemplateError

    reduced: dict[str, JSON] = {name: to_json(value) for name, value in values.items()}
    try:
        parts: list[str] = []
        length = 0
        for part in _environment().from_string(source).generate(reduced):
            parts.append(part)
            length += len(part)
            if length > MAX_OUTPUT:
                raise problem("prompt/bad-template", f"{what} produces more than {MAX_OUTPUT} characters")
        return "".join(parts)
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        place = f" line {line}" if line else ""
        known = ", ".join(f"`{name}`" for name in sorted(reduced))
        raise problem("prompt/bad-template", f"{what}{place}: {error}", hint=f"variables: {known}") from error
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError, MemoryError) as error:
        raise problem("prompt/bad-template", f"{what}: {type(error).__name__}: {error}") from error


@cache
def _environment() -> SandboxedEnvironment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class JsonOnly(ImmutableSandboxedEnvironment):
        """Attributes of JSON values are their items and the plain methods of text, lists and mappings."""

        def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
            plain = isinstance(obj, str | int | float | list | tuple | dict | type(None))
            return (plain or _is_jinjas_own(obj)) and super().is_safe_attribute(obj, attr, value)

    return JsonOnly(undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True, lstrip_blocks=True)


def _is_jinjas_own(value: object) -> bool:
    """Loop variables, namespaces and the like."""
    return type(value).__module__.partition(".")[0] == "jinja2"
