"""Events of a run: the Responses streaming events as the model sends them, and ours beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from assembler.errors import Diagnostic
from assembler.items import Item
from assembler.scrubbing import scrubbed, scrubbed_diagnostic, scrubbed_json
from assembler.values import JSON

Event = dict[str, JSON]
"""One event; ``type`` names it and ``sequence_number`` counts from 0 within a run."""

Emit = Callable[[Event], None]
"""Where events go."""

Status = Literal["completed", "requires_action", "limit", "cancelled", "failed"]
"""How a run ended: with an answer, waiting for one from outside, at a limit, cancelled, or with an error."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a run; the last event has the same fields.

    What this process revealed is hidden in it, whoever said it: the person who asked may have typed a secret, and a
    store that fails may name one.

    Attributes:
        status: How it ended.
        output_text: What the model answered; empty if it did not get that far.
        digest: Digest of the agent that answered; empty if the run was cancelled before it began.
        usage: Tokens of all requests together, by the names of the Responses API.
        items: The conversation items that the run added, the input included.
        pending: Approvals that the run waits for, as their requests.
        reason: Why it did not complete; empty if it did.
        diagnostics: What is wrong, for a run that failed.
    """

    status: Status
    output_text: str
    digest: str
    usage: dict[str, int] = field(default_factory=dict[str, int])
    items: tuple[Item, ...] = ()
    pending: tuple[dict[str, JSON], ...] = ()
    reason: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()

    def __post_init__(self) -> None:
        hidden = {
            "output_text": scrubbed(self.output_text),
            "items": tuple(scrubbed_json(item) for item in self.items),
            "pending": tuple(scrubbed_json(request) for request in self.pending),
            "reason": scrubbed(self.reason),
            "diagnostics": tuple(scrubbed_diagnostic(diagnostic) for diagnostic in self.diagnostics),
        }
        for name, value in hidden.items():
            object.__setattr__(self, name, value)  # the way to set a field of a frozen dataclass

    def to_event(self) -> Event:
        """The last event of a run."""
        return {
            "type": "result",
            "status": self.status,
            "output_text": self.output_text,
            "digest": self.digest,
            "usage": dict(self.usage),
            "pending": list(self.pending),
            "reason": self.reason,
            "diagnostics": [diagnostic.to_json() for diagnostic in self.diagnostics],
        }


def diagnostic_event(diagnostic: Diagnostic) -> Event:
    """Something that the run has to say without stopping, with what this process revealed hidden in it."""
    return {"type": "assembler.diagnostic", "diagnostic": scrubbed_diagnostic(diagnostic).to_json()}
