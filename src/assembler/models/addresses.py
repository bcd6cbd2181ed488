"""Where requests go and what goes with them: what is wrong with an address or a header, before anything is sent."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_HOST = re.compile(r"\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""The name of a header: RFC 9110, section 5.1."""

_CREDENTIAL = re.compile(r"(?:^|[-_])(?:key|token|secret|password|cookie)s?$", re.IGNORECASE)

OURS = frozenset(
    {
        # of one connection: RFC 9110, section 7.6.1
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        # said by the address, the body and `api_key`
        "authorization",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
    }
)
"""Headers that a configuration does not set, in lower case."""


def wrong_address(url: str) -> str:
    """What is wrong with an address, without the address: it may hold a password. Empty if nothing is."""
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return "it has a character that addresses do not have"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "its host or port is none"
    if parts.scheme not in {"http", "https"}:
        return "it begins with neither `https://` nor `http://`"
    if "@" in parts.netloc:
        return "credentials do not belong into it, but into `api_key`"
    host = parts.netloc.removesuffix(f":{port}") if port is not None else parts.netloc
    if not _HOST.fullmatch(host) or port == 0:
        return "its host or port is none"
    if parts.query or parts.fragment:
        return "nothing may follow its path"
    return ""


def wrong_header(name: str, text: str | None) -> str:
    """What is wrong with a header, without its text; empty if nothing is.

    Args:
        name: Its name.
        text: Its text; None for a secret, whose text is looked at when it is revealed.
    """
    if not _TOKEN.fullmatch(name):
        return "the name of a header is letters, digits and hyphens"
    if name.lower() in OURS:
        return "this header is not set here; a key belongs into `api_key`"
    if text is not None and _CREDENTIAL.search(name):
        return "what looks like a credential is written as a reference such as `${secret:env,NAME}`"
    if text is not None and not is_header_text(text):
        return "its text is one line of printable ASCII characters"
    return ""


def is_header_text(text: str) -> bool:
    """Whether a header can carry a text."""
    return bool(text) and text.isascii() and text.isprintable() and text == text.strip()
