"""Powers: what a configuration would start, read or reach beyond what everybody knows it does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from assembler.folders import located
from assembler.presets.known import KNOWN, KNOWN_ORIGINS, KNOWN_SECRETS
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
        suffixes: How the names of those files in the folders end that can execute; empty where any file can.
    """

    action: Action
    target: str
    keys: tuple[Keys, ...] = ((),)
    binds: JSON = None
    code: tuple[Path, ...] = ()
    suffixes: tuple[str, ...] = ()

    def __str__(self) -> str:
        # In one line, whatever a name holds: what follows on a line of its own could pass for another power.
        target = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in self.target)
        return f"{ACTIONS[self.action]} {target}"


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


def contacts(url: str, secrets: Iterable[str], url_keys: Keys, secret_keys: Keys) -> Iterable[Power]:
    """The powers to send what an agent says and hears to a server, and secrets with it.

    What the presets are known to do is left out, and so is a server on this machine, though not what it is sent: others
    may listen there.

    Args:
        url: The server's address.
        secrets: Names of the secrets that go with each request, such as ``env/NAME``.
        url_keys: The key that holds the address.
        secret_keys: The key that holds the secrets.
    """
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}".lower()
    if not is_loopback(parts.hostname or "") and origin not in KNOWN_ORIGINS:
        yield Power("contact", origin, (url_keys,))
    for secret in secrets:
        if (secret, origin) not in KNOWN:
            # Whoever types an address for a key that is known means that key.
            keys = (url_keys,) if secret in KNOWN_SECRETS else (url_keys, secret_keys)
            yield Power("send", f"{secret} to {origin}", keys)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine itself, by its name or address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
