"""Powers: what a configuration would start, read or reach beyond what everybody knows it does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from assembler.folders import is_shared, located
from assembler.presets.known import KNOWN, KNOWN_ORIGINS, KNOWN_SECRETS
from assembler.values import JSON

Action = Literal["contact", "send", "read", "write", "variable", "import", "start", "run", "set"]

ACTIONS: Mapping[Action, str] = {
    "contact": "sends the conversation to",
    "send": "sends the secret",
    "read": "reads outside of the project",
    "write": "writes outside of the project",
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
        keys: The keys that make it so, below whoever declares it, at least one; a person who typed each of them agreed.
        binds: What else consent is bound to: with any other value it is another power.
        code: Files and folders of the project that would execute; consent is bound to their bytes.
        suffixes: How the names of those files in the folders end that can execute; empty where any file can.
        is_plain: Whether the keys tell by themselves what it does, to whoever types them.
        is_known: Whether a preset is known to do it, so that it matters only beside others that are not.
    """

    action: Action
    target: str
    keys: tuple[Keys, ...]
    binds: JSON = None
    code: tuple[Path, ...] = ()
    suffixes: tuple[str, ...] = ()
    is_plain: bool = True
    is_known: bool = False

    def __str__(self) -> str:
        # In one line, whatever a name holds: what follows on a line of its own could pass for another power.
        target = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in self.target)
        return f"{ACTIONS[self.action]} {target}"


def reads(path: Path, base: Path, keys: Keys) -> Iterable[Power]:
    """The power to read a file or folder, if it lies outside of the project once links are followed.

    Of a project that is somebody's whole home or more, as a lone file in it makes it, only `conf/` counts as inside.

    Args:
        path: As declared.
        base: The project's folder.
        keys: The key that holds it.
    """
    return (Power("read", target, (keys,), is_plain=is_plain) for target, is_plain in _outside(path, base))


def writes(path: Path, base: Path, keys: Keys) -> Iterable[Power]:
    """The power to write a file, and to read it, if it lies outside of the project once links are followed.

    Args:
        path: As declared.
        base: The project's folder.
        keys: The key that holds it.
    """
    return (Power("write", target, (keys,), is_plain=is_plain) for target, is_plain in _outside(path, base))


def contacts(url: str, url_keys: Keys, secrets: Iterable[tuple[str, Keys]]) -> Iterable[Power]:
    """The powers to send what an agent says and hears to a server, and secrets with it.

    Known is what the presets do, and talking to this machine, though not sending it secrets: others may listen there.

    Args:
        url: The server's address.
        url_keys: The key that holds the address.
        secrets: Names of the secrets that go with each request, such as ``env/NAME``, each with the key that holds it.
    """
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}".lower()
    is_known = is_loopback(parts.hostname or "") or origin in KNOWN_ORIGINS
    yield Power("contact", origin, (url_keys,), is_known=is_known)
    held: dict[str, list[Keys]] = {}
    for secret, keys in secrets:
        held.setdefault(secret, []).append(keys)
    for secret, places in held.items():
        # Whoever types an address for a key that is known means that key.
        typed = (url_keys,) if secret in KNOWN_SECRETS else (url_keys, *places)
        yield Power("send", f"{_where_from(secret)} to {origin}", typed, is_known=(secret, origin) in KNOWN)


def _where_from(secret: str) -> str:
    """A secret's name; of a file the path that is read, so that a link cannot lead elsewhere later."""
    kind, _, path = secret.partition("/")
    return f"file {os.path.realpath(located(Path(path), Path('/')))!r}" if kind == "file" else secret


def is_loopback(host: str) -> bool:
    """Whether a host is this machine itself, by its name or address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _outside(path: Path, base: Path) -> Iterator[tuple[str, bool]]:
    """What a path means outside of the project, and whether the path itself says so.

    Of a project that is somebody's whole home or more, as a lone file in it makes it, only `conf/` counts as inside.
    """
    written = str(located(path, base))
    if "\0" in written:
        return  # nothing has such a name, which opening it will say
    inside = Path(os.path.realpath(base / "conf" if is_shared(base) else base))
    by_name = Path(os.path.normpath(written))
    # `link/..` is one folder to the system, and another to whoever takes it apart as text first.
    found = {Path(os.path.realpath(written)), Path(os.path.realpath(by_name))}
    is_plain = not by_name.is_relative_to(base) or is_shared(base)
    for outside in sorted(each for each in found if not each.is_relative_to(inside)):
        yield str(outside), is_plain
