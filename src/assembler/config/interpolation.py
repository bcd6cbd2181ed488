"""Interpolation: what `${...}` may reach, and the plain data that comes of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from assembler.config.overrides import REFUSED_KEYS
from assembler.errors import Diagnostic, did_you_mean, first_line

ALLOWED_RESOLVERS = frozenset(
    {"oc.env", "oc.select", "oc.decode", "oc.create", "oc.dict.keys", "oc.dict.values", "secret"}
)
"""Resolvers that look at nothing but the configuration and, as far as it is allowed, the environment."""

_RESOLVER = re.compile(r"(?<!\\)\$\{\s*([A-Za-z_][\w.]*)\s*:")
_LITERAL_ENV = re.compile(r"(?<!\\)\$\{\s*oc\.env\s*:\s*([A-Za-z_]\w*)\s*[,}]")


Problem = tuple[tuple[str, ...], Diagnostic]
"""What is wrong with the value of a key, without its place."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A configuration with its interpolations resolved.

    Attributes:
        data: Plain data; a value that could not be resolved is left out.
        raw: The same before interpolation.
        problems: What could not be resolved.
    """

    data: dict[str, Any]
    raw: dict[str, Any]
    problems: list[Problem]


def resolve(config: Any) -> Resolved:
    """Resolves every interpolation that may be resolved.

    Nothing is resolved while anything is refused, so that no refused name is ever read.

    Args:
        config: A composed ``DictConfig``.
    """
    from omegaconf import OmegaConf

    _know_secrets()
    raw = cast("dict[str, Any]", OmegaConf.to_container(config, resolve=False))
    problems = list(_refused(raw, (), _allowed_variables(raw)))
    left = _without(raw, {path for path, _ in problems})
    fresh = OmegaConf.create(left)
    failing = [(path, found) for path in _interpolated(left, ()) if (found := _failure(fresh, path)) is not None]
    left = _without(left, {path for path, _ in failing})
    data = cast("dict[str, Any]", OmegaConf.to_container(OmegaConf.create(left), resolve=True))
    return Resolved(data, raw, [*problems, *failing])


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


def _interpolated(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The paths of all values that OmegaConf has to look at: interpolations, and `???`."""
    if isinstance(value, str) and ("${" in value or value == "???"):
        yield path
    items: Any = ()
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
    elif isinstance(value, list):
        items = enumerate(cast("list[Any]", value))
    for key, item in items:
        yield from _interpolated(item, (*path, str(key)))


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


def _know_secrets() -> None:
    """Registers the `secret` resolver, once a process."""
    import omegaconf
    from omegaconf import OmegaConf
    from packaging.version import Version

    if OmegaConf.has_resolver("secret"):
        return
    # The name that is deprecated in one release is the only one that does this in the other.
    modern = Version(omegaconf.__version__) >= Version("2.4.0.dev0")
    cast("Any", OmegaConf.register_resolver if modern else OmegaConf.register_new_resolver)("secret", _secret)


def _secret(kind: str, name: str) -> str:
    """A secret's reference, which is all that a composition ever holds of it."""
    if kind not in {"env", "file"}:
        raise ValueError(f"secrets come from `env` or `file`, not `{kind}`")
    return f"secret://{kind}/{name}"


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
    resolvers = _RESOLVER.findall(text)
    for name in resolvers:
        if name not in ALLOWED_RESOLVERS:
            message = f"`{key}` uses the resolver `{name}`, which is not allowed here"
            yield Diagnostic("config/refused-resolver", message, hint=did_you_mean(name, ALLOWED_RESOLVERS))
    named = _LITERAL_ENV.findall(text)
    if len(named) != resolvers.count("oc.env"):
        message = f"`{key}` computes the name of an environment variable"
        yield Diagnostic("config/refused-variable", message, hint="write the name itself: ${oc.env:NAME}")
    for name in named:
        if name not in variables:
            message = f"`{key}` reads the environment variable `{name}`, which is not allowed"
            yield Diagnostic("config/refused-variable", message, hint=f"allow_env: {{{name}: true}}")
