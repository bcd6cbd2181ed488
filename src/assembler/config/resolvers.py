"""Resolvers: which ones an interpolation may call, and none but them while a configuration is composed.

OmegaConf keeps resolvers in one registry of the process. Merging two trees already resolves interpolations, so a
resolver that the host registered (an `eval`, say) would run from YAML before anybody could refuse it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

VARIABLE = "oc.env"

CONFIGURATION_ONLY = frozenset({"oc.select", "oc.dict.keys", "oc.dict.values", "secret"})
"""Resolvers that look at nothing but the configuration."""

ALLOWED = CONFIGURATION_ONLY | {VARIABLE}
"""What a configuration may call; `oc.env` for the variables in `allow_env`."""


def unread(name: str, *default: object) -> str:
    """What stands for the value of an environment variable, or its default, as long as nobody agreed to read it."""
    return f"${{{VARIABLE}:{name}}}"


@contextmanager
def only(names: frozenset[str], *, reads_variables: bool = False) -> Generator[None]:
    """Puts a registry with these resolvers, OmegaConf's and ours, in the place of the process's own for a while.

    The caller holds the lock of compositions.

    Args:
        names: The resolvers.
        reads_variables: Whether `oc.env` gives a variable's value, or only what stands for it.
    """
    from omegaconf import OmegaConf
    from omegaconf.basecontainer import BaseContainer

    registry: Any = BaseContainer
    outer = registry._resolvers  # noqa: SLF001  the registry can be emptied in public, and not put back
    try:
        OmegaConf.clear_resolvers()
        _register("secret", _secret)
        if not reads_variables:
            OmegaConf.clear_resolver(VARIABLE)
            _register(VARIABLE, unread)
        registry._resolvers = {name: found for name, found in registry._resolvers.items() if name in names}  # noqa: SLF001
        yield
    finally:
        registry._resolvers = outer  # noqa: SLF001


def _register(name: str, resolver: Any) -> None:
    import omegaconf
    from omegaconf import OmegaConf
    from packaging.version import Version

    # The name that is deprecated in one release is the only one that does this in the other.
    modern = Version(omegaconf.__version__) >= Version("2.4.0.dev0")
    register: Any = OmegaConf.register_resolver if modern else OmegaConf.register_new_resolver
    register(name, resolver)


def _secret(kind: str, name: str) -> str:
    """A secret's reference, which is all that a composition ever holds of it."""
    if kind == "env":
        return f"secret://env/{name}"
    if kind == "file":
        return f"secret://file/{quote(name, safe='/~')}"
    raise ValueError(f"secrets come from `env` or `file`, not `{kind}`")
