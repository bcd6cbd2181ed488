"""Consent: nothing that a configuration could do to its user happens before the user has seen it and agreed.

What was agreed to is a set of powers that somebody saw together; each is bound to the project's folder, to everything
that makes it what it is, and to the bytes of what would execute. A composition that asks for no more than one of these
sets goes ahead. Two sets do not add up: reading a file is one thing beside a server on this machine, and another one
beside a foreign one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import cast

from assembler.agent.config import AgentConfig
from assembler.config.agreements import Agreement, Agreements, Record
from assembler.config.compose import Composition
from assembler.config.demands import Demand, demands, is_typed
from assembler.config.provenance import Place, trace
from assembler.digests import digest_json
from assembler.errors import AssemblerError, Diagnostic, Where
from assembler.powers import Keys
from assembler.values import JSON

MAX_SHOWN = 5
"""Most files that are named as changed."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What whoever starts an agent agrees to beforehand.

    Attributes:
        everything: Whether that is whatever the configuration asks for, but for importing Python code.
        digests: Digests of sets of powers that they saw.
        modules: Python packages and modules that may be imported.
        is_typed: Whether a person typed the overrides.
    """

    everything: bool = False
    digests: frozenset[str] = frozenset()
    modules: tuple[str, ...] = ()
    is_typed: bool = False

    def trusts(self, target: str) -> bool:
        """Whether a Python object, named as ``package.module:Name``, lies in a trusted module."""
        module = target.partition(":")[0]
        return any(module == trusted or module.startswith(f"{trusted}.") for trusted in self.modules)


NOTHING_AGREED = Terms()


class NotAgreed(AssemblerError):
    """A configuration asks for what nobody agreed to.

    Args:
        consent: What it asks for.
        diagnostics: One for each power that nobody agreed to.
    """

    def __init__(self, consent: Consent, *diagnostics: Diagnostic) -> None:
        super().__init__(*diagnostics)
        self.consent = consent


class Consent:
    """What a composed configuration asks for, and what of it was agreed to.

    Args:
        composition: What was composed.
        config: What it declares, as far as it is known.
        terms: What was agreed to beforehand.
        first: What agreed to all that had to be known before this could be found out.

    Attributes:
        demands: What it asks for, each with whether it was agreed to.
    """

    def __init__(self, composition: Composition, config: AgentConfig | None, terms: Terms, first: str = "") -> None:
        self._composition = composition
        self._terms = terms
        self._first = first
        asked = [self._as_typed(demand) for demand in demands(composition, config)]
        if all(demand.standing == "typed" or demand.power.is_known for demand in asked):
            # What a preset does matters beside a file that is read, and not by itself.
            asked = [demand.agreed("known") if demand.standing == "open" else demand for demand in asked]
        records = {digest_json(demand.record): demand.record for demand in asked if demand.standing == "open"}
        self.needed: Sequence[Record] = [record for _, record in sorted(records.items())]
        """What has to be agreed to, whether it was or not: all but what was typed or is known; each once."""
        self.digest = digest_json([*self.needed]) if self.needed else ""
        """What names that, and all that it is bound to but the folder; empty if it is nothing."""
        self.demands: Sequence[Demand] = [self._as_agreed(demand) for demand in asked]

    @property
    def project(self) -> Path:
        """The folder that consent is given to."""
        return self._composition.project.folder

    @property
    def token(self) -> str:
        """What agrees to it for once, as ``--trust`` takes it; empty if there is nothing to agree to."""
        return "+".join(dict.fromkeys(part for part in (*self._first.split("+"), self.digest) if part))

    def require(self, below: Keys = ()) -> None:
        """Goes on only if everything was agreed to.

        Args:
            below: Only what is declared below these keys matters; all of it is told.

        Raises:
            NotAgreed: What was not, each with its place and what changed since it was (``trust/needed``,
                ``trust/changed``).
        """
        asked = [demand for demand in self.demands if demand.standing == "open"]
        if any(keys[: len(below)] == below for demand in asked for keys in demand.power.keys):
            raise NotAgreed(self, *self._told(asked))

    def trusts(self, target: str) -> bool:
        """Whether a Python object may be imported: its module is trusted, or itself was agreed to."""
        return self._terms.trusts(target) or any(
            demand.standing in {"agreed", "typed"}
            for demand in self.demands
            if demand.power.action == "import" and demand.power.target == target
        )

    def where(self, demand: Demand) -> Where:
        """The place that makes a power so."""
        place, exact = self._places.find(demand.power.keys[0])
        return place.value if exact else place.key

    def change(self, demand: Demand) -> str:
        """What is different from when somebody agreed to it last; empty if nobody ever did."""
        return _change(demand.record, self._before)

    def agree(self) -> None:
        """Remembers that a person saw what has to be agreed to, and did.

        Raises:
            AssemblerError: It cannot be written (``trust/not-kept``).
        """
        Agreements(self.project).add(self.needed)

    @cached_property
    def _places(self) -> Place:
        return trace(self._composition)

    @cached_property
    def _before(self) -> Sequence[Record]:
        """The powers of the agreement that has most in common with what is asked for, the latest of equal ones.

        What is asked for is compared with this one alone, so that two agreements never add up.
        """
        subjects = {_subject(record) for record in self.needed}

        def common(agreement: Agreement) -> tuple[int, int, str]:
            same = sum(record in agreement.powers for record in self.needed)
            return same, len(subjects & {_subject(record) for record in agreement.powers}), agreement.at

        return max(Agreements(self.project).read(), key=common, default=Agreement((), "")).powers

    def _as_typed(self, demand: Demand) -> Demand:
        power = demand.power
        named = power.action == "import" and self._terms.trusts(power.target)
        typed = self._terms.is_typed and is_typed(power, self._composition)
        return demand.agreed("typed") if named or typed else demand

    def _as_agreed(self, demand: Demand) -> Demand:
        if demand.standing != "open":
            return demand
        free = self._terms.everything and demand.power.action != "import"
        agreed = free or self.digest in self._terms.digests or demand.record in self._before
        return demand.agreed("agreed") if agreed else demand

    def _told(self, asked: Sequence[Demand]) -> Iterator[Diagnostic]:
        if self._terms.digests:
            hint = f"look at it again: the digest is {self.token} now"
            yield Diagnostic("trust/other-digest", "it asks for other things than the digest stands for", hint=hint)
        how = (
            f"`assemble trust conf={self._composition.project.named}` with the same overrides shows all of it, and "
            f"remembers that you agree; `--trust {self.token}` agrees this once; in Python, `trust=True`"
        )
        for demand in asked:
            where = self.where(demand)
            hint = how if demand is asked[-1] else ""
            change = self.change(demand)
            if change:
                message = f"it {demand.power}, which was agreed to, but {change}"
                yield Diagnostic("trust/changed", message, where=where, hint=hint)
            else:
                yield Diagnostic("trust/needed", f"it {demand.power}, which nobody agreed to", where=where, hint=hint)


def _subject(record: Record) -> tuple[JSON, JSON]:
    return record["action"], record["target"]


def _change(record: Record, before: Sequence[Record]) -> str:
    """What is different in a power from what was agreed to under the same name; empty if nothing was."""
    known = [each for each in before if _subject(each) == _subject(record)]
    if not known:
        return ""
    old, new = cast("dict[str, str]", known[-1]["code"]), cast("dict[str, str]", record["code"])
    changed = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    shown = ", ".join(f"`{path}`" for path in changed[:MAX_SHOWN]) + (", ..." if len(changed) > MAX_SHOWN else "")
    return f"{shown} changed since" if changed else "under other settings than these"
