"""Skills that tests make up, and what listing them said."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from assembler.errors import AssemblerError, Diagnostic
from assembler.runners.base import UNCONFINED, Confinement, Runner, ScriptJob, ScriptResult
from assembler.scope import Scope
from assembler.skills.file_skill import FileSkill
from assembler.skills.inline import InlineSkill
from assembler.skills.skill import RunContext, Skill, SkillResource, SkillScript, Source, SourceContext

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


FILES: Files = {
    "SKILL.md": skill_md("demo", body="\nDo it.\r\n"),
    "references/table.csv": "a,b\r\n1,2\r\n",
    "assets/logo.png": b"\x89PNG\0",
    "assets/latin.txt": b"caf\xe9",
    "scripts/main.py": "print(1)\n",
    "scripts/data.json": "{}",
}
"""A skill `demo` with something of every sort."""

Demo = Callable[..., FileSkill]
"""Writes files of the skill `demo`, its usual ones if none are given, and lists it."""


def do(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def names(things: Coroutine[Any, Any, Any]) -> list[str]:
    return [thing.name for thing in asyncio.run(things)]


async def resource(skill: Skill, name: str) -> SkillResource:
    return next(resource for resource in await skill.resources() if resource.name == name)


async def script(skill: Skill, name: str) -> SkillScript:
    return next(script for script in await skill.scripts() if script.name == name)


def code(work: Coroutine[Any, Any, Any]) -> str:
    with pytest.raises(AssemblerError) as caught:
        asyncio.run(work)
    return caught.value.diagnostics[0].code


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


async def reading(skill: Skill, name: str) -> str | bytes:
    async with Scope() as scope:
        return await (await resource(skill, name)).read(in_run(scope))


async def running(skill: Skill, name: str = "scripts/main.py", arguments: Any = None) -> ScriptResult:
    async with Scope() as scope:
        result = await (await script(skill, name)).run(arguments, in_run(scope))
        assert isinstance(result, ScriptResult)
        return result
