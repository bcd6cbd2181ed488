"""What a chat shows: text as it comes, and lines that never break into it."""

from __future__ import annotations

from assembler.cli.output import answer, tell


class Screen:
    """Both outputs of a chat, which usually lead to one terminal."""

    def __init__(self) -> None:
        self._is_open = False
        self._held = ""

    def text(self, piece: str) -> None:
        """Shows a piece of an answer.

        Escaping knows single characters alone, so that a sequence for the terminal is harmless wherever it is split.
        The one thing of two characters, a line end of Windows, is held back until it is whole.
        """
        text = self._held + piece
        self._held = "\r" if text.endswith("\r") else ""
        self._show(text.removesuffix(self._held))

    def line(self, text: str) -> None:
        """Tells something, in lines of its own."""
        self.end_text()
        tell(text)

    def end_text(self) -> None:
        """Ends an answer, and the line that it ends in."""
        held, self._held = self._held, ""
        self._show(held)
        if self._is_open:
            answer("")
            self._is_open = False

    def _show(self, text: str) -> None:
        if text:
            answer(text, end="")
            self._is_open = not text.endswith("\n")
