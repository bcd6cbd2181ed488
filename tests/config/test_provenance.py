"""Where values were set, what they beat, and where an interpolation takes them from."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assembler.config import grammar, origins
from assembler.config.compose import compose
from assembler.config.project import locate
from assembler.config.provenance import Place, trace

FILES = {
    "conf/agent.yaml": """\
defaults: [{model: gpt}, {skills: units}, _self_, {env: null}]
limits: &limits {turns: 3, timeout: 5s}
variables:
  limits: {<<: *limits, turns: 4}
  small: {turns: 1}
skills:
  sources:
    units: {paths: [more]}
""",
    "conf/model/gpt.yaml": "defaults: [openai, _self_]\nname: gpt-6\nbase_url: http://127.0.0.1:1\n",
    "conf/skills/units.yaml": "sources:\n  units: {kind: files, paths: [skills, shared]}\n",
    "conf/env/prod.yaml": "# @package _global_\nlimits: {turns: 7}\nvariables: null\n",
    "conf/env/test.yaml": "# @package _global_\nvariables: {limits: '${variables.small}'}\n",
    "conf/env/both.yaml": "# @package _global_\ndefaults: [test, _self_]\nvariables: {limits: {timeout: 1s}}\n",
}


def places(*overrides: str) -> Place:
    return trace(compose(locate("agent"), overrides))


@pytest.mark.parametrize(
    ("overrides", "key", "chain"),
    [
        ([], "limits.turns", ["conf/agent.yaml:2:25"]),
        (["env=prod"], "limits.turns", ["conf/env/prod.yaml:2:17", "conf/agent.yaml:2:25"]),
        (
            ["env=prod", "limits.turns=9", "limits.turns=8"],
            "limits.turns",
            [
                "override #3 `limits.turns=8`",
                "override #2 `limits.turns=9`",
                "conf/env/prod.yaml:2:17",
                "conf/agent.yaml:2:25",
            ],
        ),
        (["limits={turns: 9}"], "limits.turns", ["override #1 `limits={turns: 9}`", "conf/agent.yaml:2:25"]),
        (["limits={turns: 9}"], "limits.timeout", ["conf/agent.yaml:2:37"]),
        (["~limits.turns"], "limits.turns", ["override #1 `~limits.turns`", "conf/agent.yaml:2:25"]),
        ([], "variables.limits.turns", ["conf/agent.yaml:4:32"]),
        ([], "variables.limits.timeout", ["conf/agent.yaml:2:37"]),
        ([], "model.name", ["conf/model/gpt.yaml:2:7", "preset model/openai.yaml:5:7"]),
        ([], "model.base_url", ["conf/model/gpt.yaml:3:11", "preset model/openai.yaml:3:11"]),
        ([], "model.api_key", ["preset model/openai.yaml:4:10"]),
        ([], "skills.sources.units.paths", ["conf/agent.yaml:8:20", "conf/skills/units.yaml:2:31"]),
        ([], "skills.sources.units.paths.0", ["conf/agent.yaml:8:21"]),
        (
            ["skills.sources.units.paths.0=x"],
            "skills.sources.units.paths.0",
            ["override #1 `skills.sources.units.paths.0=x`", "conf/agent.yaml:8:21"],
        ),
        (["env=prod"], "variables", ["conf/env/prod.yaml:3:12", "conf/agent.yaml:4:3"]),
        (["env=both"], "variables.limits.turns", ["conf/agent.yaml:5:18"]),
        (["env=both"], "variables.limits.timeout", ["conf/env/both.yaml:3:31"]),
        (["name.first=x"], "name.first", ["override #1 `name.first=x`"]),
        (["limits.turns.most=9"], "limits.turns", ["override #1 `limits.turns.most=9`", "conf/agent.yaml:2:25"]),
    ],
)
def test_a_place_knows_what_it_beat(project: Any, overrides: list[str], key: str, chain: list[str]) -> None:
    project(FILES)
    place, exact = places(*overrides).find(key.split("."))
    assert exact
    assert [str(each.value) for each in (place, *place.beaten)] == chain


def test_what_is_not_there_has_the_place_of_what_would_hold_it(project: Any) -> None:
    project(FILES)
    place, exact = places().find(["limits", "tool_calls"])
    assert (str(place.key), exact) == ("conf/agent.yaml:2:1", False)
    assert "paths" not in places("skills.sources.units=null").find(["skills", "sources", "units"])[0].children
    # A list that took the place of another one does not keep what that one had more.
    assert places().find(["skills", "sources", "units", "paths", 1])[1] is False


RAW = {
    "a": "${b}",
    "b": "${c.d}",
    "c": {"d": 5, "up": "${..a}", "beside": "x${.d}y${a}"},
    "whole": "${c}",
    "list": ["${list.1}", "${.2}", 7],
    "one": "${two}",
    "two": "${one}",
    "inside": "${inside.out}",
    "chosen": "${oc.select:c.e,${c.d}}",
}


@pytest.mark.parametrize(
    ("key", "site", "targets"),
    [
        ("c.d", "c.d", []),
        ("a", "a", ["c.d"]),
        ("c.up", "c.up", ["c.d"]),
        ("c.beside", "c.beside", ["c.d", "c.d"]),
        ("whole.d", "whole", ["c.d"]),
        ("whole.up", "whole", ["c.d"]),
        ("list.0", "list.0", ["list.2"]),
        ("one", "one", ["two"]),
        ("inside", "inside", []),
        ("chosen", "chosen", ["c.e", "c.d"]),
        ("nothing.there", "nothing.there", []),
    ],
)
def test_where_a_value_comes_from(key: str, site: str, targets: list[str]) -> None:
    found = origins.trail(RAW, key.split("."))
    assert ".".join(found.site) == site
    assert [".".join(origin.path) for origin in found.origins] == targets


KEYS = st.sampled_from(["a", "b", "c", "0"])
TEXTS = st.lists(
    st.one_of(
        st.text("ab. $\\{}:,[]'", max_size=6),
        st.lists(KEYS, min_size=1, max_size=3).map(lambda keys: "${" + ".".join(keys) + "}"),
        st.lists(KEYS, min_size=1, max_size=2).map(lambda keys: "${." + ".".join(keys) + "}"),
    ),
    max_size=4,
).map("".join)
VALUES = st.recursive(
    TEXTS, lambda inner: st.one_of(st.dictionaries(KEYS, inner), st.lists(inner, max_size=3)), max_leaves=8
)


@settings(deadline=None)  # the first one imports the parser
@given(st.dictionaries(KEYS, VALUES), st.lists(KEYS, min_size=1, max_size=4))
def test_every_way_of_a_value_ends(raw: dict[str, Any], path: list[str]) -> None:
    found = origins.trail(raw, path)
    assert list(found.site) == path[: len(found.site)]
    assert all(origin.path for origin in found.origins)
    origins.is_there(raw, tuple(path))


@settings(deadline=None)
@given(st.text("ab. $\\{}:,[]'\"", max_size=20))
def test_any_text_has_references_or_none(text: str) -> None:
    for reference in grammar.references(text):
        assert reference.text in text.replace(" ", "") or reference.text in text
        assert reference.keys
