"""From a configuration to an agent: it only puts together what the rooms offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from assembler.agent.agent import Agent
from assembler.agent.config import AgentConfig
from assembler.agent.gate import OwnGate
from assembler.config.consent import Terms
from assembler.config.gate import DeclaredGate
from assembler.config.load import Declared, load
from assembler.errors import AssemblerError, problem
from assembler.sessions.base import SessionBackend


def assemble(
    conf: str | Path | AgentConfig,
    overrides: Sequence[str] = (),
    *,
    services: Mapping[str, object] | None = None,
    cwd: Path | None = None,
    trust: bool = False,
    trust_modules: Sequence[str] = (),
) -> Agent:
    """Declares an agent; starts nothing, contacts nobody.

    Args:
        conf: Name of a root in ``conf/``, path of a YAML file, or an agent declared in Python.
        overrides: In Hydra's grammar: ``env=prod``, ``skills=[a,b]``, ``limits.turns=5``.
        services: Objects for callables of skills and tools, by name.
        cwd: Where ``conf`` is looked for, and against which the paths of an agent declared in Python resolve; the
            working directory by default.
        trust: Whether the configuration may do whatever it declares, but for importing Python code. Otherwise opening
            the agent stops where it would start, read or reach what nobody agreed to with ``assemble trust``.
        trust_modules: Packages and modules whose objects it may name.

    Returns:
        The declared agent. ``async with agent`` opens it.

    Raises:
        AssemblerError: Everything that is wrong with the configuration, each with its place; nobody agreed to the
            environment variables that it reads (``trust/needed``); or the call itself is wrong (``agent/bad-call``).
    """
    terms = Terms(everything=trust, modules=_modules(trust_modules))
    given = cast("object", overrides)
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise _bad_call(f"`overrides` is a list of texts, not {type(given).__name__}", "overrides=['env=prod']")
    wrong = [type(override).__name__ for override in cast("Sequence[object]", given) if not isinstance(override, str)]
    if wrong:
        raise _bad_call(f"an override is a text, not {wrong[0]}", "overrides=['env=prod']")
    if isinstance(conf, AgentConfig):
        if overrides:
            raise _bad_call(
                "overrides change a configuration in YAML, not one made in Python", "config.model_copy(update=...)"
            )
        return Agent(conf, base=cwd, services=services, gate=OwnGate(conf, terms.trusts))
    if not isinstance(cast("object", conf), str | Path):
        raise _bad_call(f"`conf` is a name, a path or an AgentConfig, not {type(conf).__name__}", "AgentConfig(...)")
    return agent_of(load(conf, overrides, cwd, terms), services)


def agent_of(
    declared: Declared, services: Mapping[str, object] | None = None, sessions: SessionBackend | None = None
) -> Agent:
    """The agent that a configuration declares.

    Args:
        declared: What was read.
        services: Objects for callables of skills and tools, by name.
        sessions: Where conversations are kept, instead of where the configuration says.
    """
    composition = declared.composition
    return Agent(
        declared.config,
        base=composition.project.folder,
        services=services,
        diagnostics=composition.warnings,
        gate=DeclaredGate(declared),
        sessions=sessions,
    )


def _modules(given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str) or not all(isinstance(cast("object", each), str) for each in given):
        raise _bad_call("`trust_modules` is a list of names of modules", "trust_modules=['package']")
    return tuple(given)


def _bad_call(message: str, way_out: str) -> AssemblerError:
    return problem("agent/bad-call", message, hint=f"such as {way_out}")
