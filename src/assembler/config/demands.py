"""What a composed configuration asks for: the powers of everything declared in it, and who agreed to which already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from assembler.agent.config import AgentConfig
from assembler.approval.policy import Approval
from assembler.components import IN_ORDER, Config
from assembler.config import yamlfile
from assembler.config.agreements import Record
from assembler.config.compose import Composition
from assembler.config.fingerprints import fingerprints
from assembler.config.grammar import is_interpolated
from assembler.config.walk import walk
from assembler.powers import Keys, Power
from assembler.tools.skills import RESERVED, RunSkillScript

Standing = Literal["open", "agreed", "typed", "known"]
"""Nobody agreed to it; somebody did; the person who starts the agent typed it just now; or a preset is known for it."""


@dataclass(frozen=True, slots=True)
class Demand:
    """A power that a configuration asks for.

    Attributes:
        power: The power; its keys are those of the whole configuration.
        code: Digests of what would execute, by path.
        standing: Whether it still has to be agreed to.
    """

    power: Power
    code: Mapping[str, str]
    standing: Standing = "open"

    @property
    def record(self) -> Record:
        """All that consent to it is bound to."""
        power = self.power
        return {"action": power.action, "target": power.target, "binds": power.binds, "code": dict(self.code)}

    def agreed(self, standing: Standing) -> Demand:
        """The same, agreed to."""
        return replace(self, standing=standing)


def powers(composition: Composition, config: AgentConfig | None) -> list[Power]:
    """The powers of everything that a configuration declares, with their keys in the whole of it.

    Args:
        composition: What was composed.
        config: What it declares; None if that hangs on variables that nobody agreed to read.
    """
    found = [Power("variable", name, (("allow_env", name),)) for name in composition.variables]
    if config is not None:
        for above, part in walk(config):
            own = part.powers(composition.project.folder) if isinstance(part, Config) else ()
            found += (replace(power, keys=tuple((*above, *keys) for keys in power.keys)) for power in own)
        found = [_at_its_place(power) for power in found]
        found += _unasked(found, config.approval)
    # What hangs on a variable is found out when that was read.
    return [power for power in found if not composition.is_unread((power.target, power.binds, power.keys))]


def demands(composition: Composition, config: AgentConfig | None) -> list[Demand]:
    """Everything that a configuration asks for, as the files are now that it would execute.

    Args:
        composition: What was composed.
        config: What it declares, as far as it is known.

    Raises:
        AssemblerError: There is more that would execute than can be looked at (``trust/too-large``).
    """
    return [Demand(power, fingerprints(power, composition.project.folder)) for power in powers(composition, config)]


def _at_its_place(power: Power) -> Power:
    """Python code with its place, which says when it is called, and with what."""
    if power.action != "import":
        return power
    return replace(power, binds={"place": ".".join(power.keys[0][:-1]), "options": power.binds})


def _unasked(found: Sequence[Power], approval: Approval) -> Iterator[Power]:
    """Letting the model call Python code unasked, which no runner confines."""
    scripts = [power for power in found if power.action == "import" and power.keys[0][:2] == ("skills", "sources")]
    tools = [power for power in found if power.action == "import" and power.keys[0][0] == "tools"]
    called = scripts if approval.may_allow(RunSkillScript.name) else []
    called += tools if _may_allow_any(approval) else []
    if called:
        policy = approval.model_dump(mode="json", context=IN_ORDER)
        yield Power("run", "Python code unasked, which nothing isolates", called[0].keys, {"approval": policy})


def _may_allow_any(approval: Approval) -> bool:
    """Whether a tool could be called unasked whose name nobody knows yet."""
    allowing = [rule for rule in approval.rules.values() if rule.action == "allow"]
    return approval.default == "allow" or any(not {*rule.tools} <= {*RESERVED} or not rule.tools for rule in allowing)


def is_typed(power: Power, composition: Composition) -> bool:
    """Whether everything that makes a power so was typed on the command line, and says so itself."""
    return power.is_plain and all(_is_typed(keys, composition) for keys in power.keys)


def _is_typed(keys: Keys, composition: Composition) -> bool:
    value = _at(composition.data, keys)
    typed = _typed_value(keys, composition)
    # What is interpolated was typed by name only; its value stands in somebody's file.
    return typed is not None and typed == value and not _holds_interpolation(typed)


def _typed_value(keys: Keys, composition: Composition) -> Any:
    """What the last override that set a key typed for it; None if none did."""
    values = [each for each in composition.overrides if not each.is_group and keys[: len(each.path)] == each.path]
    if values:
        return None if values[-1].deletes else _at(values[-1].value, keys[len(values[-1].path) :])
    # Whatever stands first on the command line, options are chosen before values are set.
    groups = [each for each in composition.overrides if each.is_group and keys[:-1] == each.path]
    return _preset_value(keys, composition) if groups and len(groups[-1].options) == 1 else None


def _preset_value(keys: Keys, composition: Composition) -> Any:
    """What a preset that was chosen by name sets: whoever types the name of one of ours means what we say it does."""
    preset = composition.chosen_preset("/".join(keys[:-1]))
    written = yamlfile.pairs(preset.node) if preset is not None else ()
    return next((value.value for key, value in written if key.value == keys[-1]), None)


def _holds_interpolation(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_interpolation, cast("dict[Any, Any]", value).values()))
    if isinstance(value, list):
        return any(map(_holds_interpolation, cast("list[Any]", value)))
    return isinstance(value, str) and is_interpolated(value)


def _at(value: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return value
