"""Groups, defaults lists and roots that extend roots: what is chosen, and everything that is told instead of done."""

from __future__ import annotations

import math
from typing import Any

import pytest

from assembler import AgentConfig, AssemblerError, assemble
from assembler.errors import Diagnostic

BASE = {
    "conf/agent.yaml": "defaults: [{model: echo}, _self_]\n",
    "conf/model/echo.yaml": "kind: scripted\nturns: {echo: {text: hello}}\n",
    "conf/model/5.yaml": "kind: scripted\nturns: {echo: {text: five}}\n",
    "conf/model/true.yaml": "kind: scripted\nturns: {echo: {text: 'True'}}\n",
    "conf/model/off.yaml": "kind: scripted\nturns: {echo: {text: 'False'}}\n",
    "conf/model/it's.yaml": "kind: scripted\nturns: {echo: {text: quoted}}\n",
    "conf/model/old.yml": "kind: scripted\n",
    "conf/skills/units.yaml": "sources: {units: {kind: files, paths: [skills]}}\n",
    "conf/skills/more.yaml": "defaults: [units, _self_]\nsources: {more: {kind: files, paths: [m]}}\n",
    "conf/skills/same.yaml": "sources:\n  units: {kind: files, paths: [other]}\n",
    "conf/env/prod.yaml": "# @package _global_\nlimits: {turns: 8}\n",
    "conf/env/test.yaml": "# @package _global_\nlimits: {turns: 9}\n",
}


def told(*overrides: str, conf: str = "agent") -> list[Diagnostic]:
    with pytest.raises(AssemblerError) as caught:
        assemble(conf, overrides)
    return list(caught.value.diagnostics)


def places(*overrides: str) -> list[tuple[str, str]]:
    return [(found.code, str(found.where)) for found in told(*overrides)]


@pytest.mark.parametrize(
    ("root", "overrides", "expected"),
    [
        ("", ["limts=null"], [("config/unknown-key", "override #1 `limts=null`")]),
        ("limts: null\n", [], [("config/unknown-key", "conf/agent.yaml:2:1")]),
        ("limits: {turn: null}\n", [], [("config/unknown-key", "conf/agent.yaml:2:10")]),
        (
            "skills: {sources: {s: {kind: files, paths: [a], pths: null}}}\n",
            [],
            [("config/unknown-key", "conf/agent.yaml:2:49")],
        ),
        ("limits: null\nname: null\nskills: {sources: {s: null}}\n", ["limits.turns=null"], None),
        ("variables: {a: null}\n", ["variables.b=null"], None),
    ],
)
def test_null_switches_off_what_there_is(project: Any, root: str, overrides: list[str], expected: Any) -> None:
    project({**BASE, "conf/agent.yaml": BASE["conf/agent.yaml"] + root})
    if expected is not None:
        assert places(*overrides) == expected
        return
    config = assemble("agent", overrides).config
    assert (config.name, config.limits.turns, dict(config.skills.sources)) == ("agent", 20, {})


def test_null_in_python_is_not_silent_either(project: Any) -> None:
    project(BASE)
    model = assemble("agent").config.model
    assert AgentConfig(name="a", model=model, limits=None).limits.turns == 20  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="limts"):
        AgentConfig(name="a", model=model, limts=None)  # type: ignore[call-arg]


Q = "defaults: [{model: echo}, {env: null}]\nlimits: {turns: 20}\ndescription: of q\n"


