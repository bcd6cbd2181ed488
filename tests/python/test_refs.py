"""Python objects named from YAML: what is imported, what is refused, and what a refusal imports."""

from __future__ import annotations

import importlib
import os
import py_compile
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from pydantic import ValidationError
from tests.python.importable import importable, key, trusting, write

from assembler.components import Config
from assembler.errors import AssemblerError, Diagnostic
from assembler.python.refs import Function, FunctionRef, PythonRef, load

PKG = {
    "pkg/__init__.py": """\
        import functools, pathlib, sys
        from os import system
        from pathlib import Path
        from subprocess import Popen
        import xml.dom as dom

        LOADED = True
        HERE = pathlib.Path()
        run = functools.partial(system, "true")
        join = "".join
        upper = str.upper

        def shout(text): return text.upper()
        def _hidden(): ...

        class Greeter:
            def __call__(self, name): return f"hello {name}"
            def greet(self, name): return f"hi {name}"

        greeter = Greeter()
        greet = greeter.greet
        cached = functools.cache(shout)

        @functools.wraps(system)
        def disguised(*args): ...
        """,
    "pkg/sub.py": """\
        import os
        from pkg import shout
        from helper import helped

        class Sub: ...
        """,
    "helper.py": "def helped(text): return text\n",
}

Packages = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def packages(tmp_path: Path) -> Generator[Packages]:
    """Puts modules on Python's path."""
    entered: list[Any] = []

    def add(files: Mapping[str, str]) -> Path:
        entered.append(importable(tmp_path / "project", files))
        return entered[-1].__enter__()

    yield add
    for each in reversed(entered):
        each.__exit__(None, None, None)


@pytest.fixture
def pkg(packages: Packages) -> Path:
    return packages(PKG)


class Whole(Config):
    ref: PythonRef | None = None
    other: PythonRef | None = None
    function: Function | None = None
    named: dict[str, PythonRef] = {}
    listed: list[PythonRef] = []
    pair: tuple[PythonRef, ...] = ()
    plain: Config = Config()


def loaded(target: str, *modules: str) -> Any:
    return load(PythonRef(target=target), is_trusted=trusting(*modules), where=key).loaded


def refusal(target: str, *modules: str, kind: type[PythonRef] = PythonRef) -> Diagnostic:
    with pytest.raises(AssemblerError) as caught:
        load(kind(target=target), is_trusted=trusting(*modules), where=key)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.where == key(("target",))
    return diagnostic


@pytest.mark.parametrize("target", ["package:Name", "package.module:Name", "a.b.c_d:e_1"])
def test_a_target_is_one_attribute_of_one_module(target: str) -> None:
    assert PythonRef(target=target).target == target


@pytest.mark.parametrize(
    "target",
    [
        *("os.system", "a:b.c", "a.b:", ":c", "a b:c", "../a:b", "a..b:c", ".a:b", "a:b:c", "1a:b", "a:b\n", ""),
        *("pkg:_hidden", "_pkg:name", "pkg._sub:name", "pkg:__doc__", "__main__:name", "pkg.__init__:name"),
    ],
)
def test_nothing_else_is_a_target(target: str) -> None:
    with pytest.raises(ValidationError) as caught:
        PythonRef(target=target)
    assert [(error["type"], error["loc"]) for error in caught.value.errors()] == [("component/bad-target", ("target",))]


def test_the_object_cannot_be_given_from_yaml() -> None:
    with pytest.raises(ValidationError):
        PythonRef.model_validate({"target": "a:b", "_kept": [7]})


def test_loading_gives_a_copy_that_dumps_the_same(pkg: Path) -> None:
    target = {"target": "pkg:shout"}
    given = Whole.model_validate(
        {"ref": target, "named": {"a": target}, "listed": [target], "pair": [target], "function": target}
    )
    config = load(given, is_trusted=trusting("pkg"), where=key)
    shout = sys.modules["pkg"].shout
    refs = [config.ref, config.named["a"], config.listed[0], config.pair[0], config.function]
    assert all(ref is not None and ref.loaded is shout for ref in refs)
    assert config.model_dump(mode="json") == given.model_dump(mode="json")
    assert config.plain is given.plain
    assert given.ref is not None
    assert not given.ref.is_loaded
    with pytest.raises(AssemblerError) as caught:
        given.ref.loaded  # noqa: B018
    assert caught.value.diagnostics[0].code == "python/not-loaded"


def test_what_names_nothing_is_not_even_copied() -> None:
    config = Whole(plain=Config())
    assert load(config, is_trusted=trusting(), where=key) is config


