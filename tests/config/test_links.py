"""Links, devices and large folders: what lies among the options without being one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from assembler import AssemblerError, assemble
from assembler.errors import Diagnostic

MODEL = "kind: scripted\nturns: {echo: {text: hello}}\n"
BASE = {"conf/agent.yaml": "defaults: [{model: echo}, _self_]\n", "conf/model/echo.yaml": MODEL}


def told(*overrides: str) -> list[Diagnostic]:
    with pytest.raises(AssemblerError) as caught:
        assemble("agent", overrides)
    return list(caught.value.diagnostics)


def links(folder: Path) -> None:
    (folder / "outside/group").mkdir(parents=True)
    (folder / "outside/group/x.yaml").write_text("kind: scripted\nturns: {a: {text: outside}}\n")
    (folder / "outside/root.yaml").write_text("name: outside\n")
    (folder / "conf/model/linked.yaml").symlink_to(folder / "outside/group/x.yaml")
    (folder / "conf/tools").symlink_to(folder / "outside/group")
    (folder / "conf/linked.yaml").symlink_to(folder / "outside/root.yaml")
    (folder / "conf/model/inside.yaml").symlink_to("echo.yaml")
    (folder / "conf/model/broken.yaml").symlink_to("nothing.yaml")
    (folder / "conf/model/folder.yaml").mkdir()


@pytest.mark.parametrize(
    ("root", "overrides", "expected"),
    [
        ("", ["model=linked"], ("config/link-refused", "override #1 `model=linked`")),
        ("defaults: [{model: linked}]\n", [], ("config/link-refused", "conf/agent.yaml:1:20")),
        ("defaults: [{model: echo}, {tools: x}]\n", [], ("config/link-refused", "conf/agent.yaml:1:35")),
        ("defaults: [linked]\n", ["model=echo"], ("config/link-refused", "conf/agent.yaml:1:12")),
        ("", ["model=broken"], ("config/unknown-option", "override #1 `model=broken`")),
        ("", ["model=folder"], ("config/unknown-option", "override #1 `model=folder`")),
        ("defaults: [{model: ../../outside/group/x}]\n", [], ("config/bad-defaults", "conf/agent.yaml:1:20")),
        ("defaults: [{model: '../../outside/group/x y'}]\n", [], ("config/bad-defaults", "conf/agent.yaml:1:20")),
        ("defaults: [../outside/root]\n", ["model=echo"], ("config/bad-defaults", "conf/agent.yaml:1:12")),
        ("defaults: [{/../outside/group: x}]\n", ["model=echo"], ("config/bad-defaults", "conf/agent.yaml:1:13")),
    ],
)
def test_nothing_outside_of_conf_is_read(
    project: Any, root: str, overrides: list[str], expected: tuple[str, str]
) -> None:
    links(project({**BASE, "conf/agent.yaml": root}))
    assert [(found.code, str(found.where)) for found in told(*overrides)] == [expected]


def test_a_link_within_conf_is_followed_and_one_out_of_it_is_told(project: Any) -> None:
    links(project(BASE))
    agent = assemble("agent", ["model=inside"])
    assert [(found.code, found.severity, str(found.where)) for found in agent.diagnostics] == [
        ("config/link-refused", "warning", "conf/model/linked.yaml"),
        ("config/link-refused", "warning", "conf/tools"),
    ]
    with pytest.raises(AssemblerError, match="config/link-refused"):
        assemble("linked")


def test_a_linked_group_within_conf_and_a_loop(project: Any) -> None:
    folder: Path = project({**BASE, "conf/shared/fast.yaml": MODEL})
    os.symlink("../shared", folder / "conf/model/more")  # noqa: PTH211
    os.symlink("..", folder / "conf/shared/loop")  # noqa: PTH211
    assert assemble("agent", ["model=more/fast"]).config.model.kind == "scripted"


def test_nothing_is_opened_that_is_not_chosen(project: Any) -> None:
    folder: Path = project(BASE)
    os.mkfifo(folder / "conf/model/pipe.yaml")
    (folder / "conf/model/endless.yaml").symlink_to("/dev/zero")
    (folder / "conf/model/large.yaml").write_text("x: " + "y" * 2_000_000)
    (folder / "conf/model/broken.yaml").write_text("[")
    assert assemble("agent").config.model.kind == "scripted"
    expected = {
        "pipe": "config/unknown-option",
        "endless": "config/unknown-option",
        "large": "config/too-large",
        "broken": "config/bad-yaml",
    }
    assert {option: told(f"model={option}")[0].code for option in expected} == expected


def test_a_root_at_the_top_of_a_repository_does_not_read_the_repository(project: Any) -> None:
    files = {f"data/{n % 7}/{n}/deep/er/{n}.yaml": "x: [" for n in range(300)}
    folder: Path = project({**files, "top.yaml": "defaults: [{model: echo}]\n", "model/echo.yaml": MODEL})
    (folder / ".hidden").mkdir()
    (folder / ".hidden/x.yaml").write_text("[")
    assert assemble("top.yaml").config.name == "top"
    with pytest.raises(AssemblerError, match="there is no key `hidden`"):
        assemble("top.yaml", ["hidden=x"])
    for n in range(2_100):
        (folder / "data" / f"{n}.txt").touch()
    (found,) = assemble("top.yaml").diagnostics
    assert (found.code, found.severity) == ("config/too-large", "warning")
