"""What a configuration may not do: read the environment, import code, leave its folder, hold or show a secret."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from packaging.version import Version

from assembler import AssemblerError, assemble
from assembler.errors import Diagnostic
from assembler.secret import Secret

MODEL = "kind: scripted\nturns: {echo: {text: hello}}\n"
OPENAI = "kind: openai\nname: gpt\n"
BASE = {
    "conf/agent.yaml": "defaults: [{model: echo}, _self_]\n",
    "conf/model/echo.yaml": MODEL,
    "conf/model/api.yaml": OPENAI,
}
MODERN = Version(version("hydra-core")) >= Version("1.4.0.dev0")
"""Hydra 1.4 and OmegaConf 2.4, which warn about what their predecessors need."""
BASE_1_2: dict[str, Any] = {} if MODERN else {"version_base": "1.2"}
READ_BY_NOBODY = "the value that nobody may read"


def told(*overrides: str, conf: str = "agent") -> list[Diagnostic]:
    with pytest.raises(AssemblerError) as caught:
        assemble(conf, overrides)
    assert READ_BY_NOBODY not in str(caught.value)
    return list(caught.value.diagnostics)


@pytest.mark.parametrize(
    ("root", "codes"),
    [
        ("variables: {x: env, y: '${oc.${variables.x}:TOPSECRET}'}\n", {"config/refused-resolver"}),
        ("variables: {y: '\\\\${oc.env:TOPSECRET}'}\n", {"config/refused-variable"}),
        ("variables: {y: '\\\\\\\\${oc.env:TOPSECRET}'}\n", {"config/refused-variable"}),
        (
            "variables: {a: '\\${oc.env:TOP', b: 'SECRET}', y: '${oc.decode:${variables.a}${variables.b}}'}\n",
            {"config/refused-resolver"},
        ),
        (
            "variables: {a: '\\${oc.env:TOPSECRET}', y: '${oc.create:{k: ${variables.a}}}'}\n",
            {"config/refused-resolver"},
        ),
        ("variables: {y: '${oc.env:${name}}'}\n", {"config/refused-variable"}),
        ("variables: {y: '${oc.env:TOP${name}}'}\n", {"config/refused-variable"}),
        ("variables: {y: \"${oc.env:'TOPSECRET'}\"}\n", {"config/refused-variable"}),
        ("variables: {y: '${oc.env:}'}\n", {"config/refused-variable"}),
        ("variables: {y: '${oc.select:x,\"${oc.env:TOPSECRET}\"}'}\n", {"config/refused-variable"}),
        ("variables: {y: '${oc.select:[a, {b: ${oc.env:TOPSECRET}}]}'}\n", {"config/refused-variable"}),
        (
            "variables: {y: '${oc.env:ALLOWED,${oc.env:TOPSECRET}}'}\nallow_env: {ALLOWED: true}\n",
            {"config/refused-variable"},
        ),
        ("variables: {y: '${oc.env:TOPSECRET}'}\nallow_env: {TOPSECRET: false}\n", {"config/refused-variable"}),
        (
            "variables: {y: '${oc.env:TOPSECRET}', z: true}\nallow_env: {TOPSECRET: '${variables.z}'}\n",
            {"config/refused-variable"},
        ),
        ("variables: {y: '${hydra:runtime.cwd}'}\n", {"config/refused-resolver"}),
        ("variables: {y: '${now:%Y}'}\n", {"config/refused-resolver"}),
    ],
)
def test_no_text_reads_a_variable_that_is_not_allowed(
    project: Any, monkeypatch: pytest.MonkeyPatch, root: str, codes: set[str]
) -> None:
    monkeypatch.setenv("TOPSECRET", READ_BY_NOBODY)
    project({**BASE, "conf/agent.yaml": BASE["conf/agent.yaml"] + root})
    assert {found.code for found in told()} == codes


PIECES = st.sampled_from(
    [
        "oc.env:TOPSECRET",
        "oc.env:",
        "TOPSECRET",
        "oc.select:",
        "a",
        "b",
        "\\",
        "'",
        '"',
        ",",
        ":",
        "[",
        "{",
        "}",
        "TOP",
        " ",
    ]
)
TEXTS = st.recursive(
    PIECES, lambda inner: st.lists(inner, max_size=5).map(lambda parts: "${" + "".join(parts) + "}"), max_leaves=9
)


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(TEXTS, TEXTS, TEXTS)
def test_no_text_at_all_reads_a_variable(a: str, b: str, c: str) -> None:
    from omegaconf import OmegaConf
    from omegaconf.errors import GrammarParseError

    from assembler.config.interpolation import resolve

    try:
        config = OmegaConf.create({"a": a, "b": b, "c": c, "x": "env"})
    except GrammarParseError:
        reject()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOPSECRET", READ_BY_NOBODY)
        patch.setenv("TOP", READ_BY_NOBODY)
        resolved = resolve(cast("Any", OmegaConf.to_container(config)), reads_variables=True)
    assert READ_BY_NOBODY not in f"{resolved.data}{resolved.problems}"


def test_escaped_text_is_text(project: Any) -> None:
    root = "variables: {a: '\\${oc.env:HOME}', b: 'costs $5 {x}'}\n"
    project({**BASE, "conf/agent.yaml": BASE["conf/agent.yaml"] + root})
    assert assemble("agent").config.variables == {"a": "${oc.env:HOME}", "b": "costs $5 {x}"}


@pytest.mark.parametrize(
    ("files", "where"),
    [
        ({"conf/agent.yaml": 'defaults: [{model: "${oc.env:TOPSECRET}"}]\n'}, "conf/agent.yaml:1:20"),
        ({"conf/agent.yaml": 'defaults: ["${oc.env:TOPSECRET}"]\n'}, "conf/agent.yaml:1:12"),
        ({"conf/agent.yaml": 'defaults: [{"${oc.env:TOPSECRET}": x}]\n'}, "conf/agent.yaml:1:13"),
        ({"conf/agent.yaml": 'defaults: [{skills: [a, "${oc.env:TOPSECRET}"]}]\n'}, "conf/agent.yaml:1:25"),
        ({"conf/model/echo.yaml": 'defaults: ["x${oc.env:TOPSECRET}"]\n' + MODEL}, "conf/model/echo.yaml:1:12"),
        (
            {"conf/agent.yaml": "defaults: [base]\n", "conf/base.yaml": 'defaults: [{env: "${eval:1}"}]\n'},
            "conf/base.yaml:1:18",
        ),
    ],
)
def test_a_defaults_list_reads_nothing(
    project: Any, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], where: str
) -> None:
    monkeypatch.setenv("TOPSECRET", READ_BY_NOBODY)
    project({**BASE, **files})
    found = told() if "model/echo" in str(files) else told("model=echo")
    assert [(each.code, str(each.where)) for each in found] == [("config/refused-resolver", where)]


@pytest.mark.parametrize(
    ("files", "overrides", "where"),
    [
        ({"conf/agent.yaml": "defaults: [{hydra/job_logging: x}]\n"}, [], "conf/agent.yaml:1:13"),
        ({"conf/agent.yaml": "defaults: [{override /hydra/job_logging: x}]\n"}, [], "conf/agent.yaml:1:13"),
        ({"conf/agent.yaml": "defaults: [{env@hydra: x}]\n"}, [], "conf/agent.yaml:1:13"),
        ({"conf/agent.yaml": "defaults: ['env@_global_.hydra': x]\n"}, [], "conf/agent.yaml:1:12"),
        ({"conf/agent.yaml": "defaults: [hydra/x]\n"}, [], "conf/agent.yaml:1:12"),
        (
            {"conf/env/x.yaml": "# @package _global_\nhydra: {job: {env_copy: [HOME]}}\n"},
            ["env=x"],
            "conf/env/x.yaml:2:1",
        ),
        ({"conf/env/x.yaml": "# @package hydra.job\nenv_copy: [HOME]\n"}, ["env=x"], "conf/env/x.yaml:1:1"),
        ({}, ["+env@hydra.job=x"], "override #2 `+env@hydra.job=x`"),
    ],
)
def test_hydra_itself_is_not_a_configurations_to_change(
    project: Any, files: dict[str, str], overrides: list[str], where: str
) -> None:
    project({**BASE, "conf/hydra/job_logging/x.yaml": "", "conf/hydra/x.yaml": "", "conf/env/x.yaml": "", **files})
    assert [(each.code, str(each.where)) for each in told("model=echo", *overrides)] == [("config/refused-key", where)]


def test_a_defaults_list_may_name_another_choice(project: Any) -> None:
    root = "defaults: [{model: echo}, {skills: '${model}'}, _self_]\n"
    project({**BASE, "conf/agent.yaml": root, "conf/skills/echo.yaml": "sources: {e: {kind: files, paths: [s]}}\n"})
    assert list(assemble("agent").config.skills.sources) == ["e"]
    root = "defaults: [{model: echo}, {skills: '${model}s'}, _self_]\n"
    project({"conf/agent.yaml": root})
    assert [(each.code, str(each.where)) for each in told()] == [("config/unknown-option", "conf/agent.yaml:1:28")]


def test_a_resolver_of_the_host_is_neither_called_nor_lost(project: Any) -> None:
    from omegaconf import OmegaConf

    called: list[str] = []

    def host(*given: str) -> str:
        called.append(str(given))
        return "of the host"

    register = getattr(OmegaConf, "register_resolver" if MODERN else "register_new_resolver")
    names = ("eval", "secret", "oc.select")
    old = {name: OmegaConf.has_resolver(name) for name in names}
    for name in names:
        register(name, host, replace=True)
    try:
        project({**BASE, "conf/agent.yaml": "defaults: [{model: api}, _self_]\nlimits: ${eval:1}\n"})
        assert {each.code for each in told()} == {"config/refused-resolver"}
        assert assemble("agent", ["limits.turns=3"]).config.limits.turns == 3
        project({"conf/agent.yaml": "defaults: [{model: api}, _self_]\n"})
        model: Any = assemble("agent", ["model.api_key='${secret:env,K}'", "allow_env.K=true"]).config.model
        assert str(model.api_key) == "secret://env/K"
        assert called == []
        assert OmegaConf.create({"x": "${secret:a}"}).x == "of the host"
    finally:
        for name in names:
            OmegaConf.clear_resolver(name)
        assert not any(OmegaConf.has_resolver(name) for name in names)
        if old["oc.select"]:
            OmegaConf.clear_resolvers()


def test_no_plug_in_is_imported_and_a_host_still_finds_its_own(project: Any, run_python: Any) -> None:
    folder: Path = project(
        {**BASE, "hydra_plugins/evil/__init__.py": "import pathlib\npathlib.Path('imported').touch()\n"}
    )
    program = f"""