def test_every_problem_is_told_at_its_place(pkg: Path) -> None:
    config = Whole.model_validate(
        {
            "ref": {"target": "os:getcwd"},
            "named": {"a": {"target": "pkg:shot"}, "b": {"target": "pkg:shout"}},
            "listed": [{"target": "pkg:LOADED"}, {"target": "pkg.sob:Sub"}],
        }
    )
    with pytest.raises(AssemblerError) as caught:
        load(config, is_trusted=trusting("pkg"), where=key)
    assert [(str(each.where), each.code) for each in caught.value.diagnostics] == [
        ("ref.target", "python/untrusted"),
        ("named.a.target", "python/no-such-object"),
        ("listed.0.target", "python/foreign-object"),
        ("listed.1.target", "python/no-such-module"),
    ]


@pytest.mark.parametrize("target", ["os:system", "os:path", "builtins:eval", "a.b.c:D", "pkg:shout", "nowhere:X"])
def test_what_nobody_trusts_is_not_imported(packages: Packages, target: str) -> None:
    folder = packages(
        {
            **PKG,
            "a/__init__.py": "import pathlib; pathlib.Path(__file__).with_name('ran').touch()",
            "a/b/__init__.py": "",
            "a/b/c.py": "class D: ...",
        }
    )
    before = set(sys.modules)
    told = refusal(target, "a.b.c.D", "pk", "os.path")
    assert told.code == "python/untrusted"
    assert target in told.message
    package = target.partition(":")[0].partition(".")[0]
    assert f"--trust-module {package}`" in told.hint
    assert f'trust_modules=["{package}"]' in told.hint
    assert set(sys.modules) == before
    assert not (folder / "a" / "ran").exists()


def test_exactly_one_module_is_imported(pkg: Path) -> None:
    assert loaded("pkg:shout", "pkg")("a") == "A"
    assert "pkg.sub" not in sys.modules
    assert loaded("pkg.sub:Sub", "pkg").__name__ == "Sub"


@pytest.mark.parametrize(
    ("files", "target", "code", "told"),
    [
        ({}, "nowhere:X", "python/no-such-module", "`nowhere`"),
        ({}, "pkg.nowhere:X", "python/no-such-module", "`pkg.nowhere`"),
        ({}, "helper.nowhere:X", "python/no-such-module", "`helper.nowhere`"),
        ({"bad.py": "import nowhere_else"}, "bad:X", "python/import-failed", "nowhere_else"),
        ({"bad.py": "raise ValueError('first\\nsecond')"}, "bad:X", "python/import-failed", "ValueError: first"),
        ({"bad.py": "raise ValueError"}, "bad:X", "python/import-failed", "`bad` cannot be imported: ValueError"),
        ({"bad.py": "import sys; sys.exit('bye')"}, "bad:X", "python/import-failed", "SystemExit: bye"),
        ({"bad.py": "def ("}, "bad:X", "python/import-failed", "SyntaxError"),
        ({"bad.py": "def __getattr__(name): raise ValueError(name)"}, "bad:X", "python/import-failed", "ValueError: X"),
        ({}, "pkg:shot", "python/no-such-object", "`pkg` has no `shot`"),
        ({}, "pkg:sub", "python/no-such-object", "`pkg` has no `sub`"),
    ],
)
def test_what_cannot_be_imported_is_told(
    packages: Packages, files: Mapping[str, str], target: str, code: str, told: str
) -> None:
    packages({**PKG, **files})
    found = refusal(target, "nowhere", "pkg", "helper", "bad")
    assert found.code == code
    assert told in found.message
    assert "second" not in found.message
    assert ("in the project's folder" in found.hint) == (code == "python/no-such-module")


def test_a_misspelt_object_gets_its_nearest(pkg: Path) -> None:
    assert refusal("pkg:shot", "pkg").hint == "did you mean `shout`?"


@pytest.mark.parametrize(
    ("target", "trusted"),
    [
        *((f"pkg:{name}", "pkg") for name in ("system", "Popen", "Path", "run", "join", "upper", "HERE")),
        *((f"pkg:{name}", "pkg") for name in ("dom", "disguised", "LOADED")),
        *(("pkg.sub:os", "pkg"), ("pkg.sub:helped", "pkg"), ("os:path", "os"), ("os:system", "os")),
    ],
)
def test_what_a_module_only_passes_on_is_refused(pkg: Path, target: str, trusted: str) -> None:
    for kind in (PythonRef, FunctionRef):
        assert refusal(target, trusted, kind=kind).code == "python/foreign-object"


