"""Components: objects declared in YAML, as frozen models whose fields are their configuration.

A *room* is a place in the configuration where one family of components fits; a *kind* is the registered name of one
class in it. A class names its room or its kind when it is defined::

    class SkillSource(Component, room="sources"): ...
    class FilesSource(SkillSource, kind="files"): ...

Validating a room reads `kind`, imports that one class and validates with it, so that errors are local and nothing is
imported that is not used. Components are values: what needs state, they make.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar, cast, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    ModelWrapValidatorHandler,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidationInfo,
    WrapSerializer,
    model_serializer,
    model_validator,
)
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from assembler.errors import AssemblerError, did_you_mean
from assembler.kinds import find_kind
from assembler.powers import Power

UNKNOWN_KEY = "config/unknown-key"
IN_ORDER = "in order"
"""Context of a dump in which named entries are lists of names and values."""


class Config(BaseModel):
    """A part of the configuration: frozen, closed to unknown keys, and a written ``null`` means the default."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, allow_inf_nan=False)

    @model_validator(mode="wrap")
    @classmethod
    def _validated(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(_with_defaults(value, cls.model_fields))
        except ValidationError as error:
            raise _with_nearest_keys(error, cls) from None

    def powers(self, base: Path) -> Iterable[Power]:
        """What it would start, read or reach by itself, without what is declared within it.

        Finding that out runs, reads and contacts nothing. The keys of each power are those of this part.

        Args:
            base: The project's folder, against which relative paths resolve.
        """
        return ()


class Entry(Config):
    """Something in a named mapping."""

    order: int = 0
    """Place among its neighbours, smallest first; equal ones stay in the order in which they were written."""


@dataclass(frozen=True)
class BuildContext:
    """What a component takes over from its surroundings while it is built; never written in YAML.

    Attributes:
        inherit: By room, the configuration that an entry of the same kind (or of none) extends.
        project: Folder of the project, whose own code provides no kinds.
    """

    inherit: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    project: Path | None = None


class Component(Config):
    """Base of everything that has a kind."""

    room: ClassVar[str] = ""
    kind: ClassVar[str] = ""
    is_room: ClassVar[bool] = False

    def __init_subclass__(cls, *, room: str = "", kind: str = "", **config: Any) -> None:
        cls.room, cls.kind, cls.is_room = room or cls.room, kind, bool(room)
        super().__init_subclass__(**config)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if not cls.is_room:
            return handler(source)
        dump = core_schema.plain_serializer_function_ser_schema(_dump, info_arg=True)
        return core_schema.with_info_plain_validator_function(cls._build, serialization=dump)

    @classmethod
    def _build(cls, value: Any, info: ValidationInfo) -> Self:
        if isinstance(value, cls):
            return value
        if not isinstance(value, Mapping):
            raise PydanticCustomError("component/not-a-mapping", "expected a mapping with the options of a kind")
        given = cast("Mapping[str, Any]", value)
        context = info.context if isinstance(info.context, BuildContext) else BuildContext()
        data = _inherited(given, context.inherit.get(cls.room, {}))
        kind = data.pop("kind", None)
        if not isinstance(kind, str):
            raise PydanticCustomError("component/no-kind", "expected a `kind`, the name of what this is")
        return cls.of_kind(kind, context).model_validate(data, context=context)

    @classmethod
    def of_kind(cls, kind: str, context: BuildContext | None = None) -> type[Self]:
        """The class of this room that is registered under a kind.

        Args:
            kind: Its registered name.
            context: Says whose code provides no kinds.
        """
        try:
            found = find_kind(cls.room, kind, context.project if context is not None else None)
        except AssemblerError as error:
            first = error.diagnostics[0]
            told = {"text": first.message, "hint": first.hint}
            raise PydanticCustomError(cast("Any", first.code), "{text}", told) from error
        if not (isinstance(found, type) and issubclass(found, cls)):
            told = {"kind": kind, "room": cls.room}
            raise PydanticCustomError("component/wrong-room", "`{kind}` is not a class of the room `{room}`", told)
        return found

    @model_serializer(mode="wrap")
    def _with_kind(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"kind": self.kind, **handler(self)}


def laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Two mappings laid over each other, and mappings within them too."""
    merged = dict(below)
    for key, item in above.items():
        under = merged.get(key)
        both = isinstance(under, Mapping) and isinstance(item, Mapping)
        merged[key] = laid_over(cast("Any", under), cast("Any", item)) if both else item
    return merged


def _dump(value: Component, info: SerializationInfo) -> dict[str, Any]:
    return value.model_dump(mode="json" if info.mode == "json" else "python", context=info.context)


def _inherited(value: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """A value laid over what it inherits, when both are of one kind; nested mappings are laid over each other."""
    if value.get("kind", base.get("kind")) != base.get("kind"):
        return dict(value)
    return laid_over(base, value)


def _without_nulls(value: Any) -> Any:
    """An entry that is written as ``null`` is off."""
    if not isinstance(value, Mapping):
        return value
    return {key: item for key, item in cast("Mapping[Any, Any]", value).items() if item is not None}


def _with_defaults(value: Any, fields: Container[Any]) -> Any:
    """A field that is written as ``null`` has its default; a key that is no field stays, so that it is told."""
    if not isinstance(value, Mapping):
        return value
    items = cast("Mapping[Any, Any]", value).items()
    return {key: item for key, item in items if item is not None or key not in fields}


def _with_nearest_keys(error: ValidationError, model: type[Config]) -> ValidationError:
    """The same error, with a hint for each unknown key of this model: only here it is known which keys it has."""
    own = [*model.model_fields, *(["kind"] if issubclass(model, Component) else [])]
    lines: list[InitErrorDetails] = []
    for problem in error.errors(include_url=False):
        kind, location = problem["type"], problem["loc"]
        # The message comes last, so that nothing in it is taken for a placeholder.
        context = {**problem.get("ctx", {}), "message": problem["msg"]}
        if kind == "extra_forbidden":
            # Deeper down it is a model that is no part of the configuration by itself, such as a matcher.
            above = model.model_fields.get(str(location[0]))
            allowed = own if len(location) == 1 else _keys(above.annotation if above else None)
            kind = UNKNOWN_KEY
            context = {"hint": did_you_mean(str(location[-1]), allowed), "message": "there is no such key"}
        told = PydanticCustomError(cast("Any", kind), "{message}", context)
        lines.append(InitErrorDetails(type=told, loc=location, input=None))
    return ValidationError.from_exception_data(error.title, lines, hide_input=True)


def _keys(annotation: Any) -> set[str]:
    """The keys of the models that a type is made of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return set(annotation.model_fields)
    return {key for part in get_args(annotation) for key in _keys(part)}


def _named_kinds(value: Any) -> Any:
    """The key is the kind of an entry that names none."""
    entries = _without_nulls(value)
    if not isinstance(entries, Mapping):
        return entries
    items = cast("Mapping[Any, Any]", entries).items()
    return {key: _of_kind(key, item) for key, item in items}


def _of_kind(key: Any, item: Any) -> Any:
    return {"kind": key, **cast("Mapping[Any, Any]", item)} if isinstance(item, Mapping) else item


def _dump_entries(entries: Any, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> Any:
    """A mapping; a list where the order has to show, which canonical JSON takes out of mappings."""
    dumped = handler(entries)
    return [[name, entry] for name, entry in dumped.items()] if info.context == IN_ORDER else dumped


def _in_order(entries: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(entries.items(), key=lambda entry: getattr(entry[1], "order", 0)))


E = TypeVar("E", bound=Config)
C = TypeVar("C", bound=Component)

Named = Annotated[
    dict[str, E], BeforeValidator(_without_nulls), AfterValidator(_in_order), WrapSerializer(_dump_entries)
]
"""Entries by name, in their order; a written ``null`` switches one off."""

NamedKinds = Annotated[
    dict[str, C], BeforeValidator(_named_kinds), AfterValidator(_in_order), WrapSerializer(_dump_entries)
]
"""Components by name, in their order; the name is the kind where `kind` is left out."""
