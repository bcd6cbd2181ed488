"""What stands in the files of a project: roots, groups, and every mistake at its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assembler import AssemblerError, assemble

MODEL = "kind: scripted\nturns: {echo: {text: hello}}\n"
BASE = {
    "conf/model/echo.yaml": MODEL,
    "conf/skills/units.yaml": "sources: {units: {kind: files, paths: [skills]}}\n",
    "conf/env/prod.yaml": "# @package _global_\nlimits: {turns: 7}\n",
}


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        ("", {}),
        ("name: x\n", {"name": "x"}),
        ("# a comment\nname: x # more\n", {"name": "x"}),
        ("{name: x, limits: {turns: 3}}\n", {"name": "x", "turns": 3}),
        ("defaults: [_self_]\nname: x\n", {"name": "x"}),
        ("defaults:\n- _self_\nname: x\n", {"name": "x"}),
        ("defaults: [{runner: subprocess}]\n", {"runner": "subprocess"}),
        ("defaults: [{runner: subprocess}, _self_]\nrunner: {cwd: skill}\n", {"runner": "subprocess"}),
        ("defaults: [_self_, {override /runner: subprocess}]\n", {"runner": "subprocess"}),
        ("defaults: [_self_, {override runner: subprocess}]\n", {"runner": "subprocess"}),
        ("defaults: [_self_, {env: prod}]\nlimits: {turns: 3}\n", {"turns": 7}),
        ("defaults: [{env: prod}, _self_]\nlimits: {turns: 3}\n", {"turns": 7}),
        ("limits: {turns: 3}\n", {"turns": 3}),
        ("approval: {default: deny}\n", {"approval": "deny"}),
        ("defaults: [other, _self_]\nlimits: {turns: 4}\n", {"turns": 4, "runner": "subprocess", "name": "other"}),
        ("\ufeffname: x\n", {"name": "x"}),
        ("name: x\r\nlimits: {turns: 3}\r\n", {"name": "x", "turns": 3}),
        ("a: &a {turns: 3}\nlimits: *a\n", None),
        ("limits: &l {turns: 3}\n", {"turns": 3}),
        ("name: 'it''s'\ndescription: \"a\\tb\"\n", {"name": "it's"}),
        ("name: '012'\nlimits: {turns: 012}\n", {"name": "012", "turns": 10}),
        ("name: x\ndescription: |\n  two\n  lines\n", {"name": "x"}),
        ("name: '\\${not.an.interpolation}'\n", {"name": "${not.an.interpolation}"}),
    ],
)
def test_roots(project: Any, root: str, expected: Any) -> None:
    other = "defaults: [{runner: subprocess}, _self_]\nname: other\nlimits: {turns: 2}\n"
    project({**BASE, "conf/agent.yaml": root, "conf/other.yaml": other})
    if expected is None:
        with pytest.raises(AssemblerError, match="config/unknown-key"):
            assemble("agent", ["model=echo"])
        return
    config = assemble("agent", ["model=echo"]).config
    found = {
        "name": config.name,
        "turns": config.limits.turns,
        "runner": config.runner.kind,
        "approval": config.approval.default,
    }
    assert found == {"name": "agent", "turns": 20, "runner": "sandbox", "approval": "ask", **expected}


@pytest.mark.parametrize(
    ("files", "where", "code"),
    [
        ({"conf/agent.yaml": "limits:\n  turn: 3\n"}, "conf/agent.yaml:2:3", "config/unknown-key"),
        ({"conf/agent.yaml": "name: a\nlimits: {turns: many}\n"}, "conf/agent.yaml:2:17", "config/bad-value"),
        ({"conf/agent.yaml": "# c\n\nlimts: {}\n"}, "conf/agent.yaml:3:1", "config/unknown-key"),
        (
            {"conf/agent.yaml": "skills: {decorators: {hide: {kind: filtr}}}\n"},
            "conf/agent.yaml:1:36",
            "component/unknown-kind",
        ),
        (
            {"conf/skills/units.yaml": "sources:\n  units: {kind: files, paths: [a], path: [x]}\n"},
            "conf/skills/units.yaml:2:36",
            "config/unknown-key",
        ),
        (
            {"conf/skills/units.yaml": "sources:\n  units: {kind: files}\n"},
            "conf/skills/units.yaml:2:3",
            "config/missing-key",
        ),
        (
            {"conf/agent.yaml": "approval:\n  rules:\n    x: {tools: [a], action: alow}\n"},
            "conf/agent.yaml:3:29",
            "config/bad-value",
        ),
        ({"conf/agent.yaml": "defaults: [{model: ech}]\n"}, "conf/agent.yaml:1:20", "config/unknown-option"),
        ({"conf/agent.yaml": "defaults:\n- modl: echo\n"}, "conf/agent.yaml:2:9", "config/unknown-option"),
        ({"conf/agent.yaml": "defaults: {model: echo}\n"}, "conf/agent.yaml:1:11", "config/bad-defaults"),
        ({"conf/agent.yaml": "- a\n- b\n"}, "conf/agent.yaml:1:1", "config/not-a-mapping"),
        ({"conf/agent.yaml": "name: [\n"}, "conf/agent.yaml:2:1", "config/bad-yaml"),
        ({"conf/agent.yaml": "name: a\nname: b\n"}, "conf/agent.yaml:2:1", "config/bad-yaml"),
        ({"conf/model/echo.yaml": "kind: [\n"}, "conf/model/echo.yaml:2:1", "config/bad-yaml"),
        ({"conf/model/echo.yaml": "kind: a\nkind: b\n"}, "conf/model/echo.yaml:2:1", "config/bad-yaml"),
        ({"conf/agent.yaml": "name: !!python/name:os.system\n"}, "conf/agent.yaml:1:7", "config/bad-yaml"),
        ({"conf/agent.yaml": "# @package x\nname: a\n"}, "conf/agent.yaml:1:1", "config/refused-package"),
        (
            {"conf/agent.yaml": "name: a\nhydra: {searchpath: [pkg://os]}\n"},
            "conf/agent.yaml:2:1",
            "config/refused-key",
        ),
        ({"conf/agent.yaml": "model: {_target_: os.system}\n"}, "conf/agent.yaml:1:19", "config/refused-key"),
        ({"conf/agent.yaml": "name: ${oc.env:HOME}\n"}, "conf/agent.yaml:1:7", "config/refused-variable"),
        ({"conf/agent.yaml": "name: ${nothing.here}\n"}, "conf/agent.yaml:1:7", "config/interpolation"),
        ({"conf/agent.yaml": "name: ${name}\n"}, "conf/agent.yaml:1:7", "config/interpolation"),
        ({"conf/agent.yaml": "name: ${\n"}, "conf/agent.yaml:1:7", "config/interpolation"),
        ({"conf/agent.yaml": "tools: {x: {kind: nothing}}\n"}, "conf/agent.yaml:1:19", "component/unknown-kind"),
        ({"conf/agent.yaml": "name: ''\n"}, "conf/agent.yaml:1:7", "config/bad-value"),
    ],
)
def test_a_mistake_is_told_at_its_place(project: Any, files: dict[str, str], where: str, code: str) -> None:
    project({"conf/agent.yaml": "defaults: [{model: echo}, {skills: units}, _self_]\n", **BASE, **files})
    chosen = ["model=echo", "skills=units"] if "defaults" not in files.get("conf/agent.yaml", "") else []
    with pytest.raises(AssemblerError) as caught:
        assemble("agent", chosen)
    (found,) = caught.value.diagnostics
    assert (found.code, str(found.where)) == (code, where)
    assert "\n" not in found.message
    assert "Traceback" not in str(caught.value)


def test_every_mistake_of_a_configuration_is_told(project: Any) -> None:
    project(
        {
            **BASE,
            "conf/agent.yaml": "limits: {turn: 1, turns: x}\nnme: a\napproval: {default: alow}\n",
            "conf/skills/units.yaml": "sources: {units: {kind: fils}}\n",
        }
    )
    with pytest.raises(AssemblerError) as caught:
        assemble("agent", ["model=echo", "skills=units", "strict=yes", "runner.cwd=home"])
    assert sorted((found.code, str(found.where)) for found in caught.value.diagnostics) == [
        ("component/unknown-kind", "conf/skills/units.yaml:1:25"),
        ("config/bad-value", "conf/agent.yaml:1:26"),
        ("config/bad-value", "conf/agent.yaml:3:21"),
        ("config/bad-value", "override #3 `strict=yes`"),
        ("config/bad-value", "override #4 `runner.cwd=home`"),
        ("config/unknown-key", "conf/agent.yaml:1:10"),
        ("config/unknown-key", "conf/agent.yaml:2:1"),
    ]


@pytest.mark.parametrize(
    ("conf", "code"),
    [
        ("nothing", "config/no-such-root"),
        ("", "config/no-such-root"),
        ("agent.yml", "config/bad-suffix"),
        ("sub/agent", "config/nested-root"),
        ("conf/nothing.yaml", "config/no-such-root"),
        ("a\0b", "config/no-such-root"),
        ("../../etc/passwd.yaml", "config/no-such-root"),
    ],
)
def test_a_root_that_is_not_there(echo: Path, conf: str, code: str) -> None:
    with pytest.raises(AssemblerError) as caught:
        assemble(conf)
    assert [found.code for found in caught.value.diagnostics] == [code]


def test_files_that_are_no_configuration(echo: Path) -> None:
    for data in [b"\xff\xfe\x00", b"name: caf\xe9", b"\x00", b"x" * 2_000_000]:
        (echo / "conf/agent.yaml").write_bytes(data)
        with pytest.raises(AssemblerError):
            assemble("agent")
    bomb = "z: &z {}\na: &a [x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(24)
    )
    for text in [bomb, "a: &a [*a]", "a: " + "[" * 1000 + "]" * 1000, "- *nothing", "a: " + "{a: " * 200 + "}" * 200]:
        (echo / "conf/agent.yaml").write_text(text)
        with pytest.raises(AssemblerError):
            assemble("agent")
    (echo / "conf/agent.yaml").write_text("")
    (echo / "conf/model/bomb.yaml").write_text(bomb)
    with pytest.raises(AssemblerError, match="config/too-large"):
        assemble("agent", ["model=bomb"])


@pytest.mark.parametrize("conf", ["conf/agent.yaml", "./conf/agent.yaml", "agent"])
def test_paths_resolve_against_the_project(echo: Path, monkeypatch: pytest.MonkeyPatch, conf: str) -> None:
    (echo / "conf/agent.yaml").write_text(
        "defaults: [{model: echo}, _self_]\nskills: {sources: {files: {paths: [skills]}}}\n"
    )
    (echo / "skills/a").mkdir(parents=True)
    (echo / "skills/a/SKILL.md").write_text("---\nname: a\ndescription: A.\n---\n")
    (echo / "below").mkdir()
    monkeypatch.chdir(echo / "below")
    assert assemble(f"../{conf}" if conf.endswith("yaml") else conf).run_sync("x").status == "completed"


def test_a_file_outside_of_conf_is_its_own_project(echo: Path) -> None:
    (echo / "loose").mkdir()
    (echo / "loose/mine.yaml").write_text("model: {kind: scripted, turns: {a: {text: hi}}}\n")
    assert assemble("loose/mine.yaml").run_sync("x").output_text == "hi"


def test_an_option_that_hides_a_preset_is_told(echo: Path) -> None:
    (echo / "conf/approval").mkdir()
    (echo / "conf/approval/unattended.yaml").write_text("default: ask\n")
    agent = assemble("agent", ["approval=unattended"])
    assert [found.code for found in agent.diagnostics] == ["config/shadowed-preset"]
    assert agent.config.approval.default == "ask"


def test_a_key_without_a_value_is_told(echo: Path) -> None:
    (echo / "conf/agent.yaml").write_text("defaults: [{model: echo}, _self_]\nskills:\n  decorators:\n    dedupe:\n")
    agent = assemble("agent")
    assert [(found.code, str(found.where)) for found in agent.diagnostics] == [
        ("config/empty-value", "conf/agent.yaml:4:5")
    ]
    assert agent.config.skills.decorators == {}


def test_composing_inside_another_hydra_application(echo: Path) -> None:
    from hydra import __version__, compose, initialize_config_dir

    base: dict[str, Any] = {} if __version__ >= "1.4" else {"version_base": None}
    with initialize_config_dir(str(echo / "conf/model"), **base):
        assert assemble("agent").config.name == "agent"
        assert compose("echo").kind == "scripted"
