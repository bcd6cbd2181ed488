"""Templates: Jinja2, sandboxed, strict about undeclared variables, over JSON values only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Literal

from assembler.components import Config
from assembler.errors import first_line, problem
from assembler.folders import located
from assembler.powers import Power, reads
from assembler.values import JSON, clean_text, to_json

MAX_SOURCE = 256 * 1024
"""Characters that a template may have."""

MAX_OUTPUT = 1024 * 1024
"""Characters that a template may produce."""


class TextFile(Config):
    """A text kept in a file of its own."""

    file: Path
    """Path, relative to the project's folder."""

    def powers(self, base: Path) -> Iterable[Power]:
        """Reading it, where it lies outside of the project."""
        return reads(self.file, base, ("file",))

    def read(self, base: Path) -> str:
        """The file's text.

        Raises:
            AssemblerError: It cannot be read as UTF-8 (``prompt/unreadable-file``).
        """
        try:
            return located(self.file, base).read_text("utf-8-sig")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8, or no name of a file"
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
        AssemblerError: A syntax error, an undeclared variable, an error while rendering, a variable without a JSON
            form, or more time or memory than a template may take (``prompt/bad-template``).
    """
    if "{{" not in source and "{%" not in source and "{#" not in source:
        return source
    if len(source) > MAX_SOURCE:
        raise problem("prompt/bad-template", f"{what} is longer than {MAX_SOURCE} characters")
    from jinja2 import TemplateError

    from assembler.prompts.sandbox import Sandbox

    try:
        reduced: dict[str, JSON] = {name: to_json(value) for name, value in values.items()}
        rendered, rest = _joined(Sandbox().rendered(source, reduced))
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        place = f" line {line}" if line else ""
        known = ", ".join(f"`{name}`" for name in sorted(values))
        raise problem("prompt/bad-template", f"{what}{place}: {_short(error)}", hint=f"variables: {known}") from error
    except Exception as error:  # a template can make Python raise anything: each is the template's mistake
        message = f"{what}: {type(error).__name__}: {_short(error)}"
        raise problem("prompt/bad-template", message) from error
    if rest:
        raise problem("prompt/bad-template", f"{what} produces more than {MAX_OUTPUT} characters")
    return rendered


def _joined(parts: Iterator[str]) -> tuple[str, bool]:
    """The parts up to the most that a template may produce, and whether there are more."""
    taken: list[str] = []
    length = 0
    for part in parts:
        length += len(part)
        if length > MAX_OUTPUT:
            return "", True
        taken.append(part)
    return clean_text("".join(taken)), False


def _short(error: Exception) -> str:
    return clean_text(first_line(error))[:300]
