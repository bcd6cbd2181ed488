"""The example that the design of the configuration starts from, and the overrides that it promises."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from assembler import AssemblerError, assemble

FILES = {
    "conf/support.yaml": """\
defaults:
  - model: gpt
  - skills: [units, billing]
  - runner: sandbox
  - approval: ask_scripts
  - prompt: default
  - client_tools: reject
  - session: memory
  - _self_
  - env: null
name: support
instructions: |
  You answer billing questions for {{ company }}.
variables: {company: Example Ltd}
skills:
  decorators:
    hide_internal: {kind: filter, exclude: [internal-*]}
    dedupe: {}
    cache: {ttl: 5m}
  catalog: {budget: 8000, overflow: search}
approval:
  rules:
    reports: {skills: [report-*], action: allow, order: -1}
limits: {turns: 20, timeout: 120s}
""",
    "conf/model/gpt.yaml": "defaults: [openai, _self_]\nname: gpt-5.1\n",
    "conf/model/echo.yaml": "kind: scripted\nturns: {echo: {text: hello}}\n",
    "conf/skills/units.yaml": "sources: {units: {kind: files, paths: [skills/units]}}\n",
    "conf/skills/billing.yaml": "sources: {billing: {kind: files, paths: [skills/billing]}}\n",
    "conf/env/prod.yaml": "# @package _global_\nlimits: {turns: 8}\nrunner: {isolation: require}\n",
    "conf/env/dev.yaml": "# @package _global_\nrunner: {isolation: prefer}\n",
}


@pytest.fixture(autouse=True)
def files(project: Any) -> Path:
    return project(FILES)


def declared(*overrides: str) -> Any:
    return assemble("support", overrides).config


def test_the_example_is_the_agent_that_it_says() -> None:
    config = declared()
    assert config.name == "support"
    assert config.model.kind == "openai"
    assert config.model.name == "gpt-5.1"
    assert config.model.model_dump(mode="json")["api_key"] == "secret://env/OPENAI_API_KEY"
    assert list(config.skills.sources) == ["units", "billing"]
    assert [decorator.kind for decorator in config.skills.decorators.values()] == ["filter", "dedupe", "cache"]
    assert config.skills.decorators["cache"].ttl == timedelta(minutes=5)
    assert config.skills.catalog.overflow == "search"
    assert list(config.approval.rules) == ["reports", "reading"]
    assert config.approval.default == "ask"
    assert config.limits.turns == 20
    assert config.limits.timeout == timedelta(minutes=2)
    assert config.runner.kind == "sandbox"
    assert config.session.kind == "memory"
    assert config.client_tools.policy == "reject"


@pytest.mark.parametrize(
    ("overrides", "path", "expected"),
    [
        (["env=prod"], "limits.turns", 8),
        (["env=dev"], "runner.isolation", "prefer"),
        (["env=null"], "limits.turns", 20),
        (["~env"], "limits.turns", 20),
        (["limits.turns=3"], "limits.turns", 3),
        (["limits.turns=3", "env=prod"], "limits.turns", 3),
        (["limits.tool_calls=7"], "limits.tool_calls", 7),
        (["limits.timeout=1h30m"], "limits.timeout", timedelta(minutes=90)),
        (["limits=null"], "limits.turns", 20),
        (["limits.turns=null"], "limits.turns", 20),
        (["~limits"], "limits.timeout", timedelta(minutes=10)),
        (["model=echo"], "model.kind", "scripted"),
        (["model.name=gpt-6"], "model.name", "gpt-6"),
        (["runner=subprocess"], "runner.kind", "subprocess"),
        (["runner={kind: subprocess}"], "runner.kind", "subprocess"),
        (["approval=unattended"], "approval.default", "allow"),
        (["name='a=b, c'"], "name", "a=b, c"),
        (["name=b", "name=c"], "name", "c"),
        (["variables.new=1"], "variables", {"company": "Example Ltd", "new": 1}),
        (["+variables.new=1"], "variables", {"company": "Example Ltd", "new": 1}),
        (["variables.company=${name}"], "variables", {"company": "support"}),
    ],
)
def test_overrides(overrides: list[str], path: str, expected: object) -> None:
    value: Any = declared(*overrides)
    for step in path.split("."):
        value = getattr(value, step)
    assert value == expected


@pytest.mark.parametrize(
    ("override", "sources"),
    [
        ("skills=[units]", ["units"]),
        ("skills=billing", ["billing"]),
        ("skills=[billing,units]", ["billing", "units"]),
        ("skills=[]", []),
        ("~skills", []),
        ("skills.sources.units=null", ["billing"]),
        ("skills.sources.billing.order=-1", ["billing", "units"]),
        ("skills.sources.more={kind: files, paths: [more]}", ["units", "billing", "more"]),
    ],
)
def test_skill_sets_are_chosen_by_name(override: str, sources: list[str]) -> None:
    assert list(declared(override).skills.sources) == sources


@pytest.mark.parametrize(
    ("override", "decorators"),
    [
        ("skills.decorators.dedupe=null", ["hide_internal", "cache"]),
        ("+skills.decorators.hide={kind: filter, exclude: [unit-*]}", ["hide_internal", "dedupe", "cache", "hide"]),
        ("+skills.decorators.filter={exclude: [unit-*], order: -1}", ["filter", "hide_internal", "dedupe", "cache"]),
    ],
)
def test_named_entries_are_added_ordered_and_switched_off(override: str, decorators: list[str]) -> None:
    assert list(declared(override).skills.decorators) == decorators


@pytest.mark.parametrize(
    ("override", "code", "hint"),
    [
        ("env=prdo", "config/unknown-option", "did you mean `prod`?"),
        ("approval=ask_script", "config/unknown-option", "did you mean `ask_scripts`?"),
        ("model=gtp", "config/unknown-option", "did you mean `gpt`?"),
        ("limts.turns=3", "config/unknown-key", "did you mean `limits`?"),
        ("limits.turn=3", "config/unknown-key", "did you mean `turns`?"),
        ("enviroment=prod", "config/unknown-key", "did you mean `env`?"),
        ("skills/extra=units", "config/unknown-key", ""),
        ("skills.decorators.cache.tll=1m", "config/unknown-key", "did you mean `ttl`?"),
        ("skills.sources.x={kind: fils}", "component/unknown-kind", "did you mean `files`?"),
        ("skills.sources.x=skills", "component/not-a-mapping", ""),
        ("limits.turns=many", "config/bad-value", ""),
        ("limits.timeout=soon", "config/bad-value", ""),
        ("strict=sometimes", "config/bad-value", ""),
        ("model=null", "config/missing-key", "model=gpt"),
        ("name=a=b", "config/bad-override", "quote"),
        ("name=a,b", "config/sweep", "quotes"),
        ("hydra.run.dir=x", "config/refused-key", ""),
        ("hydra/launcher=x", "config/refused-key", ""),
        ("hydra.searchpath=[pkg://os]", "config/refused-key", ""),
        ("model._target_=os.system", "config/refused-key", ""),
        ("model={_target_: os.system}", "config/refused-key", ""),
        ("instructions=${oc.env:HOME}", "config/refused-variable", "allow_env"),
        ("instructions='${oc.env:${name}}'", "config/refused-variable", ""),
        ("instructions=${eval:1}", "config/refused-resolver", ""),
        ("instructions=${nothing}", "config/interpolation", ""),
        ("+limits.turns=3", "config/override", ""),
        ("~nothing", "config/override", ""),
    ],
)
def test_a_bad_override_is_named_with_its_text(override: str, code: str, hint: str) -> None:
    with pytest.raises(AssemblerError) as caught:
        declared("limits.tool_calls=9", override)
    (found,) = caught.value.diagnostics
    assert found.code == code
    assert hint in found.hint
    assert "+" not in found.hint
    assert "\n" not in found.message
    if code not in {"config/interpolation", "config/refused-resolver", "config/refused-variable", "config/missing-key"}:
        assert str(found.where) == f"override #2 `{override}`" or found.where.override is None


def test_a_variable_is_read_where_it_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPANY", "Acme")
    config = assemble("support", ["variables.company=${oc.env:COMPANY}", "allow_env.COMPANY=true"], trust=True).config
    assert config.variables == {"company": "Acme"}
