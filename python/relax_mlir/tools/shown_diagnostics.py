"""Diagnostics in the format of ``mlir-opt``: location, message, the line of the input and a caret."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from relax_mlir.error import Diagnostic
from relax_mlir.source_frame import source_frame, split_place
from relax_mlir.tools.colour import BOLD, BY_SEVERITY, CARET, paint

MAX_LINE = 1000
"""Longer lines of the input are not shown."""


def show(
    diagnostic: Diagnostic, source: str, lines: Sequence[str], stream: TextIO, underlined: int = 1
) -> None:
    """Write a diagnostic to a stream.

    Args:
        source, lines: name and text of the input; lines of other files are read from those files.
        underlined: the number of characters to underline.
    """
    place = split_place(diagnostic.location)
    if place is None or place[0] not in ("-", source):
        print(
            "\n".join([_head(diagnostic.location, diagnostic, stream), *_frame(diagnostic, stream)]),
            file=stream,
        )
        return
    _, line, column = place
    print(_head(f"{source}:{line}:{column}", diagnostic, stream), file=stream)
    if 0 < line <= len(lines) and column and len(lines[line - 1]) <= MAX_LINE:
        text = lines[line - 1].replace("\t", " ")
        mark = "^" + "~" * (underlined - 1)
        print(f"{text}\n{' ' * (column - 1)}{paint(mark, CARET, stream)}", file=stream)


def _head(place: str, diagnostic: Diagnostic, stream: TextIO) -> str:
    severity = paint(f"{diagnostic.severity}:", BY_SEVERITY.get(diagnostic.severity, BOLD), stream)
    return f"{paint(f'{place}:', BOLD, stream)} {severity} {paint(diagnostic.message, BOLD, stream)}"


def _frame(diagnostic: Diagnostic, stream: TextIO) -> list[str]:
    frame = source_frame(diagnostic.location)
    return [*frame[:-1], *(paint(marks, CARET, stream) for marks in frame[-1:])]