@pytest.mark.parametrize(
    ("files", "overrides", "turns"),
    [
        ({"conf/agent.yaml": "defaults: [q, _self_]\nlimits: {turns: 33}\n"}, ["env=prod"], 8),
        ({"conf/agent.yaml": "defaults: [q, _self_]\nlimits: {turns: 33}\n"}, [], 33),
        ({"conf/agent.yaml": "defaults: [q, _self_, {env: null}]\nlimits: {turns: 33}\n"}, ["env=prod"], 8),
        ({"conf/agent.yaml": "defaults: [q]\n", "conf/q.yaml": Q.replace("env: null", "env: prod")}, [], 8),
        ({"conf/agent.yaml": "defaults: [q]\n", "conf/q.yaml": Q.replace("env: null", "env: prod")}, ["env=null"], 20),
        ({"conf/agent.yaml": "defaults: [q]\n", "conf/q.yaml": Q.replace("env: null", "env: prod")}, ["env=test"], 9),
        (
            {"conf/agent.yaml": "defaults: [q, _self_, {env: test}]\n", "conf/q.yaml": Q.replace("null", "prod")},
            [],
            9,
        ),
        (
            {"conf/agent.yaml": "defaults: [r]\nlimits: {turns: 33}\n", "conf/r.yaml": "defaults: [q]\nname: r\n"},
            ["env=prod"],
            8,
        ),
        ({"conf/agent.yaml": "defaults: [/q, _self_]\nlimits: {turns: 33}\n"}, ["env=prod"], 8),
        ({"conf/agent.yaml": "defaults: [q, {env: prod.yaml}]\n"}, [], 8),
        ({"conf/agent.yaml": "defaults: [q.yaml, _self_]\nlimits: {turns: 33}\n"}, ["env=prod"], 8),
        ({"conf/agent.yaml": "defaults: ['q@_global_', _self_]\nlimits: {turns: 33}\n"}, ["env=prod"], 8),
        ({"conf/agent.yaml": "defaults: [q, _self_, {override env: prod}]\nlimits: {turns: 33}\n"}, [], 8),
    ],
)
def test_the_overlay_changes_anything_also_in_a_root_that_extends_a_root(
    project: Any, files: dict[str, str], overrides: list[str], turns: int
) -> None:
    project({**BASE, "conf/q.yaml": Q, **files})
    config = assemble("agent", overrides).config
    assert (config.limits.turns, config.description) == (turns, "of q")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"conf/q.yaml": "# @package x\nname: q\n"}, ("config/refused-package", "conf/q.yaml:1:1")),
        ({"conf/q.yaml": "\n\n#@package x\nname: q\n"}, ("config/refused-package", "conf/q.yaml:3:1")),
        ({"conf/q.yaml": "name: q\nhydra: {x: 1}\n"}, ("config/refused-key", "conf/q.yaml:2:1")),
        ({"conf/q.yaml": "defaults: {x: y}\n"}, ("config/bad-defaults", "conf/q.yaml:1:11")),
        ({"conf/q.yaml": "- x\n"}, ("config/not-a-mapping", "conf/q.yaml:1:1")),
        ({"conf/q.yaml": "defaults: [agent]\n"}, ("config/recursion", "conf/q.yaml:1:12")),
        ({"conf/agent.yaml": "defaults: [agent]\n"}, ("config/recursion", "conf/agent.yaml:1:12")),
        ({"conf/agent.yaml": "defaults: [qq]\n"}, ("config/no-such-root", "conf/agent.yaml:1:12")),
        ({"conf/agent.yaml": "\n \n# @package x\nname: q\n"}, ("config/refused-package", "conf/agent.yaml:3:1")),
    ],
)
def test_a_root_that_is_extended_obeys_the_rules_of_roots(
    project: Any, files: dict[str, str], expected: tuple[str, str]
) -> None:
    project({**BASE, "conf/q.yaml": Q, "conf/agent.yaml": "defaults: [q]\n", **files})
    assert places("model=echo") == [expected]


def test_a_group_elsewhere_is_not_the_group_itself(project: Any) -> None:
    root = "defaults: [{model: echo}, {runner@scripts.x.runner: subprocess}, _self_]\nscripts: {x: {scripts: [a/*]}}\n"
    project({**BASE, "conf/agent.yaml": root})
    config = assemble("agent", ["runner=subprocess"]).config
    assert config.runner.kind == "subprocess"
    assert config.scripts["x"].runner.kind == "subprocess"
    config = assemble("agent", ["runner@scripts.x.runner=sandbox"]).config
    assert (config.runner.kind, config.scripts["x"].runner.kind) == ("sandbox", "sandbox")
    project({"conf/agent.yaml": "defaults: [{model@model: echo}, _self_]\n"})
    assert assemble("agent", ["runner=subprocess"]).config.runner.kind == "subprocess"


def test_an_overlay_without_its_package_line(project: Any) -> None:
    project({**BASE, "conf/env/prod.yaml": "limits: {turns: 8}\n"})
    (found,) = told("env=prod")
    assert found.code == "config/unknown-key"
    assert found.hint == "write `# @package _global_` as the first line of conf/env/prod.yaml"
    project({"conf/agent.yaml": "defaults: [{model: echo}]\nenv: prod\n"})
    (found,) = told()
    assert (found.code, found.hint) == ("config/unknown-key", "choose an option of the group `env` in `defaults`")
    project({"conf/agent.yaml": "defaults: [{model: echo}]\nzzzz: 1\n"})
    (found,) = told()
    assert (found.hint.count("`skills`"), "`env`" in found.hint) == (1, False)


