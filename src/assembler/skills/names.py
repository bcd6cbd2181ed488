"""Names of skills: which are good, and a safe one for each that is not."""

from __future__ import annotations

import re
import unicodedata

MAX_NAME = 64
"""Longest name in code points: https://agentskills.io/specification#name-field."""

_PLAIN = re.compile("[a-z0-9]+(?:-[a-z0-9]+)*")

RULE = f"lowercase letters, digits and single hyphens between them, at most {MAX_NAME}"


def is_name(text: str) -> bool:
    """Whether a text is a skill name as the specification wants it.

    The specification says both "a-z" and "unicode lowercase alphanumeric"; the wider reading holds, as it does in its
    reference validator.
    """
    return bool(text) and len(text) <= MAX_NAME and _slug(text) == text


def safe_name(text: str) -> str:
    """The nearest good name, such as ``managing-ssl-tls`` for ``Managing SSL/TLS``; empty if nothing is left.

    A good name comes back as it is.
    """
    return _slug(text)[:MAX_NAME].rstrip("-")


def _slug(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    folded = text.lower()
    if not folded.isascii():
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())
    kept = "".join(character if _may_stand(character) else "-" for character in folded)
    return "-".join(part for part in kept.split("-") if part)


def _may_stand(character: str) -> bool:
    return character.isalnum() and character == character.lower()
