"""The gate of what YAML declares: nothing is opened, and nothing changes while it is open, that nobody agreed to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from assembler.agent.config import AgentConfig
from assembler.components import Config
from assembler.config.consent import Consent
from assembler.config.demands import Demand, demands
from assembler.config.load import Declared
from assembler.config.provenance import trace
from assembler.errors import Where
from assembler.powers import Keys
from assembler.python import refs
from assembler.sessions.base import SessionBackend
from assembler.skills.declared import Skills

C = TypeVar("C", bound=Config)


class DeclaredGate:
    """Lets a configuration through once everything that it asks for was agreed to.

    Args:
        declared: The configuration.
    """

    def __init__(self, declared: Declared) -> None:
        self._declared = declared
        self._admitted: tuple[AgentConfig, Sequence[Demand]] | None = None

    def admit(self) -> AgentConfig:
        """The declared agent with the Python objects that it names.

        Raises:
            NotAgreed: Nobody agreed to some of what it asks for.
            AssemblerError: A Python object cannot be used, or its module is not trusted (``python/...``).
        """
        config = self._loaded(self._declared.config, ())
        self._admitted = config, demands(self._declared.composition, config)
        return config

    def admit_skills(self) -> Skills:
        """The same for the skills alone, which can be listed without the rest.

        Raises:
            AssemblerError: As ``admit``.
        """
        return self._loaded(self._declared.config.skills, ("skills",))

    def admit_session(self) -> SessionBackend:
        """The same for where conversations are kept.

        Raises:
            AssemblerError: As ``admit``.
        """
        return self._loaded(self._declared.config.session, ("session",))

    def check(self) -> None:
        """Looks again whether what was admitted asks for the same, of files with the same bytes.

        Raises:
            NotAgreed: It does not, and nobody agreed to what it asks for now.
        """
        if self._admitted is None or demands(self._declared.composition, self._admitted[0]) != self._admitted[1]:
            self.admit()

    def _loaded(self, part: C, below: Keys) -> C:
        declared = self._declared
        consent = declared.consent()
        consent.require(below)
        folder = declared.composition.project.folder

        def where(path: Sequence[str | int]) -> Where:
            place, exact = trace(declared.composition).find((*below, *path))
            return place.value if exact else place.key

        loaded = refs.load(part, is_trusted=consent.trusts, where=where, project=folder)
        if loaded is not part:
            # What was loaded has powers of its own, which nobody could know before.
            whole = declared.config.model_copy(update={below[0]: loaded}) if below else cast("AgentConfig", loaded)
            Consent(declared.composition, whole, declared.terms, consent.token).require(below)
        return loaded
