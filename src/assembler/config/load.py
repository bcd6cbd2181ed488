"""From a composition to the declared agent, or to everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from assembler.agent.config import AgentConfig
from assembler.components import BuildContext
from assembler.config.compose import Composition, compose
from assembler.config.consent import NOTHING_AGREED, Consent, Terms
from assembler.config.project import locate
from assembler.config.rebase import rebased
from assembler.config.telling import tell
from assembler.config.walk import walk
from assembler.errors import AssemblerError, Diagnostic
from assembler.folders import repository_of
from assembler.presets.known import KNOWN_SECRETS
from assembler.secret import Secret, is_reference

_INHERITING_ROOMS = ("runner",)
"""Rooms whose entries elsewhere in the configuration extend what the root says."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A configuration that was read.

    Attributes:
        config: The agent that it declares.
        composition: What it was made of.
        terms: What was agreed to beforehand.
        first: Digest of what had to be agreed to before its variables were read; empty if it reads none.
    """

    config: AgentConfig
    composition: Composition
    terms: Terms
    first: str = ""

    def consent(self) -> Consent:
        """What it asks for, as its files are now, and what of it was agreed to."""
        return Consent(self.composition, self.config, self.terms, self.first)


def load(
    conf: str | Path, overrides: Sequence[str] = (), cwd: Path | None = None, terms: Terms = NOTHING_AGREED
) -> Declared:
    """Locates, composes and validates a configuration.

    Args:
        conf: Name of a root in ``conf/``, or path of a YAML file.
        overrides: In Hydra's grammar.
        cwd: Where to start looking; the working directory by default.
        terms: What was agreed to beforehand. Nothing is asked for here but to read environment variables, which have
            to be read before it is known what else is declared.

    Raises:
        AssemblerError: Everything that is wrong with it, each with its place.
        NotAgreed: Nobody agreed to the variables that it reads.
    """
    composition = compose(locate(conf, cwd), overrides)
    folder = cwd or Path.cwd()
    first = ""
    if composition.variables:
        consent = Consent(composition, validate(composition, folder), terms)
        consent.require(("allow_env",))
        composition, first = composition.revealed(), consent.token
    # Without variables that are not read, there is nothing that a declaration could hang on.
    return Declared(cast("AgentConfig", validate(composition, folder)), composition, terms, first)


def validate(composition: Composition, cwd: Path) -> AgentConfig | None:
    """The declared agent of a composition; None where nothing is wrong but that variables are not read.

    Args:
        composition: What was composed.
        cwd: Against which the paths in overrides resolve.

    Raises:
        AssemblerError: Everything that stopped the composition, and one diagnostic for each value that does not fit, at
            the place that set it; mere consequences are left out.
    """
    data = cast("dict[str, Any]", _with_secrets(composition.data))
    if data.get("name") is None:
        data["name"] = composition.project.root
    rooms = {room: data.get(room) for room in _INHERITING_ROOMS}
    inherit = {room: cast("dict[str, Any]", value) for room, value in rooms.items() if isinstance(value, dict)}
    invalid: list[dict[str, Any]] = []
    wrong = [*composition.unplaced]
    context = BuildContext(inherit, project=repository_of(composition.project.folder))
    try:
        config = AgentConfig.model_validate(data, context=context)
        wrong += _not_allowed(config)
        if not composition.problems and not wrong:
            moved = rebased(data, config, composition.overrides, composition.project.folder, cwd)
            return config if moved is None else AgentConfig.model_validate(moved, context=context)
    except ValidationError as error:
        invalid = cast("list[dict[str, Any]]", error.errors(include_url=False, include_input=False))
    told = tell(composition, data, wrong, invalid)
    if not told:
        return None
    raise AssemblerError(*told)


def _with_secrets(value: Any) -> Any:
    """The data with each text that refers to a secret as a ``Secret``, which no field of another type takes."""
    if isinstance(value, dict):
        return {key: _with_secrets(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list):
        return [_with_secrets(item) for item in cast("list[Any]", value)]
    return Secret(value) if isinstance(value, str) and is_reference(value) else value


def _not_allowed(config: AgentConfig) -> Iterator[tuple[tuple[str, ...], Diagnostic]]:
    """The secrets in environment variables that the configuration does not list, and no preset is known to read."""
    allowed = {f"env/{name}" for name, on in config.allow_env.items() if on} | KNOWN_SECRETS
    for keys, secret in walk(config):
        for name in secret.references if isinstance(secret, Secret) else ():
            kind, _, variable = name.partition("/")
            if kind == "env" and name not in allowed:
                message = f"`{'.'.join(keys)}` reads the environment variable `{variable}`, which is not allowed"
                yield keys, Diagnostic("secret/not-allowed", message, hint=f"allow_env: {{{variable}: true}}")
