"""Powers: what a configuration would start, read or reach beyond what everybody knows it does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

from assembler.folders import located
from assembler.values import JSON

Action = Literal["contact", "send", "read", "variable", "import", "start", "run", "set"]

ACTIONS: Mapping[Action, str] = {
    "contact": "sends the conversation to",
    "send": "sends the secret",
    "read": "reads outside of the project",
    "variable": "reads the environment variable",
    "import": "imports and runs the Python code",
    "start": "starts",
    "run": "runs",
    "set": "sets for scripts the variables",
}
"""How each action is told; what it is done to follows."""

Keys = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Power:
    """One thing that something declared would do, which nobody may expect of it.

    Attributes:
        action: What it does.
        target: What it does it to, in full: an origin, a path with its links resolved, a command line.
        keys: The keys that make it so, below whoever declares it; a person who typed each of them agreed to it.
        binds: What else consent is bound to: with any other value it is another power.
        code: Files and folders that would execute; consent is bound to their bytes.
    """

    action: Action
    target: str
    keys: tuple[Keys, ...] = ((),)
    binds: JSON = None
    code: tuple[Path, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return f"{ACTIONS[self.action]} {self.target}"


def reads(path: Path, base: Path, keys: Keys) -> Iterable[Power]:
    """The power to read a file or folder, if it lies outside of the project once links are followed.

    Args:
        path: As declared.
        base: The project's folder.
        keys: The key that holds it.
    """
    written = located(path, base)
    # `link/..` is one folder to the system, and another to whoever takes it apart as text first.
    found = {written.resolve(), Path(os.path.normpath(written)).resolve()}
    for outside in sorted(each for each in found if not each.is_relative_to(base.resolve())):
        yield Power("read", str(outside), (keys,))


def is_loopback(host: str) -> bool:
    """Whether a host is this machine itself, by its name or address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
