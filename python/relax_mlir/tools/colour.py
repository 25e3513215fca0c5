"""Colours on terminals: when to use them, and the escape codes."""

from __future__ import annotations

import os
from typing import TextIO

ERROR, WARNING, NOTE, REMARK = "1;31", "1;35", "1;36", "1;34"
BOLD, CARET, HEADING = "1", "1;32", "1;33"
BY_SEVERITY = {"error": ERROR, "warning": WARNING, "note": NOTE, "remark": REMARK}

_chosen: list[bool] = []
"""The choice of the command line, if it makes one."""


def choose(wanted: bool | None) -> None:
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
