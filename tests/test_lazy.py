"""What importing costs: nothing outside the standard library until it is needed."""

from __future__ import annotations

from typing import Any

import pytest

FOREIGN = """
import sys
{program}
names = {{name.partition(".")[0] for name in sys.modules}}
foreign = names - set(sys.stdlib_module_names) - {{"assembler", "__main__"}}
# What the environment itself preloads, such as the hooks of editable installations, is not ours.
print(sorted(name for name in foreign if not name.startswith(("_", "sitecustomize", "usercustomize", "distutils"))))
"""


@pytest.mark.parametrize(
    "program",
    [
        "import assembler",
        "import assembler; assembler.__version__; dir(assembler)",
        "import assembler.cli.main as main; main.main(['--help'])",
        "import assembler.cli.main as main; main.main(['--version'])",
        "import assembler.errors, assembler.codes, assembler.kinds, assembler.items, assembler.events",
        "import assembler.cli.run as run\ntry: run.main(['--help'])\nexcept SystemExit: pass",
        "import assembler.cli.skills as skills; skills.main(['--help'])",
    ],
)
def test_only_the_standard_library_is_imported(program: str, run_python: Any) -> None:
    assert run_python(FOREIGN.format(program=program)).splitlines()[-1] == "[]"


@pytest.mark.parametrize("heavy", ["openai", "mcp", "starlette", "rich", "prompt_toolkit"])
def test_what_a_run_does_not_use_is_not_imported(heavy: str, echo: Any, run_python: Any) -> None:
    program = f"""
import sys
from assembler import assemble
assert assemble("agent").run_sync("x").status == "completed"
print({heavy!r} in sys.modules)
"""
    assert run_python(program) == "False"


def test_every_public_name_is_there() -> None:
    import assembler

    for name in dir(assembler):
        assert getattr(assembler, name) is not None
    with pytest.raises(AttributeError):
        _ = assembler.nothing
