"""Components, rooms and kinds, as a plug-in's author and a Python user meet them."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import ValidationError

from assembler import AgentConfig, Cache, Dedupe, FilesSource, Filter, Match, Scripted, Skills
from assembler.components import BuildContext, Component, Config, Entry, Named, NamedKinds
from assembler.errors import AssemblerError
from assembler.kinds import BUILT_IN, find_kind
from assembler.skills.skill import Skill, SourceContext
from assembler.skills.sources.base import SkillSource

ECHO: dict[str, Any] = {"kind": "scripted", "turns": {"echo": {"text": "{{ input }}"}}}


def agent(**parts: Any) -> AgentConfig:
    return AgentConfig.model_validate({"name": "a", "model": ECHO, **parts})


def codes(error: ValidationError) -> dict[str, str]:
    return {".".join(map(str, found["loc"])): found["type"] for found in error.errors()}


def test_yaml_and_python_build_equal_components() -> None:
    written = agent(
        skills={
            "sources": {"units": {"kind": "files", "paths": ["skills"]}},
            "decorators": {"filter": {"exclude": ["x-*"]}, "cache": {"ttl": "5m"}, "dedupe": {}},
        }
    )
    built = AgentConfig(
        name="a",
        model=Scripted.model_validate({"turns": ECHO["turns"]}),
        skills=Skills(
            sources={"units": FilesSource(paths=("skills",))},  # type: ignore[arg-type]
            decorators={"filter": Filter(exclude=Match(skills=("x-*",))), "cache": Cache(), "dedupe": Dedupe()},
        ),
    )
    assert written == built
    assert written.digest == built.digest


def test_a_component_is_a_value() -> None:
    source = FilesSource.model_validate({"paths": ["skills"], "order": 2})
    assert source == copy.deepcopy(source) == pickle.loads(pickle.dumps(source))  # noqa: S301
    with pytest.raises(ValidationError):
        source.depth = 3  # type: ignore[misc]


def test_a_dump_builds_the_same_again() -> None:
    config = agent(skills={"sources": {"files": {"paths": ["a"]}}, "decorators": {"cache": {"ttl": "90s"}}})
    dumped = config.model_dump(mode="json")
    assert dumped["skills"]["sources"]["files"]["kind"] == "files"
    assert AgentConfig.model_validate(dumped) == config


def test_the_key_is_the_kind_and_null_is_off_and_order_counts() -> None:
    decorators = agent(
        skills={"decorators": {"cache": {}, "dedupe": None, "first": {"kind": "filter", "exclude": ["a"], "order": -1}}}
    ).skills.decorators
    assert [(name, entry.kind) for name, entry in decorators.items()] == [("first", "filter"), ("cache", "cache")]


def test_every_mistake_is_told_at_its_place() -> None:
    with pytest.raises(ValidationError) as caught:
        agent(
            skills={
                "sources": {
                    "a": {"kind": "files", "paths": ["x"], "dpth": 2},
                    "b": {"kind": "fils"},
                    "c": 7,
                    "d": {"kind": "python"},
                    "e": {"kind": "cache"},
                },
                "decorators": {"cache": {"ttl": "soon"}},
            },
            limits={"turn": 1, "turns": 0},
            approval={"rules": {"empty": {"action": "allow"}}},
        )
    assert codes(caught.value) == {
        "skills.sources.a.dpth": "config/unknown-key",
        "skills.sources.b": "component/unknown-kind",
        "skills.sources.c": "component/not-a-mapping",
        "skills.sources.d.target": "missing",
        "skills.sources.e": "component/unknown-kind",
        "skills.decorators.cache.ttl": "duration",
        "limits.turns": "greater_than_equal",
        "limits.turn": "config/unknown-key",
        "approval.rules.empty": "approval/empty-rule",
    }
    hints = {found["type"]: found.get("ctx", {}).get("hint") for found in caught.value.errors()}
    assert hints["component/unknown-kind"]
    assert "soon" not in str(caught.value)


def test_an_entry_of_the_same_kind_extends_what_it_inherits() -> None:
    context = BuildContext({"runner": {"kind": "sandbox", "limits": {"timeout": "9s", "processes": 7}}})
    data: dict[str, Any] = {"name": "a", "model": ECHO, "runner": context.inherit["runner"]}
    data["scripts"] = {
        "slow": {"scripts": ["x/*"], "runner": {"limits": {"timeout": "60s"}}},
        "free": {"scripts": ["y/*"], "runner": {"kind": "subprocess"}},
    }
    scripts = AgentConfig.model_validate(data, context=context).scripts
    slow, free = scripts["slow"].runner, scripts["free"].runner
    assert (slow.kind, slow.limits.processes, slow.limits.timeout.total_seconds()) == ("sandbox", 7, 60)
    assert (free.kind, free.limits.timeout.total_seconds()) == ("subprocess", 30)


@pytest.mark.parametrize(("room", "kind"), [(room, kind) for room, kinds in BUILT_IN.items() for kind in kinds])
def test_every_built_in_kind_is_where_the_table_says(room: str, kind: str) -> None:
    found = find_kind(room, kind)
    assert (found.room, found.kind) == (room, kind)
    assert found.__doc__


def test_naming_a_kind_imports_that_kind_alone(run_python: Any) -> None:
    program = """
import sys
from assembler.kinds import find_kind
find_kind("decorators", "dedupe")
print([name for name in sys.modules if name.startswith("assembler.skills.decorators.")])
"""
    assert run_python(program) == "['assembler.skills.decorators.base', 'assembler.skills.decorators.dedupe']"


def test_a_kind_of_the_wrong_room_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUILT_IN["sources"], "cache", "assembler.skills.decorators.cache:Cache")
    with pytest.raises(ValidationError) as caught:
        agent(skills={"sources": {"cache": {}}})
    assert codes(caught.value) == {"skills.sources.cache": "component/wrong-room"}


class Mine(SkillSource, kind="mine"):
    """A kind of one's own."""

    async def list_skills(self, context: SourceContext) -> Sequence[Skill]:
        return []


def test_a_kind_built_by_hand_needs_no_registration() -> None:
    config = AgentConfig(name="a", model=agent().model, skills=Skills(sources={"mine": Mine()}))
    assert config.declaration()["skills"]["sources"]["mine"]["kind"] == "mine"  # type: ignore[index]


def test_an_unknown_kind_is_an_error_with_the_nearest() -> None:
    with pytest.raises(AssemblerError, match="did you mean `files`"):
        find_kind("sources", "file")


def test_rooms_and_names_nest_as_types() -> None:
    class Part(Entry):
        size: int = 1

    class Whole(Config):
        parts: Named[Part] = {}
        sources: NamedKinds[SkillSource] = {}

    whole = Whole.model_validate(
        {"parts": {"b": {}, "a": {"order": -1}, "c": None}, "sources": {"files": {"paths": ["x"]}}}
    )
    assert list(whole.parts) == ["a", "b"]
    assert issubclass(type(whole.sources["files"]), Component)
    assert sys.modules["assembler.skills.sources.files"]
