"""What the presets do that everybody knows: the secrets that they name, and where each of them goes."""

from __future__ import annotations

KNOWN: frozenset[tuple[str, str]] = frozenset(
    {
        ("env/OPENAI_API_KEY", "https://api.openai.com"),
        ("env/ANTHROPIC_API_KEY", "https://api.anthropic.com"),
        ("env/GEMINI_API_KEY", "https://generativelanguage.googleapis.com"),
    }
)
"""Secrets with the origins that they may be sent to, and a conversation with them, without asking; whoever declares a
pair is looked at by these values alone, wherever it comes from. A preset for another provider adds a line."""

KNOWN_SECRETS = frozenset({*(secret for secret, _ in KNOWN), "env/AZURE_OPENAI_API_KEY"})
"""Every secret that a preset names; Azure's goes to an address of each customer's own, which is asked about."""

KNOWN_ORIGINS = frozenset(origin for _, origin in KNOWN)