def test_a_module_is_no_object_whoever_is_trusted(pkg: Path) -> None:
    found = refusal("pkg.sub:os", "pkg", "os", "builtins")
    assert (found.code, found.hint) == ("python/foreign-object", "name an object of it: `os:Name`")


def test_what_it_passes_on_from_a_trusted_module_is_not(pkg: Path) -> None:
    asked: list[str] = []

    def is_trusted(target: str) -> bool:
        asked.append(target)
        return target in {"pkg.sub:helped", "helper:helped"}

    function = load(FunctionRef(target="pkg.sub:helped"), is_trusted=is_trusted, where=key).loaded
    assert function("x") == "x"
    assert asked == ["pkg.sub:helped", "helper:helped"]
    assert loaded("pkg.sub:shout", "pkg.sub")("a") == "A"


LIES = """\
    import os

    class Borrowed(os.PathLike):
        __module__ = "os"

    class Meta(type):
        @property
        def __module__(cls): return 7

    class Wordless(metaclass=Meta): ...

    def eval_it(text): return eval(text)
    forged = type("forged", (), {"__module__": "liar", "__call__": lambda self: os.getcwd()})()
    """


@pytest.mark.parametrize(
    ("name", "refused"), [("Borrowed", True), ("Wordless", True), ("eval_it", False), ("forged", False)]
)
def test_an_object_is_believed_whose_it_is(packages: Packages, name: str, refused: bool) -> None:
    """A module that was trusted can lie about its objects: it had the process to itself before."""
    packages({"liar.py": LIES})
    if refused:
        assert refusal(f"liar:{name}", "liar").code == "python/foreign-object"
    else:
        assert loaded(f"liar:{name}", "liar") is vars(sys.modules["liar"])[name]


def test_a_function_is_what_can_be_called_and_says_where_it_is_from(pkg: Path) -> None:
    config = Whole(function=FunctionRef(target="pkg:shout"))
    function = load(config, is_trusted=trusting("pkg"), where=key).function
    assert function is not None
    assert function.loaded("a") == "A"
    for name, said in (("greeter", "hello Ada"), ("greet", "hi Ada")):
        assert load(FunctionRef(target=f"pkg:{name}"), is_trusted=trusting("pkg"), where=key).loaded("Ada") == said
    assert loaded("pkg:cached", "pkg") is sys.modules["pkg"].cached


@pytest.mark.parametrize("name", ["LOADED", "Greeter", "run"])
def test_what_is_no_function_is_refused(pkg: Path, name: str) -> None:
    told = refusal(f"pkg:{name}", "pkg", "builtins", "functools", kind=FunctionRef)
    assert told.code == "python/wrong-type"
    assert "expected a function" in told.message


class Shouter:
    def __call__(self, text: str) -> str:
        return text.upper()

    def shout(self, text: str) -> str:
        return text.upper()


def shout(text: str) -> str:
    return text.upper()


@pytest.mark.parametrize(
    ("function", "name"),
    [(shout, "shout"), (Shouter(), "Shouter"), (Shouter().shout, "Shouter.shout")],
    ids=["function", "object", "method"],
)
def test_a_program_hands_over_the_function_itself(function: Any, name: str) -> None:
    config = Whole(function=function)
    assert config.model_dump() == {**Whole().model_dump(), "function": {"target": f"{__name__}:{name}"}}
    same = load(config, is_trusted=trusting(), where=key)
    assert same is config
    assert same.function is not None
    assert same.function.loaded("a") == "A"
    assert [*same.function.powers(Path.cwd())] == []
    with pytest.raises(ValidationError):
        Whole(function=Shouter)  # type: ignore[arg-type]


# What would execute


def power(target: str, base: Path) -> Any:
    (found,) = PythonRef(target=target).powers(base)
    assert (found.action, found.target, found.keys, found.binds) == ("import", target, (("target",),), None)
    return {path.relative_to(base).as_posix() for path in found.code}


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("pkg:x", {"."}),
        ("pkg.sub.deeper:x", {"."}),
        ("helper:x", {"."}),
        ("spread.one:x", {"."}),
        ("os:system", set()),
        ("json:loads", set()),
        ("sys:exit", set()),
        ("pydantic:BaseModel", set()),
        ("nowhere:X", {"."}),
    ],
)
def test_a_power_looks_at_the_code_that_the_project_would_run(packages: Packages, target: str, code: set[str]) -> None:
    base = packages({**PKG, "pkg/__init__.py": "raise SystemExit", "spread/one.py": ""})
    before = set(sys.modules)
    assert power(target, base) == code
    assert set(sys.modules) == before


