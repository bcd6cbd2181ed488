"""Rows of a listing: aligned columns on a terminal, tabs in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from assembler.cli.output import answer, printable


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Writes rows to standard output.

    Args:
        columns: What stands above them on a terminal.
        rows: Their cells, each of one line; foreign text in them is shown, not obeyed.
    """
    if not sys.stdout.isatty():
        for row in rows:
            answer("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        shown.add_row(*(Text(printable(cell)) for cell in row))
    Console().print(shown)
