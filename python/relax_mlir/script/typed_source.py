"""Source without a file: from ``python -c`` or typed at the Python prompt."""

from __future__ import annotations

import ast
import itertools
import sys

from relax_mlir.source_frame import source_lines

COMMAND, PROMPT = "<string>", "<stdin>"
"""Python's file names of such text. Later versions name each typed input separately."""
MAX_LINES = 2000
"""The maximum number of history lines searched for the start of a definition."""


def typed_lines(filename: str) -> list[str]:
    """Return the lines of the text that Python runs as `filename`; empty if they are not available."""
    if filename == COMMAND:
        return _command()
    return _last_block(_history()) if filename == PROMPT else []


def _command() -> list[str]:
    """Return the text after ``python -c``."""
    given = sys.orig_argv
    for option, text in itertools.pairwise(given):
        if option.startswith("-") and not option.startswith("--") and option.endswith("c"):
            return source_lines(text, keepends=True)
    return []


def _history() -> list[str]:
    """Return the most recently typed lines, in order."""
    readline = sys.modules.get("readline")
    if readline is None:
        return []
    count = readline.get_current_history_length()
    items = (readline.get_history_item(number) for number in range(max(1, count - MAX_LINES), count + 1))
    return [item for item in items if item is not None]


def _last_block(lines: list[str]) -> list[str]:
    """Return the last class or function definition among typed lines; empty if they end in something else."""
    for start in range(len(lines) - 1, -1, -1):
        if not lines[start].startswith(("@", "class ", "def ")):
            continue
        if start and lines[start - 1].startswith("@"):
            continue  # a decorator precedes it
        found = [line + "\n" for line in lines[start:]]
        try:
            body = ast.parse("".join(found)).body
        except (SyntaxError, ValueError):
            return []
        is_definition = len(body) == 1 and isinstance(body[0], ast.ClassDef | ast.FunctionDef)
        return found if is_definition else []
    return []
