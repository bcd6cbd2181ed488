"""Skills that tests make up, and what listing them said."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assembler.errors import Diagnostic
from assembler.runners.base import UNCONFINED, Confinement, Runner, ScriptJob, ScriptResult
from assembler.scope import Scope
from assembler.skills.inline import InlineSkill
from assembler.skills.skill import RunContext, Skill, Source, SourceContext

Files = Mapping[str, str | bytes]
Write = Callable[[Files], Path]


def skill_md(name: str = "demo", description: str = "Does things.", *, body: str = "Do it.", **fields: str) -> str:
    """A SKILL.md that nothing is wrong with, unless a field is."""
    head = {"name": name, "description": description, **fields}
    return "---\n" + "".join(f"{key}: {value}\n" for key, value in head.items()) + f"---\n{body}\n"


class Listed:
    """The skills that a source listed, and what it said."""

    def __init__(self, skills: Sequence[Skill], diagnostics: Sequence[Diagnostic]) -> None:
        self.skills, self.diagnostics = skills, diagnostics

    @property
    def names(self) -> list[str]:
        return [skill.name for skill in self.skills]

    @property
    def codes(self) -> list[str]:
        return [diagnostic.code for diagnostic in self.diagnostics]

    @property
    def places(self) -> list[str]:
        return [str(skill.where) for skill in self.skills]


async def list_of(source: Source, base: Path = Path("/"), name: str = "main") -> Listed:
    said: list[Diagnostic] = []
    skills = await source.list_skills(SourceContext(name, base, said.append))
    return Listed(skills, said)


@contextmanager
def named_pipe(path: Path) -> Iterator[None]:
    """A named pipe to which nobody writes; who opens it to read waits, which is told instead of waited for."""
    os.mkfifo(path)
    waited = threading.Event()

    def rescue() -> None:
        waited.set()
        os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))

    timer = threading.Timer(5, rescue)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
    assert not waited.is_set(), "it waited for somebody to write to the pipe"


class Static:
    """A source that always lists the same."""

    def __init__(self, *skills: Skill) -> None:
        self.skills = skills

    async def list_skills(self, context: SourceContext) -> Sequence[Skill]:
        return self.skills


def inline(*names: str, **options: Any) -> list[InlineSkill]:
    return [InlineSkill(name, f"Does {name}.", **options) for name in names]


class Recorder(Runner, kind="recorder"):
    """Runs nothing: it says what it was asked to run, and what lies there."""

    async def confinement(self) -> Confinement:
        return Confinement(UNCONFINED)

    def check(self, script: str) -> None:
        """Everything has an interpreter here."""

    async def run(self, job: ScriptJob) -> ScriptResult:
        text = (job.skill_dir / job.script).read_text()
        return ScriptResult(0, text, str(job.skill_dir), 0, 0, 0.0, UNCONFINED)


def in_run(scope: Scope, **more: Any) -> RunContext:
    return RunContext(scope, Recorder(), **more)
