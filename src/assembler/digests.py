"""Canonical JSON and the digests that name what ran."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from assembler.values import JSON

MAX_EXACT_INTEGER = 2**53 - 1
"""The largest integer that RFC 8785 can write, since its numbers are IEEE 754 doubles."""


def digest_bytes(data: bytes) -> str:
    """SHA-256 of raw bytes, as ``sha256:`` and 64 hexadecimal digits."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def canonical(value: JSON) -> bytes:
    """Canonical JSON after RFC 8785 (JCS).

    What JCS cannot write has a form of its own, which no other value has: integers beyond 2**53-1 and text with lone
    surrogates are tagged with a leading NUL, and text that begins with NUL itself is written with one more.
    """
    import rfc8785

    return rfc8785.dumps(_writable(value))


def digest_json(value: JSON) -> str:
    """SHA-256 of a JSON value's canonical form: equal values, whatever their key order, have equal digests."""
    return digest_bytes(canonical(value))


def digest_tree(files: Mapping[str, bytes]) -> str:
    """Digest of a folder: its relative POSIX paths and their bytes; neither times, modes nor order count."""
    return digest_json({path: digest_bytes(data) for path, data in files.items()})


def _writable(value: JSON) -> JSON:
    if isinstance(value, bool) or value is None or isinstance(value, float):
        return value
    if isinstance(value, int):
        return value if abs(value) <= MAX_EXACT_INTEGER else {"\x00integer": str(value)}
    if isinstance(value, str):
        return _writable_text(value)
    if isinstance(value, list):
        return [_writable(item) for item in value]
    return {_writable_text(key): _writable(item) for key, item in value.items()}


def _writable_text(text: str) -> str:
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        return "\x00surrogates " + text.encode("utf-8", "surrogatepass").hex()
    return "\x00" + text if text.startswith("\x00") else text
