"""Runs against a model on this machine, beside the bare ``openai`` client that does the same.

A run of three calls asks the model four times: it calls ``load_skill`` for three skills, one in each answer, and then
answers with a text. Both sides send the same instructions and the same tools. That is so with 1,000 skills too, where
our catalog has 8,000 characters and a search beside it: the bare client is spared the 110,000 characters that all the
descriptions together have, and what is measured is the rest.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

from openai import AsyncOpenAI

from assembler import Agent, assemble
from bench.bare import MODEL, Bare, Say
from bench.measure import A_SECOND, Figure, Limit, at_least, at_most, clock, in_turn
from bench.server import ASK, TEXT, serving
from bench.skills import BODY, COUNT, write

CONFIGURATION = """
instructions: You help with small, exact tasks.
defaults: [approval: unattended, _self_]
skills:
  sources: {files: {paths: [skills]}}
  decorators: {cache: {}}
  catalog: {overflow: search}
"""
NAMES = {"openai": "Responses", "openai_chat": "Chat Completions"}
FEW = 10
IN_TURN = 20
AT_ONCE = 32


def measure(rounds: int) -> list[Figure]:
    with serving() as url, tempfile.TemporaryDirectory() as folder, asyncio.Runner() as loop:
        systems = _Systems(loop, url, Path(folder))
        try:
            return [
                *_compared(systems, rounds, "openai", bound=at_most(0.5)),
                *_compared(systems, rounds, "openai_chat", bound=at_most(1), goal=at_most(0.5)),
                *_compared(systems, rounds, "openai", stream=True, bound=at_most(0.8)),
                *_compared(systems, rounds, "openai_chat", stream=True, bound=at_most(0.8)),
                *_compared(systems, rounds, "openai", COUNT, bound=at_most(1), goal=at_most(0.6)),
                *_at_once(systems, rounds, "openai", bound=at_least(1.7), goal=at_least(2)),
                *_at_once(systems, rounds, "openai_chat", bound=at_least(1), goal=at_least(2)),
            ]
        finally:
            loop.run(systems.aclose())


class _Systems:
    """Agents and clients that live in one event loop.

    Args:
        loop: The event loop.
        url: Address of the model's API.
        folder: Where skills are written.
    """

    def __init__(self, loop: asyncio.Runner, url: str, folder: Path) -> None:
        self.loop = loop
        self._url = url
        self._folder = folder
        self._open = AsyncExitStack()
        self.aclose = self._open.aclose

    def agent(self, kind: str, skills: int, *, stream: bool) -> Agent:
        """An open agent, declared in YAML; its skills lie in files."""
        project = self._folder / str(skills)
        if not project.exists():
            (project / "skills").mkdir(parents=True)
            write(project / "skills", skills)
            (project / "conf").mkdir()
            (project / "conf" / "bench.yaml").write_text(CONFIGURATION, "utf-8")
        model = [f"model={kind}", f"model.name={MODEL}", f"model.base_url={self._url}", "model.api_key=null"]
        agent = assemble("bench", [*model, f"model.stream={stream}"], cwd=project, trust=True)
        return self.loop.run(self._open.enter_async_context(agent))

    def bare(self, agent: Agent) -> Bare:
        """A bare client that sends what an agent sends."""
        snapshot = self.loop.run(agent.snapshot())
        client = AsyncOpenAI(api_key="none", base_url=self._url)
        self._open.push_async_callback(client.close)
        return Bare(client, snapshot.instructions, snapshot.sent(), {"load_skill": _load_skill})

    def one_by_one(self, say: Say) -> Callable[[], float]:
        """Seconds for runs that follow each other."""

        async def all_of_them() -> None:
            for _ in range(IN_TURN):
                _check(await say(ASK))

        return clock(lambda: self.loop.run(all_of_them()))

    def at_once(self, say: Say) -> Callable[[], float]:
        """Runs a second, where so many of them go on at once."""

        async def all_of_them() -> None:
            for answer in await asyncio.gather(*(say(ASK) for _ in range(AT_ONCE))):
                _check(answer)

        seconds = clock(lambda: self.loop.run(all_of_them()))
        return lambda: AT_ONCE / seconds()


def _compared(
    systems: _Systems,
    rounds: int,
    kind: str,
    skills: int = FEW,
    *,
    stream: bool = False,
    bound: Limit,
    goal: Limit | None = None,
) -> list[Figure]:
    agent = systems.agent(kind, skills, stream=stream)
    bare = systems.bare(agent)
    name = (
        f"{IN_TURN} runs, {NAMES[kind]}{', streamed' if stream else ''}{f', {skills} skills' if skills > FEW else ''}"
    )
    ours, theirs, floor = in_turn(
        rounds,
        systems.one_by_one(_ours(agent)),
        systems.one_by_one(_theirs(bare, kind, stream=stream)),
        systems.one_by_one(_floor(bare, kind)),
    )
    return [
        Figure(name, ours, "bare client", theirs, bound=bound, goal=goal),
        Figure("", ours, "its post(), not streamed", floor),
    ]


def _at_once(systems: _Systems, rounds: int, kind: str, bound: Limit, goal: Limit) -> list[Figure]:
    agent = systems.agent(kind, FEW, stream=False)
    bare = systems.bare(agent)
    ours, theirs, floor = in_turn(
        rounds,
        systems.at_once(_ours(agent)),
        systems.at_once(_theirs(bare, kind, stream=False)),
        systems.at_once(_floor(bare, kind)),
    )
    name = f"{AT_ONCE} runs at once, {NAMES[kind]}"
    return [
        Figure(name, ours, "bare client", theirs, unit=A_SECOND, bound=bound, goal=goal),
        Figure("", ours, "its post()", floor, unit=A_SECOND),
    ]


def _ours(agent: Agent) -> Say:
    async def say(text: str) -> str:
        return (await agent.run(text)).output_text

    return say


def _theirs(bare: Bare, kind: str, *, stream: bool) -> Say:
    if kind == "openai":
        return bare.responses_streamed if stream else bare.responses
    return bare.chat_streamed if stream else bare.chat


def _floor(bare: Bare, kind: str) -> Say:
    return bare.post if kind == "openai" else bare.chat_post


def _load_skill(skill_name: str) -> str:
    return f'<skill_content name="{skill_name}" digest="sha256:{"0" * 64}">\n{BODY.strip()}\n</skill_content>'


def _check(answer: str) -> None:
    if answer != TEXT:
        raise SystemExit(f"a run ended with {answer!r}")
