"""Python objects named from YAML, as ``package.module:Name``.

A configuration only declares them. ``load`` imports them when an agent is opened, as far as whoever opens it trusts
their modules, and gives a copy of the configuration that holds them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar, cast

from pydantic import AfterValidator, BeforeValidator, PrivateAttr
from pydantic_core import PydanticCustomError

from assembler.components import Config
from assembler.errors import AssemblerError, Diagnostic, Where, problem
from assembler.modules import SUFFIXES, own_code, top_level
from assembler.powers import Power
from assembler.python.importing import Trust, import_object
from assembler.python.sources import search_last

KeyPath = tuple[str | int, ...]
"""The keys that lead to a value."""

Places = Callable[[KeyPath], Where]
"""Where in somebody's files a value stands."""

_PARTIAL: type = functools.partial
_OWN_PACKAGE = __name__.partition(".")[0]
_TARGET = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)*:[A-Za-z]\w*", re.ASCII)


def _checked(target: str) -> str:
    if not _TARGET.fullmatch(target):
        message = "expected `package.module:Name` in ASCII letters, no part of which starts with `_`"
        raise PydanticCustomError("component/bad-target", message)
    if top_level(target) == _OWN_PACKAGE:
        # It would do unseen what a kind of ours says that it does.
        raise PydanticCustomError("component/bad-target", "what Assembler itself has is named by its `kind`")
    return target


class PythonRef(Config):
    """A Python object: one attribute of one module.

    What a place takes, a subclass says: its type in ``expected``, more in ``accept``.
    """

    target: Annotated[str, AfterValidator(_checked)]
    """Module and name: `package.module:Name`."""
    _kept: tuple[object, ...] = PrivateAttr(default=())

    @classmethod
    def expected(cls) -> type | None:
        """Of what the place takes instances, if any: such a one counts as good, whoever wrote its class."""
        return None

    @property
    def is_loaded(self) -> bool:
        """Whether it holds the object."""
        return bool(self._kept)

    @property
    def loaded(self) -> Any:
        """The object, or what the place made of it.

        Raises:
            AssemblerError: Nobody loaded it (``python/not-loaded``).
        """
        if not self._kept:
            hint = "open an agent that names it, with `--trust-module` or `trust_modules`"
            raise problem("python/not-loaded", f"`{self.target}` is not imported", hint=hint)
        return self._kept[0]

    def powers(self, base: Path) -> Iterable[Power]:
        """Running what the import could reach, of which everything that is the project's own is looked at."""
        code = own_code(self.target, base)
        yield Power("import", self.target, (("target",),), code=(code,) if code else (), suffixes=SUFFIXES)

    def load(self, is_trusted: Trust, where: Places) -> Self:
        """A copy that holds the object.

        Args:
            is_trusted: As ``importing.import_object`` asks it.
            where: Where the keys below this part stand.

        Raises:
            AssemblerError: As ``importing.import_object``, or it is not what the place takes.
        """
        try:
            found = import_object(self.target, is_trusted, self.expected())
        except AssemblerError as error:
            place = where(("target",))
            raise AssemblerError(*(replace(each, where=place) for each in error.diagnostics)) from error
        return self._with(self.accept(found, where))

    def accept(self, found: object, where: Places) -> object:
        """What is kept of an object that was imported for this place.

        Args:
            found: The object.
            where: Where the keys below this part stand.

        Raises:
            AssemblerError: It is not what the place takes (``python/wrong-type``).
        """
        expected = self.expected()
        if expected is not None and not isinstance(found, expected):
            raise self.unfit(f"an instance of `{expected.__name__}`", found, where)
        return found

    def unfit(self, expected: str, found: object, where: Places) -> AssemblerError:
        """The error for an object that is not what the place takes.

        Args:
            expected: What the place takes, with its article.
            found: What the target names.
            where: Where the keys below this part stand.
        """
        what = f"the class `{found.__qualname__}`" if isinstance(found, type) else f"a `{type(found).__name__}`"
        message = f"`{self.target}` is {what}; expected {expected}"
        return AssemblerError(Diagnostic("python/wrong-type", message, where=where(("target",))))

    def _with(self, kept: object) -> Self:
        copy = self.model_copy()
        copy._kept = (kept,)  # noqa: SLF001  (its own)
        return copy


