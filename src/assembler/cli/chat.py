"""A conversation with an agent on a terminal."""

from __future__ import annotations

import asyncio
import signal
from contextlib import aclosing
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from assembler.cli import progress
from assembler.cli.approve import terminal_approver
from assembler.cli.commands import DONE
from assembler.cli.output import answer, tell

if TYPE_CHECKING:
    from assembler.agent.agent import Agent

SESSION = "chat"
"""Name of the conversation where nobody chose one; it ends with the chat."""


async def chat(agent: Agent, session: str | None = None) -> int:
    """Talks until end of input, `/quit`, or an interruption at the prompt.

    Args:
        agent: Who answers.
        session: Name of a stored conversation to continue.
    """
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import InMemoryHistory

    async with agent:
        tell(f"{agent.name}: ask something; /quit or Ctrl-D ends, Ctrl-C stops an answer.")
        if session is not None:
            length = len((await agent.conversation(session)).items)
            tell(f"session {session}: {f'continued after {length} items' if length else 'new'}")
        prompt: PromptSession[str] = PromptSession("> ", history=InMemoryHistory())
        while True:
            try:
                text = (await prompt.prompt_async()).strip()
            except (EOFError, KeyboardInterrupt):
                return DONE
            if text in {"/quit", "/exit"}:
                return DONE
            if text:
                await _turn(agent, text, session or SESSION)


async def _turn(agent: Agent, text: str, session: str) -> None:
    """One answer; an interruption stops it and leaves the conversation as it is."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, agent.cancel)
    try:
        await _answer(agent, text, session)
    except asyncio.CancelledError:
        if cast("asyncio.Task[int]", asyncio.current_task()).cancelling():
            raise
    finally:
        loop.remove_signal_handler(signal.SIGINT)


async def _answer(agent: Agent, text: str, session: str) -> None:
    started = perf_counter()
    shown = streamed = False
    events = agent.stream(text, session=session, approver=terminal_approver())
    async with aclosing(cast("Any", events)) as stream:
        async for event in stream:
            if event["type"] == "response.output_text.delta":
                answer(event["delta"], end="")
                shown = streamed = True
            elif event["type"] == "response.output_item.done" and shown:
                answer("")
                shown = False
            progress.show(event)
            if event["type"] == "result":
                if not streamed and event["output_text"]:
                    answer(event["output_text"])
                progress.end(event, perf_counter() - started)
