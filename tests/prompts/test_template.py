"""Templates: strict about variables, and over JSON values only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from assembler.errors import AssemblerError
from assembler.prompts.template import render


class Harmless(BaseModel):
    """A model whose methods read and run things."""

    name: str = "x"


VALUES: dict[str, Any] = {
    "name": "Ann",
    "list": [1, 2],
    "map": {"key": "v"},
    "path": Path("/etc/passwd"),
    "model": Harmless(),
}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("plain {text}", "plain {text}"),
        ("{{ name | upper }}", "ANN"),
        ("{{ map.key }}{{ map['key'] }}", "vv"),
        ("{% for n in list %}{{ loop.index }}:{{ n }} {% endfor %}", "1:1 2:2 "),
        ("{{ name.upper() }}", "ANN"),
        ("{% set ns = namespace(n=0) %}{% set ns.n = 2 %}{{ ns.n }}", "2"),
        ("{{ path }}", "/etc/passwd"),
        ("{{ model.name }}", "x"),
        ("{# a comment #}done", "done"),
    ],
)
def test_rendering(source: str, expected: str) -> None:
    assert render(source, VALUES, what="it") == expected


@pytest.mark.parametrize(
    "source",
    [
        "{{ nothing }}",
        "{{ name",
        "{% if %}",
        "{{ path.read_text() }}",
        "{{ model.model_dump() }}",
        "{{ model.parse_raw('x') }}",
        "{{ name.__class__.__mro__ }}",
        "{{ ''.__class__.__base__.__subclasses__() }}",
        "{{ list.append(3) }}",
        "{{ self.__init__.__globals__ }}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ lipsum.__globals__['os'].popen('id') }}",
        "{% include 'other' %}",
        "{% import 'os' as os %}",
        "{{ 1 / 0 }}",
        "{{ [] | first | upper }}",
        "{{ 'x' * 100000000 }}",
        "{% for a in range(99999) %}{{ 'x' * 99999 }}{% endfor %}",
    ],
)
def test_what_a_template_may_not_do_is_a_diagnostic(source: str) -> None:
    with pytest.raises(AssemblerError) as caught:
        render(source, VALUES, what="the prompt")
    (found,) = caught.value.diagnostics
    assert found.code == "prompt/bad-template"
    assert "the prompt" in found.message


def test_an_undeclared_variable_names_those_that_exist() -> None:
    with pytest.raises(AssemblerError, match="`list`, `map`, `model`, `name`, `path`"):
        render("{{ nothing }}", VALUES, what="it")


def test_values_are_not_evaluated_again() -> None:
    assert render("{{ name }}", {"name": "{{ 7 * 7 }}${oc.env:HOME}"}, what="it") == "{{ 7 * 7 }}${oc.env:HOME}"
