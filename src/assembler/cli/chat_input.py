"""What a person types into a chat: edited where the terminal can, by lines where it cannot."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol, cast

from assembler.cli.chat_commands import complete
from assembler.cli.output import tell
from assembler.cli.terminal import line

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.output import Output

PROMPT = "> "
CONTINUED = "  "

_DUMB = frozenset({"", "dumb", "unknown"})


class Interrupted(Exception):
    """Ctrl-C instead of an input.

    Args:
        had_text: Whether something was typed that is dropped.
    """

    def __init__(self, *, had_text: bool = False) -> None:
        super().__init__()
        self.had_text = had_text


class Input(Protocol):
    """Reads inputs."""

    async def read(self) -> str:
        """One input, which may have several lines.

        Raises:
            Interrupted: Ctrl-C.
            EOFError: Ctrl-D, or the terminal is gone.
        """
        ...

    def interrupt(self) -> None:
        """Ends a reading that goes on, as Ctrl-C does."""
        ...


def chat_input() -> Input:
    """The best that this terminal allows."""
    output = next((stream for stream in (sys.stdout, sys.stderr) if stream.isatty()), None)
    if output is None or os.environ.get("TERM", "") in _DUMB:
        return LineInput()
    return EditedInput()


def is_continued(text: str) -> bool:
    """Whether a line ends in a backslash that asks for another one; two of them are a text."""
    return text.endswith("\\") and not text.endswith("\\\\")


class LineInput:
    """Lines as the terminal itself edits them: nothing but text is ever written to it."""

    def __init__(self) -> None:
        self._reading: asyncio.Future[str] | None = None

    async def read(self) -> str:
        """One input, its lines continued with backslashes."""
        self._reading = asyncio.ensure_future(self._lines())
        try:
            return await self._reading
        except asyncio.CancelledError:
            if cast("asyncio.Task[Any]", asyncio.current_task()).cancelling():
                raise
            tell("")  # behind the ^C that the terminal shows
            raise Interrupted from None
        finally:
            self._reading.cancel()
            self._reading = None

    def interrupt(self) -> None:
        """Ends a reading that goes on."""
        if self._reading is not None:
            self._reading.cancel()

    async def _lines(self) -> str:
        text, prompt = "", PROMPT
        while True:
            tell(prompt, end="")
            typed = await self._line()
            if not is_continued(typed):
                return text + typed
            text, prompt = text + typed[:-1] + "\n", CONTINUED

    async def _line(self) -> str:
        """A line; Ctrl-D within one hands it over without its end, and more may follow."""
        data = b""
        while not data.endswith(b"\n"):
            more = await line(sys.stdin.fileno())
            if not more:
                raise EOFError
            data += more
        return data[:-1].decode("utf-8", "replace")


class EditedInput:
    """Inputs of several lines, with a history and completion.

    It draws with what every terminal since the VT100 knows, without colours, and asks the terminal nothing: over a slow
    line, an answer that comes late would be taken for something typed.
    """

    def __init__(self) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import InMemoryHistory
        from prompt_toolkit.output import ColorDepth
        from prompt_toolkit.shortcuts import CompleteStyle

        self._session: PromptSession[str] = PromptSession(
            PROMPT,
            multiline=True,
            prompt_continuation=CONTINUED,
            history=InMemoryHistory(),
            completer=_completer(),
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            key_bindings=_keys(),
            color_depth=ColorDepth.DEPTH_1_BIT,
            enable_suspend=True,
            interrupt_exception=Interrupted,
            output=_output(),
        )

    async def read(self) -> str:
        """One input."""
        try:
            # Signals are the chat's, and an error in a callback must not wait for a key.
            return await self._session.prompt_async(handle_sigint=False, set_exception_handler=False)
        except Interrupted:
            raise Interrupted(had_text=bool(self._session.default_buffer.text)) from None

    def interrupt(self) -> None:
        """Ends a reading that goes on."""
        if self._session.app.is_running and not self._session.app.is_done:
            self._session.app.exit(exception=Interrupted())


def _output() -> Output:
    from prompt_toolkit.output import create_output
    from prompt_toolkit.output.vt100 import Vt100_Output

    output = create_output(always_prefer_tty=True)
    if isinstance(output, Vt100_Output):
        output.enable_cpr = False
    return output


def _keys() -> KeyBindings:
    from prompt_toolkit.enums import DEFAULT_BUFFER
    from prompt_toolkit.filters import has_focus
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_continued(buffer.document.text_before_cursor) and buffer.document.is_cursor_at_the_end:
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    typing = has_focus(DEFAULT_BUFFER)
    keys.add("enter", filter=typing)(enter)
    keys.add("escape", "enter", filter=typing)(new_line)
    return keys


def _completer() -> Completer:
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document

    class _Completer(Completer):
        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
            part, found = complete(document.text_before_cursor)
            for text in found:
                yield Completion(text, start_position=-len(part))

    return _Completer()
