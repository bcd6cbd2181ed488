"""Everything that is declared in a configuration, with the keys that lead to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from assembler.components import Config
from assembler.powers import Keys
from assembler.python.refs import PythonRef


def walk(value: object, keys: Keys = ()) -> Iterator[tuple[Keys, object]]:
    """A value, then everything below it; a Python object that was loaded lies below the options that it was made with.

    Args:
        value: A configuration, or what a field of one holds.
        keys: The keys that lead to it.
    """
    yield keys, value
    items: Any = ()
    if isinstance(value, Config):
        items = ((name, getattr(value, name)) for name in type(value).model_fields)
        if isinstance(value, PythonRef) and value.is_loaded:
            items = [*items, ("options", value.loaded)]
    elif isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
    elif isinstance(value, list | tuple):
        items = enumerate(cast("Sequence[Any]", value))
    for key, item in items:
        yield from walk(item, (*keys, str(key)))
