"""A conversation with an agent on a terminal."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from assembler.cli.chat_commands import Talk, is_command, obey
from assembler.cli.chat_input import Interrupted, chat_input
from assembler.cli.chat_screen import Screen
from assembler.cli.chat_turn import Turn
from assembler.cli.commands import DONE, INTERRUPTED
from assembler.cli.output import tell, tell_diagnostics
from assembler.cli.terminal import is_gone, let_go
from assembler.errors import AssemblerError

if TYPE_CHECKING:
    from assembler.agent.agent import Agent

SESSION = "chat"
"""Name of the conversation where nobody chose one; it ends with the chat."""

_STDIN = 0


async def chat(agent: Agent, session: str | None = None, files: Sequence[str | Path] = ()) -> int:
    """Talks until end of input or `/quit`, or until the terminal is gone.

    Args:
        agent: Who answers.
        session: Name of a stored conversation to continue.
        files: Files that every question comes with.

    Returns:
        The exit code.

    Raises:
        AssemblerError: The agent cannot be opened, or a file cannot be read.
        KeyboardInterrupt: Ctrl-C, before there was a prompt.
    """
    talk = Talk(agent)
    talk.add([Path(file) for file in files])
    conversation = _Chat(talk, session)
    with conversation.signals():
        try:
            async with agent:
                return await conversation.go_on()
        except asyncio.CancelledError:
            if conversation.is_ended:
                return INTERRUPTED
            raise KeyboardInterrupt from None
        except OSError:
            if not is_gone(_STDIN):
                raise
            return INTERRUPTED
        finally:
            let_go()


class _Chat:
    """The prompt, and what comes after each.

    Args:
        talk: What commands work on.
        session: Name of a stored conversation to continue.

    Attributes:
        is_ended: Whether a signal ended it.
    """

    def __init__(self, talk: Talk, session: str | None) -> None:
        self.is_ended = False
        self._talk = talk
        self._session = session
        self._screen = Screen()
        self._task = cast("asyncio.Task[Any]", asyncio.current_task())
        self._stop: Callable[[], object] = self._task.cancel

    @contextmanager
    def signals(self) -> Generator[None]:
        """Ctrl-C stops what goes on; whatever ends the chat lets the agent close, so that its scripts end too."""
        loop = asyncio.get_running_loop()
        handlers = {signal.SIGINT: self._interrupt, signal.SIGHUP: self._end, signal.SIGTERM: self._end}
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler)
        try:
            yield
        finally:
            for number in handlers:
                loop.remove_signal_handler(number)

    async def go_on(self) -> int:
        """Reads and answers until there is an end."""
        self._stop = _nothing
        tell(f"{self._talk.agent.name}: ask something; /help tells how, /quit ends, Ctrl-C stops an answer.")
        if self._session is not None:
            length = len((await self._talk.agent.conversation(self._session)).items)
            tell(f"session {self._session}: {f'continued after {length} items' if length else 'new'}")
        source = chat_input()
        is_warned = False
        while not self._talk.is_over:
            try:
                with self._stopped_by(source.interrupt):
                    text = await source.read()
            except EOFError:
                return INTERRUPTED if is_gone(_STDIN) else DONE
            except Interrupted as interruption:
                if is_warned and not interruption.had_text:
                    return DONE
                is_warned = not interruption.had_text
                if is_warned:
                    tell("  Ctrl-C again ends the chat, as Ctrl-D and /quit do")
                continue
            is_warned = False
            await self._answer(text)
        return DONE

    async def _answer(self, text: str) -> None:
        """Does what an input asks for; whatever goes wrong with it is told, and the chat goes on."""
        try:
            if is_command(text):
                await self._command(text)
            elif text.strip():
                agent, files = self._talk.agent, self._talk.files
                with self._stopped_by(agent.cancel):
                    await Turn(self._screen).play(agent, text.strip(), files, self._session or SESSION)
        except AssemblerError as error:
            tell_diagnostics(error.diagnostics)
        except asyncio.CancelledError:
            if self._task.cancelling():
                raise

    async def _command(self, text: str) -> None:
        task = asyncio.ensure_future(obey(self._talk, text))
        with self._stopped_by(task.cancel):
            await task

    @contextmanager
    def _stopped_by(self, stop: Callable[[], object]) -> Generator[None]:
        """What Ctrl-C does meanwhile; between two things that it could stop, it does nothing."""
        self._stop = stop
        try:
            yield
        finally:
            self._stop = _nothing

    def _interrupt(self) -> None:
        self._stop()

    def _end(self) -> None:
        """The terminal is gone, or somebody asks the process to end; asked again, it is ending already."""
        if not self.is_ended:
            self.is_ended = True
            self._task.cancel()


def _nothing() -> None:
    """What Ctrl-C does where there is nothing to stop."""