import os, sys
sys.path.insert(0, "")
os.chdir({str(folder)!r})
from assembler import assemble
assemble("agent", ["limits.turns=3"])
print(os.path.exists("imported"), "hydra_plugins" in sys.modules)
from hydra.core.plugins import Plugins
Plugins.instance()
print(os.path.exists("imported"))
"""
    assert run_python(program).split() == ["False", "False", "True"]


def test_a_host_application_keeps_its_version_base_and_configuration(project: Any) -> None:
    from hydra import compose, initialize_config_dir
    from hydra.core.singleton import Singleton
    from hydra.version import getbase

    folder: Path = project(BASE)
    with initialize_config_dir(str(folder / "conf/model"), **BASE_1_2):
        base, instances = getbase(), dict(Singleton._instances)
        assemble("agent", ["limits.turns=3"])
        assert getbase() == base
        assert Singleton._instances == instances
        assert compose("echo").kind == "scripted"


@pytest.mark.parametrize(
    ("root", "where", "code"),
    [
        ("instructions: 'x ${secret:env,K}'\n", "conf/agent.yaml:2:15", "secret/misplaced"),
        ("description: secret://env/K\n", "conf/agent.yaml:2:14", "secret/misplaced"),
        ("variables: {a: {b: ['${secret:env,K}']}}\n", "conf/agent.yaml:2:21", "secret/misplaced"),
        ("limits: {turns: '${secret:env,K}'}\n", "conf/agent.yaml:2:17", "secret/misplaced"),
        (
            "skills: {sources: {s: {kind: files, paths: ['${secret:env,K}']}}}\n",
            "conf/agent.yaml:2:45",
            "secret/misplaced",
        ),
        ("model: {api_key: '${secret:file,key.txt}'}\n", "conf/agent.yaml:2:18", "secret/relative-file"),
        ("model: {api_key: '${secret:env,A}${secret:env,B}x'}\n", "conf/agent.yaml:2:18", "secret/joined"),
        ("model: {api_key: 'x${secret:file,/a}.b'}\n", "conf/agent.yaml:2:18", "secret/joined"),
        ("model: {api_key: literal}\n", "conf/agent.yaml:2:18", "secret/literal"),
        ("model: {api_key: '${secret:vault,x}'}\n", "conf/agent.yaml:2:18", "config/interpolation"),
    ],
)
def test_a_secret_out_of_place(project: Any, root: str, where: str, code: str) -> None:
    project({**BASE, "conf/agent.yaml": "defaults: [{model: api}, _self_]\n" + root})
    (found,) = told()
    assert (found.code, str(found.where)) == (code, where)
    assert "{{" not in f"{found.message}{found.hint}"


@pytest.mark.parametrize(
    ("text", "references", "revealed"),
    [
        ("Basic ${secret:env,U}:${secret:env,P}", ("env/U", "env/P"), "Basic user:pass"),
        ("${secret:env,U};v=2", ("env/U",), "user;v=2"),
        ("${secret:env,U}.", ("env/U",), "user."),
        ("${secret:env,U}/${secret:env,P}", ("env/U", "env/P"), "user/pass"),
        ("'${secret:env,U}'", ("env/U",), "'user'"),
        ('${secret:file,"FOLDER/a b;c.txt"}', ("file/FOLDER/a b;c.txt",), "from the file"),
        ('Bearer ${secret:file,"FOLDER/a b;c.txt"} (${secret:env,U})', ("file/FOLDER/a b;c.txt", "env/U"), None),
    ],
)
def test_secrets_within_a_text(
    project: Any, monkeypatch: pytest.MonkeyPatch, text: str, references: tuple[str, ...], revealed: str | None
) -> None:
    monkeypatch.setenv("U", "user")
    monkeypatch.setenv("P", "pass")
    folder = str(project({**BASE, "a b;c.txt": "from the file\n"}))
    written = text.replace("FOLDER", folder).replace("'", "''")
    allowed = "allow_env: {U: true, P: true}"
    project({"conf/agent.yaml": f"defaults: [{{model: api}}, _self_]\nmodel: {{api_key: '{written}'}}\n{allowed}\n"})
    model: Any = assemble("agent").config.model
    key: Secret = model.api_key
    assert key.references == tuple(each.replace("FOLDER", folder) for each in references)
    assert key.reveal() == (revealed or "Bearer from the file (user)")
    assert Secret(str(key)) == key


@pytest.mark.parametrize(
    ("override", "shown"),
    [
        ("model.api_key=sk-abcdef", "override #1 `model.api_key=***`"),
        ("model={kind: openai, name: x, api_key: sk-abcdef}", "override #1 `model=***`"),
        ("~model.api_key=sk-abcdef", "override #1 `~model.api_key=***`"),
        ("model.headers.X=sk-abcdef", "override #1 `model.headers.X=***`"),
        ("+model.api_key=sk-abcdef=", "override #1 `+model.api_key=***`"),
        ("model.password=[sk-abcdef", "override #1 `model.password=***`"),
        ("limits.turns=" + "x" * 200, "override #1 `limits.turns=" + "x" * 46 + "\u2026`"),
        ("runner=sandbx", "override #1 `runner=sandbx`"),
        ("strict=sometimes", "override #1 `strict=sometimes`"),
    ],
)
def test_a_typed_secret_is_not_repeated(project: Any, override: str, shown: str) -> None:
    project({**BASE, "conf/agent.yaml": "defaults: [{model: api}, _self_]\n"})
    found = told(override)
    assert {str(each.where) for each in found} == {shown}
    assert "sk-abcdef" not in "".join(str(each) for each in found)
