"""From a configuration to an agent: it only puts together what the rooms offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from assembler.agent.agent import Agent
from assembler.agent.config import AgentConfig
from assembler.config.load import load


def assemble(
    conf: str | Path | AgentConfig,
    overrides: Sequence[str] = (),
    *,
    services: Mapping[str, object] | None = None,
    cwd: Path | None = None,
) -> Agent:
    """Declares an agent; starts nothing, contacts nobody.

    Args:
        conf: Name of a root in ``conf/``, path of a YAML file, or an agent declared in Python.
        overrides: In Hydra's grammar: ``env=prod``, ``skills=[a,b]``, ``limits.turns=5``.
        services: Objects for callables of skills and tools, by name.
        cwd: Where ``conf`` is looked for, and against which the paths of an agent declared in Python resolve; the
            working directory by default.

    Returns:
        The declared agent. ``async with agent`` opens it.

    Raises:
        AssemblerError: Everything that is wrong with the configuration, each with its place.
    """
    if isinstance(conf, AgentConfig):
        return Agent(conf, base=cwd, services=services)
    config, composition = load(conf, overrides, cwd)
    return Agent(config, base=composition.project.folder, services=services, diagnostics=composition.warnings)
