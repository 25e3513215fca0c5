"""The source line that an error refers to, underlined."""

from __future__ import annotations

import ast
import functools
import io
import linecache
import re

_AT_BEGIN = re.compile(r"^\s*(?P<place>\S[^\n]*?:\d+:\d+): ")
_IDENTIFIER = re.compile(r"[\w.$%@\"]+")


def split_place(place: str) -> tuple[str, int, int] | None:
    """File, line and column of ``file:line:column``; None for any other text."""
    parts = place.rsplit(":", 2)
    if len(parts) != 3 or not (parts[1].isdecimal() and parts[2].isdecimal()):
        return None
    return parts[0], int(parts[1]), int(parts[2])


def source_frame(place: str) -> list[str]:
    """The source line at ``file:line:column`` and carets below it; empty if the file cannot be read.

    In Python files, the whole expression that begins there is underlined, in other files the word; without a column,
    the whole line.
    """
    found = split_place(place)
    if found is None:
        return []
    filename, number, column = found
    text = linecache.getline(filename, number).rstrip("\n").replace("\t", " ")
    if not text.strip():
        return []
    begin, end = _span(filename, number, column, text)
    margin = f"{number:5}"
    return [f"{margin} | {text}", f"{' ' * len(margin)} | {' ' * begin}{'^' * max(end - begin, 1)}"]


def with_frames(message: str) -> str:
    """`message`, with the source line below each of its lines that begins with a source location."""
    lines: list[str] = []
    for line in message.split("\n"):
        lines.append(line)
        match = _AT_BEGIN.match(line)
        if match is not None:
            lines += source_frame(match["place"])
    return "\n".join(lines)


def _span(filename: str, number: int, column: int, text: str) -> tuple[int, int]:
    """The columns, counted from 0, to underline."""
    whole = len(text) - len(text.lstrip()), len(text)
    if column == 0:
        return whole
    begin = min(column - 1, len(text))
    if filename.endswith(".py"):
        ends = _expressions(filename, "".join(linecache.getlines(filename))).get((number, begin))
        if ends is not None:
            return begin, min(ends, len(text))
    word = _IDENTIFIER.match(text, begin)
    return begin, word.end() if word is not None else begin + 1


def source_lines(text: str, *, keepends: bool = False) -> list[str]:
    """The lines of Python text as its parser counts them; `str.splitlines` also splits at form feeds, for example."""
    lines = list(io.StringIO(text, newline=""))
    return lines if keepends else [line.rstrip("\r\n") for line in lines]


@functools.lru_cache(maxsize=8)
def _expressions(filename: str, text: str) -> dict[tuple[int, int], int]:
    """The last column, on its first line, of the longest expression that begins at each position of Python text."""
    try:
        tree = ast.parse(text, filename)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    lines = source_lines(text)
    found: dict[tuple[int, int], int] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.expr) or node.end_col_offset is None:
            continue
        line = lines[node.lineno - 1]
        begin = len(line.encode()[: node.col_offset].decode(errors="ignore"))
        last = node.end_lineno == node.lineno
        end = len(line.encode()[: node.end_col_offset].decode(errors="ignore")) if last else len(line)
        key = node.lineno, begin
        found[key] = max(found.get(key, 0), end)
    return found
