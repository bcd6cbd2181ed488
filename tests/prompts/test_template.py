"""Templates: strict about variables, and over JSON values only."""

from __future__ import annotations

import time
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
        ("{% for k, v in map.items() %}{{ k }}={{ v }}{% endfor %}", "key=v"),
        ("{% for n in list if n > 1 %}{{ n }}{{ loop.last }}{% else %}none{% endfor %}", "2True"),
        ("{% for n in range(3) %}{{ loop.cycle('a', 'b') }}{% endfor %}", "aba"),
        ("{% macro li(x) %}- {{ x }}{{ caller() if caller is defined }}{% endmacro %}{{ li(1) }}", "- 1"),
        ("{% macro li() %}<{{ caller() }}>{% endmacro %}{% call li() %}in{% endcall %}", "<in>"),
        ("{% set text %}{{ name }}!{% endset %}{{ text | upper }}", "ANN!"),
        ("{% filter upper %}{{ name }}{% endfilter %}", "ANN"),
        ("{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}", "3"),
        ("{{ list | map('string') | join(', ') }}", "1, 2"),
        ("{{ ', '.join(list | map('string')) }}", "1, 2"),
        ("{{ [{'a': 1}, {'a': 2}] | selectattr('a', 'eq', 2) | map(attribute='a') | list }}", "[2]"),
        ("{{ {'a': [1]} | tojson(indent=2) }}", '{\n  "a": [\n    1\n  ]\n}'),
        ("{{ '%.2f' | format(3.14159) }} {{ '%05d' % 7 }}", "3.14 00007"),
        ("{{ 'ab' * 3 }}{{ 2 ** 10 }}{{ 7 // 2 }}{{ -(7 % 4) }}{{ 1 / 4 }}", "ababab10243-30.25"),
        ("{{ 'a\nb' | indent(2) }}|{{ 'x' | center(3) }}|{{ 'aXa' | replace('a', 'b') }}", "a\n  b| x |bXb"),
        ("{{ list[:1] }}{{ list[-1] }}{{ 1 in list }}{{ name ~ list }}", "[1]2TrueAnn[1, 2]"),
        ("{{ list | sum }}{{ list | sort(reverse=true) }}{{ list | batch(1) | list }}", "3[2, 1][[1], [2]]"),
        ("{{ missing is defined }}{{ missing | default('d') }}{{ name is in [name] }}", "FalsedTrue"),
        ("{{ 'caf\ud800' }}", "caf\ufffd"),
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
        "{{ name | sum }}",
        "{{ 3 | upper | first | abs }}",
        "{{ [1] | map(attribute='a') | map('upper') | list }}",
        "{% for n in 3 %}{% endfor %}",
        "{{ list | attr('append') }}",
        "{{ 'x'.format(1) }}",
        "{{ ('%(a)s' * 2) | format(a=1) }}",
        "{{ namespace(a=1) }}",
        "{{ self }}",
        "{{ loop }}",
        "{% extends 'other' %}",
        "{% block a %}{{ self.a() }}{% endblock %}",
        "{% for a in list recursive %}{{ loop(a) }}{% endfor %}",
        "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}",
        "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
        "{{ 1" + " + 1" * 5000 + " }}",
        "{% if 1 %}" * 200 + "{% endif %}" * 200,
        "{% for a in [1] %}" * 30 + "{% endfor %}" * 30,
        "{{ name }}" + "x" * 300_000,
    ],
)
def test_what_a_template_may_not_do_is_a_diagnostic(source: str) -> None:
    with pytest.raises(AssemblerError) as caught:
        render(source, VALUES, what="the prompt")
    (found,) = caught.value.diagnostics
    assert found.code == "prompt/bad-template"
    assert "the prompt" in found.message


@pytest.mark.parametrize("value", [float("nan"), [object()], lambda: None, {1: 2}])
def test_a_variable_without_a_json_form_is_a_diagnostic(value: object) -> None:
    with pytest.raises(AssemblerError, match="prompt/bad-template"):
        render("{{ a }}", {"a": value}, what="it")


DOUBLED = "{% set ns = namespace(x=START) %}{% for i in range(60) %}{% set ns.x = STEP %}{% endfor %}{{ ns.x }}"
NESTED = "{% for a in range(9999) %}" * 3 + "BODY" + "{% endfor %}" * 3