@pytest.mark.parametrize(
    ("root", "overrides", "expected"),
    [
        ("{skills: [units, more]}", ["~skills=zzz"], [("config/override", "override #1 `~skills=zzz`")]),
        ("{skills: [units, more]}", ["~skills=units"], [("config/override", "override #1 `~skills=units`")]),
        ("{skills: units}", ["~skills=units"], []),
        ("{skills: [units, more]}", ["~skills"], []),
        ("{skills: units}", ["skills=[more]"], ["units", "more"]),
        ("{skills: more}", [], ["units", "more"]),
        ("{runner: sandbox}", ["model=[echo,off]"], [("config/override", "override #1 `model=[echo,off]`")]),
        (
            "_self_",
            ["approval=[ask_scripts,unattended]"],
            [("config/override", "override #1 `approval=[ask_scripts,unattended]`")],
        ),
    ],
)
def test_what_is_chosen_of_a_group(project: Any, root: str, overrides: list[str], expected: Any) -> None:
    project(
        {
            **BASE,
            "conf/agent.yaml": f"defaults: [{{model: echo}}, {root}, _self_]\n".replace("_self_, _self_", "_self_"),
        }
    )
    if expected and isinstance(expected[0], tuple):
        assert places(*overrides) == expected
    else:
        assert list(assemble("agent", overrides).config.skills.sources) == expected


@pytest.mark.parametrize(
    ("override", "text"),
    [
        ("model=5", "five"),
        ("model=true", "True"),
        ("model=off", "False"),
        ('model="it\'s"', "quoted"),
        ("+model=5", None),
    ],
)
def test_an_option_may_look_like_something_else(project: Any, override: str, text: str | None) -> None:
    project(BASE)
    if text is None:
        assert [found.code for found in told(override)] == ["config/override"]
        return
    model: Any = assemble("agent", [override]).config.model
    assert model.turns["echo"].text == text


def test_two_skill_sets_with_a_source_of_one_name_are_told(project: Any) -> None:
    project(BASE)
    agent = assemble("agent", ["skills=[units,same]"])
    (found,) = agent.diagnostics
    assert (found.code, found.severity, str(found.where)) == (
        "config/same-source",
        "warning",
        "conf/skills/same.yaml:2:3",
    )
    assert "conf/skills/units.yaml" in found.message
    assert assemble("agent", ["skills=[more]"]).diagnostics == ()


def test_a_file_with_the_wrong_suffix_is_told_when_it_is_asked_for(project: Any) -> None:
    project(BASE)
    (found,) = told("model=old")
    assert (found.code, str(found.where)) == ("config/bad-suffix", "override #1 `model=old`")


@pytest.mark.parametrize(
    ("entry", "code", "where"),
    [
        ("{'': x}", "config/bad-defaults", "conf/agent.yaml:1:28"),
        ("{'override ': x}", "config/bad-defaults", "conf/agent.yaml:1:28"),
        ("{1: x}", "config/bad-defaults", "conf/agent.yaml:1:28"),
        ("{skills: off}", "config/bad-defaults", "conf/agent.yaml:1:36"),
        ("{skills: 5}", "config/bad-defaults", "conf/agent.yaml:1:36"),
        ("{skills: [on]}", "config/bad-defaults", "conf/agent.yaml:1:37"),
        ("{skills: {a: b}}", "config/bad-defaults", "conf/agent.yaml:1:36"),
        ("{skills: units, env: prod}", "config/bad-defaults", "conf/agent.yaml:1:27"),
        ("[skills]", "config/bad-defaults", "conf/agent.yaml:1:27"),
        ("5", "config/bad-defaults", "conf/agent.yaml:1:27"),
        ("''", "config/bad-defaults", "conf/agent.yaml:1:27"),
        ("{skills: '${'}", "config/interpolation", "conf/agent.yaml:1:36"),
        ("{skills: unit}", "config/unknown-option", "conf/agent.yaml:1:36"),
        ("{skills: units}, {skills: more}", "config/bad-defaults", "conf/agent.yaml:1:53"),
        ("{skills: '???'}", "config/unknown-option", "conf/agent.yaml:1:36"),
    ],
)
def test_an_entry_that_chooses_nothing(project: Any, entry: str, code: str, where: str) -> None:
    project({**BASE, "conf/agent.yaml": f"defaults: [{{model: echo}}, {entry}, _self_]\n"})
    (found,) = told()
    assert (found.code, str(found.where)) == (code, where)
    if " off" in entry:
        assert found.message == "quote it: YAML reads `off` as a boolean"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"conf/model/echo.yaml": "defaults: [echo, _self_]\n"}, ("config/recursion", "conf/model/echo.yaml:1:12")),
        (
            {"conf/model/echo.yaml": "defaults: [b]\n", "conf/model/b.yaml": "defaults: [echo]\n"},
            ("config/recursion", "conf/model/b.yaml:1:12"),
        ),
        ({"conf/model/echo.yaml": "- a\n"}, ("config/not-a-mapping", "conf/model/echo.yaml:1:1")),
        ({"conf/model/echo.yaml": "? [a]\n: b\n"}, ("config/bad-yaml", "conf/model/echo.yaml:1:3")),
        ({"conf/agent.yaml": "? [a]\n: b\n"}, ("config/bad-yaml", "conf/agent.yaml:1:3")),
        ({"conf/agent.yaml": "limits: {turns: " + "9" * 5000 + "}\n"}, ("config/bad-yaml", "conf/agent.yaml:1:17")),
        ({"conf/agent.yaml": "instructions: 5\n"}, ("config/bad-value", "conf/agent.yaml:1:15")),
        ({"conf/agent.yaml": "instructions: {fil: x}\n"}, ("config/unknown-key", "conf/agent.yaml:1:16")),
        ({"conf/agent.yaml": "variables: {x: .nan}\n"}, ("config/bad-value", "conf/agent.yaml:1:16")),
        ({"conf/agent.yaml": "limits: {timeout: 1e400}\n"}, ("config/bad-value", "conf/agent.yaml:1:19")),
        ({"conf/agent.yaml": "runner: {limits: {memory: 8EiB}}\n"}, ("config/bad-value", "conf/agent.yaml:1:27")),
    ],
)
def test_a_file_that_stops_hydra_is_told_at_its_place(
    project: Any, files: dict[str, str], expected: tuple[str, str]
) -> None:
    project({**BASE, **files})
    found = told("model=echo")
    assert (found[-1].code, str(found[-1].where)) == expected
    assert len(found) == 1
    assert "/tmp" not in str(found[0])  # noqa: S108
    assert "TextFile" not in str(found[0])


