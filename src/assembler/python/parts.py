"""The kinds `python`: a component that stands for a class or an object of its room, named by where it is defined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from inspect import isclass
from pathlib import Path
from typing import ClassVar

from pydantic import JsonValue, ValidationError

from assembler.components import UNKNOWN_KEY, BuildContext, Component
from assembler.errors import AssemblerError, Diagnostic, first_line
from assembler.powers import Power
from assembler.python.refs import Places, PythonRef

_INSTALLED_ALONE = BuildContext(project=Path("/"))
"""Options can name kinds, too. Those of a project would run code that nobody was shown, and any folder may be one."""


class PythonPart(PythonRef):
    """What the kinds `python` share; each is of its room, too."""

    beside: ClassVar[frozenset[str]] = frozenset()
    """Options of the room that stand beside `target`, where whoever uses the component looks for them."""

    options: dict[str, JsonValue] = {}
    """What the class is configured with; an object has no options."""

    @classmethod
    def expected(cls) -> type[Component]:
        """The class of its room."""
        return next(base for base in cls.__mro__ if issubclass(base, Component) and base.is_room)

    def powers(self, base: Path) -> Iterable[Power]:
        """Running its code, with these options: with other ones it may do something else."""
        keys = (("target",), *([("options",)] if self.options else []))
        return (replace(power, keys=keys, binds=self.options or None) for power in super().powers(base))

    def accept(self, found: object, where: Places) -> object:
        """An object of the room, made of its class and the options where the target is a class.

        Raises:
            AssemblerError: It is neither (``python/wrong-type``), the options do not fit (``config/...``), one stands
                in the wrong place (``python/misplaced-option``), or making it fails (``python/construction-failed``).
        """
        room = self.expected()
        if isinstance(found, room):
            made = self._as_it_is(found, where)
        elif isclass(found) and issubclass(found, room):
            made = self._made(found, where)
        else:
            raise self.unfit(f"a subclass of `{room.__name__}`, or an instance of one", found, where)
        misplaced = [*self._misplaced(made, where)]
        if misplaced:
            raise AssemblerError(*misplaced)
        return made

    def _as_it_is(self, found: Component, where: Places) -> Component:
        if self.options:
            message = f"`{self.target}` is an object already, which takes no `options`"
            raise AssemblerError(Diagnostic("python/misplaced-option", message, where=where(("options",))))
        return found

    def _made(self, found: type[Component], where: Places) -> Component:
        try:
            return found.model_validate(self.options, context=_INSTALLED_ALONE)
        except ValidationError as error:
            raise AssemblerError(*self._told(error, where)) from error
        except AssemblerError as error:
            raise AssemblerError(*(replace(each, where=where(("target",))) for each in error.diagnostics)) from error
        except Exception as error:  # constructors are foreign code; abstract classes fail here, too
            message = f"`{self.target}` cannot be made: {type(error).__name__}: {first_line(error)}"
            raise AssemblerError(Diagnostic("python/construction-failed", message, where=where(("target",)))) from error

    def _told(self, error: ValidationError, where: Places) -> Iterator[Diagnostic]:
        for found in error.errors(include_url=False, include_input=False):
            path = ("options", *found["loc"])
            what = f"`{'.'.join(map(str, path))}` of `{self.target}`"
            code, hint = found["type"], str(found.get("ctx", {}).get("hint", ""))
            if code == UNKNOWN_KEY:
                message = f"there is no {what}"
            elif code == "missing":
                code, message = "config/missing-key", f"{what} is required"
            else:
                code, message = code if "/" in code else "config/bad-value", f"{what}: {found['msg']}"
            yield Diagnostic(code, message, where=where(path), hint=hint)

    def _misplaced(self, made: Component, where: Places) -> Iterator[Diagnostic]:
        for name in sorted(made.model_fields_set & self.beside):
            message = f"`{name}` of `{self.target}` has no effect"
            keys = ("options", name) if name in self.options else ("target",)
            hint = f"write `{name}` beside `target`"
            yield Diagnostic("python/misplaced-option", message, where=where(keys), hint=hint)
