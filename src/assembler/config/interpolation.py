"""Interpolation: what `${...}` may reach, and the plain data that comes of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from assembler.config import grammar, resolvers
from assembler.config.engine import LOCK
from assembler.config.overrides import REFUSED_KEYS
from assembler.errors import Diagnostic, did_you_mean, first_line

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)

Problem = tuple[tuple[str, ...], Diagnostic]
"""What is wrong with the value of a key, without its place."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A configuration with its interpolations resolved.

    Attributes:
        data: Plain data; a value that could not be resolved is left out.
        problems: What could not be resolved.
    """

    data: dict[str, Any]
    problems: list[Problem]


def resolve(raw: dict[str, Any], *, reads_variables: bool) -> Resolved:
    """Resolves every interpolation that may be resolved.

    Nothing is resolved while anything is refused, so that no refused name is ever read.

    Args:
        raw: A composed configuration as plain data.
        reads_variables: Whether environment variables are read; otherwise ``resolvers.unread`` stands for each.
    """
    from omegaconf import OmegaConf

    problems = list(_refused(raw, (), _allowed_variables(raw)))
    left = _without(raw, {path for path, _ in problems})
    with LOCK, resolvers.only(resolvers.ALLOWED, reads_variables=reads_variables):
        fresh = OmegaConf.create(left)
        failing = [(path, found) for path in _interpolated(left) if (found := _failure(fresh, path)) is not None]
        left = _without(left, {path for path, _ in failing})
        data = cast("dict[str, Any]", OmegaConf.to_container(OmegaConf.create(left), resolve=True))
    return Resolved(data, [*problems, *failing])


def variables(raw: Any) -> dict[str, tuple[str, ...]]:
    """The environment variables that a composed configuration reads, each with the first key whose value reads it."""
    found: dict[str, tuple[str, ...]] = {}
    for path, text in _texts(raw, ()):
        try:
            called = grammar.calls(text)
        except ValueError:
            continue  # told by `resolve`
        for call in called:
            if call.resolver == resolvers.VARIABLE:
                found.setdefault(call.argument, path)
    return found


def missing_key(diagnostic: Diagnostic) -> str:
    """The key that an interpolation names and that is not there; empty if that is not what is wrong."""
    found = re.search(r"Interpolation key '([^']+)' not found", diagnostic.message)
    return found[1] if found else ""


def _failure(config: Any, path: tuple[str, ...]) -> Diagnostic | None:
    """What is wrong with one interpolated value."""
    from omegaconf.errors import OmegaConfBaseException

    key = ".".join(path)
    try:
        value = config
        for step in path:
            value = value[int(step) if _is_list(value) else step]
        if _is_container(value):
            _plain(value)
    except (OmegaConfBaseException, RecursionError, ValueError) as error:
        reason = first_line(error)
        if isinstance(error, RecursionError) or "recursi" in reason.lower():
            reason = "it names itself, directly or through others"
        if type(error).__name__ == "MissingMandatoryValue":
            return Diagnostic("config/missing-key", f"`{key}` has to be given", hint=f"{key}=...")
        return Diagnostic("config/interpolation", f"`{key}`: {reason}")
    return None


def _is_list(value: Any) -> bool:
    from omegaconf import ListConfig

    return isinstance(value, ListConfig)


def _is_container(value: Any) -> bool:
    from omegaconf import Container

    return isinstance(value, Container)


def _plain(value: Any) -> None:
    from omegaconf import OmegaConf

    OmegaConf.to_container(value, resolve=True, throw_on_missing=True)


def _interpolated(raw: Any) -> Iterator[tuple[str, ...]]:
    """The paths of all values that OmegaConf has to look at: interpolations, and `???`."""
    return (path for path, text in _texts(raw, ()) if grammar.is_interpolated(text) or text == "???")


def _texts(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, str):
        yield path, value
    items: Any = ()
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
    elif isinstance(value, list):
        items = enumerate(cast("list[Any]", value))
    for key, item in items:
        yield from _texts(item, (*path, str(key)))


def _without(value: Any, paths: set[tuple[str, ...]], path: tuple[str, ...] = ()) -> Any:
    """A copy in which the values at these paths are null."""
    if path in paths:
        return None
    if isinstance(value, dict):
        entries = cast("dict[Any, Any]", value)
        return {key: _without(item, paths, (*path, str(key))) for key, item in entries.items()}
    if isinstance(value, list):
        elements = enumerate(cast("list[Any]", value))
        return [_without(item, paths, (*path, str(index))) for index, item in elements]
    return value


def _allowed_variables(raw: dict[str, Any]) -> frozenset[str]:
    allowed = raw.get("allow_env")
    if not isinstance(allowed, dict):
        return frozenset()
    return frozenset(str(name) for name, on in cast("dict[Any, Any]", allowed).items() if on is True)


def _refused(value: Any, path: tuple[str, ...], variables: frozenset[str]) -> Iterator[Problem]:
    """What a composed tree holds that resolving it may not do."""
    if isinstance(value, dict):
        for key, item in cast("dict[Any, Any]", value).items():
            here = (*path, str(key))
            if key in REFUSED_KEYS:
                message = f"`{'.'.join(here)}` would name Python code to call"
                yield here, Diagnostic("config/refused-key", message, hint="name a `kind` instead")
            yield from _refused(item, here, variables)
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[Any]", value)):
            yield from _refused(item, (*path, str(index)), variables)
    elif isinstance(value, str):
        yield from ((path, found) for found in _refused_text(value, ".".join(path), variables))


def _refused_text(text: str, key: str, variables: frozenset[str]) -> Iterator[Diagnostic]:
    try:
        called = grammar.calls(text)
    except ValueError as error:
        yield Diagnostic("config/interpolation", f"`{key}`: malformed: {error}")
        return
    for call in called:
        if call.resolver not in resolvers.ALLOWED:
            message = f"`{key}` uses the resolver `{call.resolver}`, which is not allowed here"
            yield Diagnostic("config/refused-resolver", message, hint=did_you_mean(call.resolver, resolvers.ALLOWED))
        elif call.resolver == resolvers.VARIABLE and not _NAME.fullmatch(call.argument):
            message = f"`{key}` computes the name of an environment variable"
            yield Diagnostic("config/refused-variable", message, hint="write the name itself: ${oc.env:NAME}")
        elif call.resolver == resolvers.VARIABLE and call.argument not in variables:
            message = f"`{key}` reads the environment variable `{call.argument}`, which is not allowed"
            yield Diagnostic("config/refused-variable", message, hint=f"allow_env: {{{call.argument}: true}}")
        elif call.resolver == "secret" and re.match(r"[\w/~%.-]", call.follows) and not _ends(call):
            message = f"`{key}` goes on with `{call.follows}` after a secret, as if that belonged to the secret's name"
            yield Diagnostic("secret/joined", message, hint="put a space or another separator between them")


def _ends(call: grammar.Call) -> bool:
    """Whether what follows a reference cannot be taken for a part of it: a variable's name ends earlier than a path."""
    return call.argument == "env" and not re.match(r"\w", call.follows)