class FunctionRef(PythonRef):
    """A Python function, method or object that can be called: one of YAML's, or one that a program handed over."""

    @property
    def loaded(self) -> Callable[..., Any]:
        """The function.

        Raises:
            AssemblerError: Nobody loaded it (``python/not-loaded``).
        """
        return super().loaded

    def accept(self, found: object, where: Places) -> object:
        """The function itself: not a class, and not a partial call, which hides what is called.

        Raises:
            AssemblerError: It is none (``python/wrong-type``).
        """
        if not _is_function(found) or isinstance(found, _PARTIAL):
            raise self.unfit("a function", found, where)
        return found

    @staticmethod
    def of(function: FunctionRef | Callable[..., Any]) -> FunctionRef:
        """A reference to a function that a program has; nothing has to be loaded for it.

        Raises:
            AssemblerError: It is none (``python/wrong-type``).
        """
        if isinstance(function, FunctionRef):
            return function
        if not _is_function(function):
            raise problem("python/wrong-type", f"expected a function, found `{function!r:.80}`")
        is_named = getattr(function, "__module__", None) and hasattr(function, "__qualname__")
        named = function if is_named else cast("Callable[..., Any]", type(function))
        return _OwnFunction.model_construct(target=f"{named.__module__}:{named.__qualname__}")._with(function)  # noqa: SLF001


class _OwnFunction(FunctionRef):
    """A function that a program handed over: it was imported long ago, by the program."""

    def powers(self, base: Path) -> Iterable[Power]:
        return ()

    def load(self, is_trusted: Trust, where: Places) -> Self:
        return self


def _is_function(value: object) -> bool:
    return callable(value) and not isinstance(value, type)


def _own(value: Any) -> Any:
    return FunctionRef.of(value) if _is_function(value) else value


Function = Annotated[FunctionRef, BeforeValidator(_own)]
"""A function: ``{target: ...}`` in YAML, the function itself in Python."""

C = TypeVar("C", bound=Config)


def load(config: C, *, is_trusted: Trust, where: Places, project: Path | None = None) -> C:
    """A copy of a configuration in which every Python object is imported; the configuration stays as it is.

    Args:
        config: What may name Python objects, however deep.
        is_trusted: Whether code that is named as ``package.module:Name`` may be imported and used.
        where: Where the value stands that a path of keys leads to.
        project: A folder whose modules can be named, too; Python looks there last, and from then on.

    Raises:
        AssemblerError: Everything that is wrong, each at its place (``python/...``).
    """
    loading = _Loading(is_trusted, where, project)
    loaded = loading.load(config, ())
    if loading.problems:
        raise AssemblerError(*loading.problems)
    return loaded


class _Loading:
    """One walk through a configuration. What holds nothing to be loaded is shared with the original."""

    def __init__(self, is_trusted: Trust, where: Places, project: Path | None) -> None:
        self._is_trusted, self._where, self._project = is_trusted, where, project
        self.problems: list[Diagnostic] = []

    def load(self, value: Any, path: KeyPath) -> Any:
        if isinstance(value, Config):
            return self._part(value, path)
        if isinstance(value, Mapping):
            entries = cast("Mapping[Any, Any]", value)
            changed = self._changed(entries.items(), path)
            return {**entries, **changed} if changed else entries
        if isinstance(value, list | tuple):
            is_list, items = isinstance(value, list), cast("Sequence[Any]", value)
            changed = self._changed(enumerate(items), path)
            made = (changed.get(index, item) for index, item in enumerate(items))
            return items if not changed else [*made] if is_list else tuple(made)
        return value

    def _part(self, part: Config, path: KeyPath) -> Config:
        changed = self._changed(((name, getattr(part, name)) for name in type(part).model_fields), path)
        if changed:
            part = part.model_copy(update=changed)
        if isinstance(part, PythonRef):
            if self._project is not None and self._is_trusted(part.target):
                search_last(self._project)
            try:
                part = part.load(self._is_trusted, lambda below: self._where((*path, *below)))
            except AssemblerError as error:
                self.problems += error.diagnostics
        return part

    def _changed(self, items: Iterable[tuple[Any, Any]], path: KeyPath) -> dict[Any, Any]:
        loaded = ((key, item, self.load(item, (*path, key))) for key, item in items)
        return {key: new for key, old, new in loaded if new is not old}
