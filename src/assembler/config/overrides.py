"""Overrides as a person types them, in the form in which Hydra does what the person meant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from assembler.errors import AssemblerError, Diagnostic, Where, first_line

REFUSED_KEYS = frozenset({"_target_", "_args_", "_partial_", "_recursive_", "_convert_"})
"""Hydra's instantiation keys: configurations are data, and name kinds instead."""


@dataclass(frozen=True, slots=True)
class Override:
    """One override.

    Attributes:
        number: Its place among the overrides, counted from 1.
        text: As it was typed.
        hydra: As Hydra gets it.
        key: Group or dotted key, without prefix and package.
        is_group: Whether it chooses an option of a group.
        value: The parsed value; None for a deletion.
        deletes: Whether it removes the key.
    """

    number: int
    text: str
    hydra: str
    key: str
    is_group: bool
    value: Any
    deletes: bool

    @property
    def path(self) -> tuple[str, ...]:
        """Its key, step by step; a group's name is the key under which its options lie."""
        return tuple(self.key.split("/" if self.is_group else "."))

    @property
    def where(self) -> Where:
        """How a diagnostic names it."""
        return Where(override=f"override #{self.number} `{self.text}`")


BadOverride = tuple[tuple[str, ...], Diagnostic]
"""What is wrong with an override, and the key that it was about as far as that can be told."""


def parse(texts: Sequence[str], is_group: Callable[[str], bool]) -> tuple[list[Override], list[BadOverride]]:
    """Parses overrides and decides what each means.

    A group's key goes to Hydra as it is. Any other key is added or changed, whether it exists or not, so that nobody
    has to know which; the models find typos. ``group=null`` and ``~group`` choose no option.

    Args:
        texts: Overrides as typed.
        is_group: Whether a key is the name of a group of options.

    Returns:
        Those that can be used, and what is wrong with the others (``config/bad-override``, ``config/sweep``,
        ``config/refused-key``).
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

    where = Where(override=f"override #{number} `{text}`")

    def refuse(code: str, message: str, hint: str) -> AssemblerError:
        return AssemblerError(Diagnostic(code, message, where=where, hint=hint))

    try:
        override = OverridesParser.create().parse_overrides([text])[0]
    except (HydraException, ValueError, RecursionError) as error:
        reason = first_line(error)
        hint = "quote a value that holds special characters, inside the shell's quotes: 'key=\"a=b, c\"'"
        raise refuse("config/bad-override", f"not an override: {reason}", hint) from error
    key = override.key_or_group
    if key.split(".")[0].split("/")[0] == "hydra":
        raise refuse("config/refused-key", "`hydra` settings are not a configuration's to change", "remove it")
    if not REFUSED_KEYS.isdisjoint(key.split(".")):
        raise refuse("config/refused-key", "configurations are data and name no Python objects", "choose a `kind`")
    if override.is_sweep_override():
        hint = "one value, a list `[a,b]`, or quotes around a text: 'key=\"a,b\"'"
        raise refuse("config/sweep", "several values at once", hint)
    value = None if override.is_delete() else override.value()
    chooses = is_group(key) and not isinstance(value, dict)
    hydra = text
    if chooses and (override.is_delete() or value is None):
        hydra = f"{key}=[]"
    elif not chooses and text[0] not in "+~":
        hydra = f"++{text}"
    return Override(number, text, hydra, key, chooses, value, override.is_delete())
