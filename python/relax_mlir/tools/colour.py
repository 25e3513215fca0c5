"""Colours on terminals: whether to use them, and the codes."""

from __future__ import annotations

import os
from typing import TextIO

ERROR, WARNING, NOTE, REMARK = "1;31", "1;35", "1;36", "1;34"
BOLD, CARET, HEADING = "1", "1;32", "1;33"
BY_SEVERITY = {"error": ERROR, "warning": WARNING, "note": NOTE, "remark": REMARK}

_chosen: list[bool] = []
"""What the command line says, if it says anything."""


def choose(wanted: bool | None) -> None:
    """Switch colours on or off for all streams; None: where the stream is a terminal (see `is_coloured`)."""
    _chosen[:] = [] if wanted is None else [wanted]


def is_coloured(stream: TextIO) -> bool:
    """Whether to colour what is written there.

    The command line decides; without it, a terminal is coloured unless ``NO_COLOR`` is set or ``TERM`` is ``dumb``.
    """
    if _chosen:
        return _chosen[0]
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def paint(text: str, code: str, stream: TextIO) -> str:
    """`text` in a colour, where the stream has colours."""
    return f"\x1b[{code}m{text}\x1b[0m" if text and is_coloured(stream) else text


def note_line(tool: str, message: object, stream: TextIO) -> str:
    """``relax-tune: note: …``, as all tools say what they did not expect, and can go on with."""
    return f"{paint(f'{tool}:', BOLD, stream)} {paint('note:', NOTE, stream)} {message}"


def error_line(tool: str, message: object, stream: TextIO) -> str:
    """``relax-opt: error: …``, as all tools say what went wrong."""
    return f"{paint(f'{tool}:', BOLD, stream)} {paint('error:', ERROR, stream)} {message}"
