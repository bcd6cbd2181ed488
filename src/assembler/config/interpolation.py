"""Interpolation: what `${...}` may reach, and the plain data that comes of it."""

from __future__ import annotations

import re
from typing import Any, cast

from assembler.config.overrides import REFUSED_KEYS
from assembler.errors import AssemblerError, Diagnostic, did_you_mean

ALLOWED_RESOLVERS = frozenset(
    {"oc.env", "oc.select", "oc.decode", "oc.create", "oc.dict.keys", "oc.dict.values", "secret"}
)
"""Resolvers that look at nothing but the configuration and, as far as it is allowed, the environment."""

_RESOLVER = re.compile(r"(?<!\\)\$\{\s*([A-Za-z_][\w.]*)\s*:")
_LITERAL_ENV = re.compile(r"(?<!\\)\$\{\s*oc\.env\s*:\s*([A-Za-z_]\w*)\s*[,}]")


def resolve(config: Any) -> dict[str, Any]:
    """Plain data, with every interpolation resolved.

    Args:
        config: A composed ``DictConfig``.

    Raises:
        AssemblerError: One diagnostic for each use of a resolver or variable that is not allowed
            (``config/refused-resolver``, ``config/refused-variable``) and each instantiation key
            (``config/refused-key``); or the first interpolation that fails (``config/interpolation``).
    """
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    _know_secrets()
    raw = cast("dict[str, Any]", OmegaConf.to_container(config, resolve=False))
    problems = list(_refused(raw, "", _allowed_variables(raw)))
    if problems:
        raise AssemblerError(*problems)
    try:
        return cast("dict[str, Any]", OmegaConf.to_container(config, resolve=True, throw_on_missing=True))
    except (OmegaConfBaseException, RecursionError) as error:
        key = getattr(error, "full_key", None) or ""
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise AssemblerError(Diagnostic("config/interpolation", f"`{key}`: {reason}" if key else reason)) from error


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


def _refused(value: Any, path: str, variables: frozenset[str]) -> list[Diagnostic]:
    """What a composed tree holds that resolving it may not do."""
    if isinstance(value, dict):
        found: list[Diagnostic] = []
        for key, item in cast("dict[Any, Any]", value).items():
            here = f"{path}.{key}" if path else str(key)
            if key in REFUSED_KEYS:
                hint = "name a `kind` instead"
                found.append(Diagnostic("config/refused-key", f"`{here}` would name Python code to call", hint=hint))
            found += _refused(item, here, variables)
        return found
    if isinstance(value, list):
        items = enumerate(cast("list[Any]", value))
        return [problem for index, item in items for problem in _refused(item, f"{path}.{index}", variables)]
    return _refused_text(value, path, variables) if isinstance(value, str) else []


def _refused_text(text: str, path: str, variables: frozenset[str]) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    for name in _RESOLVER.findall(text):
        if name not in ALLOWED_RESOLVERS:
            message = f"`{path}` uses the resolver `{name}`, which is not allowed here"
            found.append(Diagnostic("config/refused-resolver", message, hint=did_you_mean(name, ALLOWED_RESOLVERS)))
    named = _LITERAL_ENV.findall(text)
    if len(named) != len([name for name in _RESOLVER.findall(text) if name == "oc.env"]):
        message = f"`{path}` computes the name of an environment variable"
        found.append(Diagnostic("config/refused-variable", message, hint="write the name itself: ${oc.env:NAME}"))
    for name in named:
        if name not in variables:
            message = f"`{path}` reads the environment variable `{name}`, which is not allowed"
            found.append(Diagnostic("config/refused-variable", message, hint=f"allow_env: {{{name}: true}}"))
    return found