def test_an_option_that_extends_the_preset_of_its_own_name(project: Any) -> None:
    project({**BASE, "conf/model/openai.yaml": "defaults: [openai, _self_]\nname: x\n"})
    (found,) = told("model=openai")
    assert (found.code, str(found.where)) == ("config/recursion", "conf/model/openai.yaml:1:12")
    assert found.hint == "an option that extends a preset needs another name"


def test_a_file_that_is_not_utf8(project: Any) -> None:
    folder = project(BASE)
    (folder / "conf/model/echo.yaml").write_bytes(b"kind: caf\xe9\n")
    assert places() == [("config/unreadable", "conf/model/echo.yaml:1:10")]


@pytest.mark.parametrize(
    ("override", "code"),
    [
        ("limits.timeout=" + "9" * 400, "config/bad-value"),
        ("runner.limits.memory='" + "9" * 400 + "'", "config/bad-value"),
        ("runner.limits.memory=" + "9" * 400, "config/bad-value"),
        ("variables.x=nan", "config/bad-value"),
        ("variables.x=[{a: inf}]", "config/bad-value"),
        ("limits.turns=" + "9" * 5000, "config/bad-override"),
        ("instructions=5", "config/bad-value"),
    ],
)
def test_numbers_without_end(project: Any, override: str, code: str) -> None:
    project(BASE)
    (found,) = told(override)
    assert found.code == code
    assert str(found.where).startswith("override #1 ")
    assert len(str(found.where)) < 100
    assert math.inf not in (found.message, found.hint)


@pytest.mark.parametrize("conf", ["x" * 300, "x" * 300 + ".yaml", "x" * 300 + "/a.yaml"])
def test_a_name_that_no_file_can_have(project: Any, conf: str) -> None:
    project(BASE)
    assert [found.code for found in told(conf=conf)] == ["config/no-such-root"]


@pytest.mark.parametrize("name", ["back\\slash", "it's", 'a "quote"', "${name}", "a b", "[x]", "a,b", "café"])
def test_a_project_in_a_folder_of_any_name(project: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    folder = project({f"{name}/{path}": text for path, text in BASE.items()})
    monkeypatch.chdir(folder / name)
    assert assemble("agent", ["skills=[units]", "env=prod"]).config.limits.turns == 8
    assert assemble(folder / name / "conf/agent.yaml").config.name == "agent"


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["name=x", "+limits.turns=3", "limits.tool_calls=4"], ["override #2 `+limits.turns=3`"]),
        (["description=s", "+limits=3"], ["override #2 `+limits=3`"]),
        (["+limits.turns=3", "+limits.timeout=3s", "~a"], ["override #1 `+limits.turns=3`", "override #3 `~a`"]),
    ],
)
def test_only_the_culprit_is_blamed(project: Any, overrides: list[str], expected: list[str]) -> None:
    project({**BASE, "conf/agent.yaml": "defaults: [{model: echo}, _self_]\nlimits: {turns: 1}\n"})
    assert sorted(str(found.where) for found in told(*overrides)) == expected


def test_an_option_keeps_its_package_when_a_part_of_it_is_set_aside(project: Any) -> None:
    project({**BASE, "conf/env/prod.yaml": "# @package _global_\nlimits: {turns: 8}\ndescription: '${'\n"})
    assert places("env=prod") == [("config/interpolation", "conf/env/prod.yaml:3:14")]