def test_what_is_installed_into_the_project_is_not_its_own() -> None:
    assert power("pydantic:BaseModel", Path(sys.prefix).parent) == set()


def test_code_outside_of_the_project_is_not_looked_at(pkg: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert power("pkg:shout", tmp_path / "other") == set()


def test_links_hide_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"project/conf/x.yaml": "", "project/inner/led_in.py": "", "outside/led_out/__init__.py": ""})
    base = tmp_path / "project"
    (tmp_path / "way").symlink_to(base / "inner")
    (base / "led_out").symlink_to(tmp_path / "outside" / "led_out")
    with importable(tmp_path / "way", {}), importable(base, {}):
        (found,) = PythonRef(target="led_out:x").powers(base)
        assert found.code == (base,)
        (found,) = PythonRef(target="led_in:x").powers(base)
        assert found.code == (base,)


def test_an_archive_and_a_spread_package_count_whole(tmp_path: Path) -> None:
    base = tmp_path / "project"
    write(base, {"one/spread/a.py": "", "two/spread/b.py": ""})
    with ZipFile(base / "code.zip", "w") as archive:
        archive.writestr("zipped/__init__.py", "")
    with importable(base / "one", {}), importable(base / "two", {}), importable(base / "code.zip", {}):
        assert power("spread.a:x", base) == power("zipped:x", base) == {"."}


def test_finders_of_others_are_not_asked(monkeypatch: pytest.MonkeyPatch, pkg: Path) -> None:
    class Finder:
        def find_spec(self, *args: Any) -> None:
            raise AssertionError("this is code")

    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    assert power("pkg:shout", pkg) == {"."}


# Bytecode


def forge(source: Path) -> None:
    """Puts bytecode beside a source that Python runs in its place, whatever the source says."""
    other = source.with_suffix(".forged")
    other.write_text("VALUE = 'forged'\ndef value(): return VALUE\n")
    cache = Path(cache_from_source(str(source)))
    py_compile.compile(
        str(other), str(cache), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )
    other.unlink()


def test_sources_run_and_not_what_was_made_of_them(packages: Packages) -> None:
    text = "VALUE = 'source'\ndef value(): return VALUE\n"
    late = "def value():\n    import late, beside.late\n    return late.VALUE + beside.late.VALUE\n"
    forged = ("plain.py", "deep/inner.py", "late.py", "beside/late.py")
    files = {"plain.py": text, "deep/__init__.py": "", "deep/inner.py": text, "late.py": text, "beside/late.py": text}
    folder = packages({**files, "now.py": late})
    for file in forged:
        forge(folder / file)
    program = "import plain, deep.inner, late, beside.late; print(plain.VALUE, deep.inner.VALUE, late.VALUE)"
    command = [sys.executable, "-c", program]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    assert told == "forged forged forged\n", "the attack does not work, so that nothing is tested"
    before = set(folder.rglob("*.pyc"))
    assert loaded("plain:value", "plain")() == "source"
    assert loaded("deep.inner:value", "deep")() == "source"
    assert loaded("now:value", "now")() == "sourcesource", "what a function imports when it is called"
    assert set(folder.rglob("*.pyc")) == before, "and none is written"


def test_a_folder_that_was_searched_before_is_searched_anew(packages: Packages) -> None:
    folder = packages({"early.py": "def value(): return 'source'\n", "other.py": ""})
    forge(folder / "early.py")
    importlib.import_module("other")  # the folder's finder is known from here on
    assert loaded("early:value", "early")() == "source"


def test_what_is_installed_keeps_its_bytecode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONUSERBASE", str(tmp_path))
    program = """
import site, sys
from pathlib import Path
from assembler.python.refs import PythonRef, load
folder = Path(site.getusersitepackages())
folder.mkdir(parents=True)
(folder / "there.py").write_text("def f(): ...\\n")
sys.path.insert(0, str(folder))
sys.path.insert(1, str(Path.cwd()))
for target in ("there:f", "own:f"):
    load(PythonRef(target=target), is_trusted=lambda target: True, where=None)
print(len(list(folder.rglob("*.pyc"))), len(list(Path.cwd().rglob("*.pyc"))))
"""
    (tmp_path / "project").mkdir()
    (tmp_path / "project/own.py").write_text("import there\ndef f(): ...\n")
    command = [sys.executable, "-c", program]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(command, cwd=tmp_path / "project", env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "1 0\n"