@pytest.mark.parametrize(
    "source",
    [
        NESTED.replace("BODY", ""),
        NESTED.replace("BODY", "{% set x = 1 %}"),
        "{% for a in range(99999) %}{% for b in range(99999) if false %}{% endfor %}{% endfor %}",
        "{% for a in range(9999) %}{% if " + "1 and " * 9999 + "1 %}{% endif %}{% endfor %}",
        "{% set x %}{% for a in range(99999) %}" + "text" * 9999 + "{% endfor %}{% endset %}",
        "{% set x %}{% for a in range(99999) %}{{ 'a' | center(9999) }}{% endfor %}{% endset %}",
        "{% for a in range(99999) %}{% set x = [" + "1, " * 9999 + "] %}{% endfor %}",
        "{% for a in range(99999) %}{% set x = big[1:] %}{% endfor %}",
        "{% for a in range(99999) %}{% set x = big ~ 'a' %}{% endfor %}",
        "{% for a in range(99999) %}{% set x = big == big ~ '' %}{% endfor %}",
        "{% for a in range(99999) %}{% set x = big | upper %}{% endfor %}",
        "{% for a in range(99999) %}{% set x = big.upper() %}{% endfor %}",
        "{% for a in range(99999) %}{% set x = 'b' in big %}{% endfor %}",
        "{% for a in range(99999) %}{% set x = big is upper %}{% endfor %}",
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(99) }}",
        DOUBLED.replace("START", "'a'").replace("STEP", "ns.x ~ ns.x"),
        DOUBLED.replace("START", "'a'").replace("STEP", "ns.x + ns.x"),
        DOUBLED.replace("START", "[1]").replace("STEP", "ns.x + ns.x"),
        DOUBLED.replace("START", "[1]").replace("STEP", "[ns.x, ns.x]"),
        DOUBLED.replace("START", "[1]").replace("STEP", "{'a': ns.x, 'b': ns.x}"),
        DOUBLED.replace("START", "'aa'").replace("STEP", "ns.x.replace('a', ns.x)"),
        DOUBLED.replace("START", "'aa'").replace("STEP", "ns.x | replace(new=ns.x, old='a')"),
        DOUBLED.replace("START", "'aa'").replace("STEP", "ns.x.join(ns.x)"),
        DOUBLED.replace("START", "'aa'").replace("STEP", "ns.x | join(ns.x)"),
        DOUBLED.replace("START", "'a\n'").replace("STEP", "ns.x | indent(ns.x, true, true)"),
        DOUBLED.replace("START", "3").replace("STEP", "ns.x * ns.x"),
        "{{ 'a' * 10 ** 9 }}",
        "{{ [1] * 10 ** 9 }}",
        "{{ 10 ** 9 * 'a' }}",
        "{{ 10 ** (10 ** 10) }}",
        "{{ 2 ** -99999999999 }}",
        "{{ '%999999999d' % 1 }}",
        "{{ '%.999999999f' % 1 }}",
        "{{ '%*d' % (999999999, 1) }}",
        "{{ '%((a))999999999d' % {'(a)': 1} }}",
        "{{ '%999999999d' | format(1) }}",
        "{{ 'a' | center(10 ** 9) }}",
        "{{ ['a'] | map('center', 10 ** 9) | first }}",
        "{{ 'a'.ljust(10 ** 9) }}",
        "{{ 'a'.zfill(10 ** 9) }}",
        "{{ '\t'.expandtabs(10 ** 9) }}",
        "{{ '{:999999999}'.format(1) }}",
        "{{ 'a\n' * 1000 | indent(10 ** 9) }}",
        "{{ [1] | tojson(indent=10 ** 9) }}",
        "{{ [1] | batch(10 ** 9, 'x') | list }}",
        "{{ [1] | slice(10 ** 9) | list }}",
        "{{ 1.5 | round(10 ** 9, 'ceil') }}",
        "{{ [[1]] * 99999 | sum(start=[]) }}",
        "{{ lipsum(n=10 ** 6) }}",
        "{{ range(10 ** 9) | list }}",
        "{{ big | wordwrap(1) }}",
    ],
)
def test_what_would_take_too_long_or_too_much_is_refused(source: str) -> None:
    started = time.process_time()
    with pytest.raises(AssemblerError, match="prompt/bad-template"):
        render(source, {"big": "a" * 200_000}, what="it")
    assert time.process_time() - started < 10


def test_an_undeclared_variable_names_those_that_exist() -> None:
    with pytest.raises(AssemblerError, match="`list`, `map`, `model`, `name`, `path`"):
        render("{{ nothing }}", VALUES, what="it")


def test_values_are_not_evaluated_again() -> None:
    assert render("{{ name }}", {"name": "{{ 7 * 7 }}${oc.env:HOME}"}, what="it") == "{{ 7 * 7 }}${oc.env:HOME}"
