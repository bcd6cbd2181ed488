"""Every diagnostic code of this package with what it means; `docs/diagnostics.md` is made from it."""

from __future__ import annotations

CODES: dict[str, str] = {
    # components
    "component/unknown-kind": "The room has no kind of this name, neither built in nor installed.",
    "component/broken-kind": "The distribution that provides a kind fails to import.",
    "component/wrong-room": "The class behind a kind does not belong to the room that names it.",
    "component/not-a-mapping": "A component is written as something other than a mapping of options.",
    "component/no-kind": "A component does not say which kind it is.",
    "component/bad-target": "A Python reference is not of the form `package.module:Name`.",
    "component/python-refused": "The configuration names Python code, which nobody consented to.",
}
