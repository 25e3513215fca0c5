"""Output on the terminal: its width, colours, and tables in which text may wrap and numbers are never truncated."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


DEFAULT_WIDTH = 80
MIN_WIDTH = 40
MIN_WORDS = 10
"""Minimum width of a text column."""


def width() -> int:
    """Columns of the terminal; ``COLUMNS`` if it is set, 80 without a terminal."""
    return max(shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns, MIN_WIDTH)


def wrapped(head: str, text: str, columns: int, indent: int) -> list[str]:
    """Lines of a report: `head` and `text`, wrapped at `columns` columns, further lines indented by `indent`."""
    return textwrap.wrap(
        text,
        columns,
        initial_indent=head,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def report_table(title: str, words: Sequence[str], numbers: Sequence[str]) -> Table:
    """An empty table: text columns, which wrap, followed by number columns, which do not."""
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for name in words:
        table.add_column(name, overflow="fold", min_width=MIN_WORDS)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def print_table(table: Table, console: Console | None = None) -> None:
    """Print a table in the terminal's width, or wider if its numbers need that."""
    from rich.console import Console
    from rich.measure import Measurement

    if console is None:
        console = Console(width=None if sys.stdout.isatty() and "COLUMNS" not in os.environ else width())
    wide = console.options.update(width=1 << 16)
    for column in table.columns:
        if column.no_wrap:
            cells = (column.header, *column.cells)
            column.min_width = max(Measurement.get(console, wide, cell).maximum for cell in cells)
    needed = sum((column.min_width or 0) + 2 for column in table.columns)  # a space, a separator
    given = console.width
    console.width = max(needed, given)
    try:
        console.print(table, soft_wrap=False)
    finally:
        console.width = given


def lines_of(rows: Sequence[Sequence[str]], columns: int, first: int) -> list[str]:
    """Rows as lines of aligned cells.

    If they are wider than `columns`, the cells from index `first` on go on a separate line below.
    """
    if max(map(len, _aligned(rows)), default=0) <= columns:
        return _aligned(rows)
    heads, tails = _aligned([row[:first] for row in rows]), _aligned([row[first:] for row in rows])
    return [line for head, tail in zip(heads, tails, strict=True) for line in (head, f"    {tail}")]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip() for row in rows]


# Colours on terminals: when to use them, and the escape codes.

ERROR, WARNING, NOTE, REMARK = "1;31", "1;35", "1;36", "1;34"
BOLD, CARET, HEADING = "1", "1;32", "1;33"
BY_SEVERITY = {"error": ERROR, "warning": WARNING, "note": NOTE, "remark": REMARK}

_chosen: list[bool] = []
"""The choice of the command line, if it makes one."""


def choose_colour(wanted: bool | None) -> None:
    """Switch colours on or off for all streams; None: decide per stream (see `is_coloured`)."""
    _chosen[:] = [] if wanted is None else [wanted]


def is_coloured(stream: TextIO) -> bool:
    """True if output to the stream is coloured.

    The command line decides. Without a choice there, a terminal gets colours unless ``NO_COLOR`` is set or ``TERM`` is
    ``dumb``.
    """
    if _chosen:
        return _chosen[0]
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def paint(text: str, code: str, stream: TextIO) -> str:
    """`text` in a colour, if the stream has colours."""
    return f"\x1b[{code}m{text}\x1b[0m" if text and is_coloured(stream) else text


def note_line(tool: str, message: object, stream: TextIO) -> str:
    """The line ``relax-tune: note: …``, with which all tools report conditions that do not stop them."""
    return f"{paint(f'{tool}:', BOLD, stream)} {paint('note:', NOTE, stream)} {message}"


def error_line(tool: str, message: object, stream: TextIO) -> str:
    """The line ``relax-opt: error: …``, with which all tools report errors."""
    return f"{paint(f'{tool}:', BOLD, stream)} {paint('error:', ERROR, stream)} {message}"
