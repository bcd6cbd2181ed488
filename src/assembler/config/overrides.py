"""Overrides as a person types them, in the form in which Hydra does what the person meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from assembler.config import grammar
from assembler.errors import AssemblerError, Diagnostic, Where

REFUSED_KEYS = frozenset({"_target_", "_args_", "_partial_", "_recursive_", "_convert_"})
"""Hydra's instantiation keys: configurations are data, and name kinds instead."""

HYDRA = "hydra"
"""The group and key of Hydra's own settings, which are not a configuration's to change."""

MAX_SHOWN = 60
"""Characters of an override that a diagnostic repeats."""

_CREDENTIAL = re.compile(r"key|token|secret|passw|auth|header|credential|cookie", re.IGNORECASE)
_MASK = "***"
_NO_OVERRIDE = "not an override, which is KEY=VALUE or ~KEY"


@dataclass(frozen=True, slots=True)
class Override:
    """One override.

    Attributes:
        number: Its place among the overrides, counted from 1.
        text: As it was typed.
        hydra: As Hydra gets it.
        key: Group or dotted key, without prefix and package.
        package: Where a group's option goes, if the override says so.
        is_group: Whether it chooses an option of a group.
        value: The parsed value; of a group, the names of its options; None for none, or for a deletion that names none.
        deletes: Whether it removes the key.
    """

    number: int
    text: str
    hydra: str
    key: str
    package: str | None
    is_group: bool
    value: Any
    deletes: bool

    @property
    def path(self) -> tuple[str, ...]:
        """Its key, step by step; a group's name is the key under which its options lie."""
        return tuple(self.key.split("/" if self.is_group else "."))

    def sets(self, path: tuple[str, ...]) -> bool:
        """Whether it takes the place of what files say of a key."""
        return not self.is_group and path[: len(self.path)] == self.path

    @property
    def options(self) -> list[str]:
        """The options that it chooses of its group."""
        return as_list(self.value) if self.is_group and self.value is not None and not self.deletes else []

    @property
    def is_showable(self) -> bool:
        """Whether its value cannot be a secret, as far as its keys tell."""
        return self.is_group or not _CREDENTIAL.search(self.text)

    @property
    def where(self) -> Where:
        """How a diagnostic names it: with its value only where that cannot be a secret."""
        return _where(self.number, self.text, shows_value=self.is_showable)

    @property
    def masked(self) -> Where:
        """How a diagnostic about secrets names it."""
        return _where(self.number, self.text, shows_value=False)


def is_hydras(key: str) -> bool:
    """Whether a key, group or package is one of Hydra's own settings."""
    return re.split(r"[./]", key.lstrip("/").removeprefix("_global_."))[0] == HYDRA


BadOverride = tuple[tuple[str, ...], Diagnostic]
"""What is wrong with an override, and the key that it was about as far as that can be told."""


def as_list(value: Any) -> list[Any]:
    """The options that a group's value chooses: one, or several."""
    return list(cast("Sequence[Any]", value)) if isinstance(value, Sequence) and not isinstance(value, str) else [value]


def parse(texts: Sequence[str], is_group: Callable[[str], bool]) -> tuple[list[Override], list[BadOverride]]:
    """Parses overrides and decides what each means.

    A group's key goes to Hydra as it is. Any other key is added or changed, whether it exists or not, so that nobody
    has to know which; the models find typos. ``group=null`` and ``~group`` choose no option.

    Args:
        texts: Overrides as typed.
        is_group: Whether a key is the name of a group of options.

    Returns:
        Those that can be used, and what is wrong with the others (``config/bad-override``, ``config/sweep``,
        ``config/refused-key``, ``config/interpolation``).
    """
    parsed: list[Override] = []
    problems: list[BadOverride] = []
    for number, text in enumerate(texts, 1):
        try:
            parsed.append(_parse_one(number, text, is_group))
        except AssemblerError as error:
            key = text.partition("=")[0].lstrip("+~")
            problems.extend((tuple(key.split(".")), diagnostic) for diagnostic in error.diagnostics)
    return parsed, problems


def _parse_one(number: int, text: str, is_group: Callable[[str], bool]) -> Override:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    where = _where(number, text, shows_value=not _CREDENTIAL.search(text))

    def refuse(code: str, message: str, hint: str) -> AssemblerError:
        return AssemblerError(Diagnostic(code, message, where=where, hint=hint))

    try:
        override = OverridesParser.create().parse_overrides([text])[0]
    except (HydraException, ValueError, RecursionError) as error:
        raise refuse("config/bad-override", _NO_OVERRIDE, _way_out(text)) from error
    key = override.key_or_group
    if not key:
        raise refuse("config/bad-override", _NO_OVERRIDE, _way_out(text))
    if is_hydras(key) or is_hydras(override.package or ""):
        raise refuse("config/refused-key", "`hydra` settings are not a configuration's to change", "remove it")
    if not REFUSED_KEYS.isdisjoint(key.split(".")):
        raise refuse("config/refused-key", "configurations are data and name no Python objects", "choose a `kind`")
    if override.is_sweep_override():
        hint = "one value, a list `[a,b]`, or quotes around a text: 'key=\"a,b\"'"
        raise refuse("config/sweep", "several values at once", hint)
    value = override.value()
    for written in _texts(value):
        try:
            grammar.calls(written)
        except ValueError as error:
            hint = "a text that holds `${` has a backslash before it"
            raise refuse("config/interpolation", f"`{key}`: malformed: {error}", hint) from error
    deletes = override.is_delete()
    hydra = text
    chooses = is_group(key) and not isinstance(value, dict)
    if chooses:
        value = _options(value, text)
        head = text.partition("=")[0]
        hydra = f"{head.lstrip('~')}=[]" if deletes or value is None else f"{head}={_quoted(value)}"
    elif text[0] not in "+~":
        hydra = f"++{text}"
    return Override(number, text, hydra, key, override.package, chooses, value, deletes)


def _way_out(text: str) -> str:
    """What somebody most likely meant who typed something that is no override."""
    key = re.match(r"-*([A-Za-z_][\w./]*)\s*(:|=|$)", text)
    if key is not None and (text.startswith("-") or key[2] != "="):
        return f"{key[1]}=VALUE"
    return "quote a value that holds special characters, inside the shell's quotes: 'key=\"a=b, c\"'"


def _options(value: Any, text: str) -> Any:
    """Names of options, also those that look like numbers or booleans; null and nothing are no option."""
    if isinstance(value, list):
        return [each if isinstance(each, str) else str(each).lower() for each in cast("list[Any]", value)]
    if value is None or value == "":
        return None
    return value if isinstance(value, str) else text.partition("=")[2].strip()


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    items: Iterable[Any] = cast("list[Any]", value) if isinstance(value, list) else ()
    for item in cast("dict[Any, Any]", value).values() if isinstance(value, dict) else items:
        yield from _texts(item)


def _quoted(value: Any) -> str:
    if isinstance(value, list):
        return f"[{','.join(_quoted(each) for each in cast('list[str]', value))}]"
    escaped = re.sub(r"(\\*)'", r"\1\1\\'", str(value))
    return f"'{escaped}'"


def _where(number: int, text: str, *, shows_value: bool) -> Where:
    key, equals, _ = text.partition("=")
    shown = text if shows_value or not equals else f"{key}={_MASK}"
    if len(shown) > MAX_SHOWN:
        shown = shown[: MAX_SHOWN - 1] + "\u2026"
    return Where(override=f"override #{number} `{shown}`")
