"""Text that runs without a file: that of ``python -c``, and what has been typed at the prompt of Python."""

from __future__ import annotations

import ast
import itertools
import sys

from relax_mlir.source_frame import source_lines

COMMAND, PROMPT = "<string>", "<stdin>"
"""What Python calls the files of such text. Later versions keep what is typed under names of its own."""
MAX_LINES = 2000
"""How far back a definition may have begun."""


def typed_lines(filename: str) -> list[str]:
    """The lines of the text that Python runs as `filename`; none where they are not to be had."""
    if filename == COMMAND:
        return _command()
    return _last_block(_history()) if filename == PROMPT else []


def _command() -> list[str]:
    """The text behind ``python -c``."""
    given = sys.orig_argv
    for option, text in itertools.pairwise(given):
        if option.startswith("-") and not option.startswith("--") and option.endswith("c"):
            return source_lines(text, keepends=True)
    return []


def _history() -> list[str]:
    """The last lines that have been typed, in order."""
    readline = sys.modules.get("readline")
    if readline is None:
        return []
    count = readline.get_current_history_length()
    items = (readline.get_history_item(number) for number in range(max(1, count - MAX_LINES), count + 1))
    return [item for item in items if item is not None]


def _last_block(lines: list[str]) -> list[str]:
    """The last statement among typed lines: the shortest end of them that is one class or function."""
    for start in range(len(lines) - 1, -1, -1):
        if not lines[start].startswith(("@", "class ", "def ")):
            continue
        if start and lines[start - 1].startswith("@"):
            continue  # a decorator stands in front
        found = [line + "\n" for line in lines[start:]]
        try:
            body = ast.parse("".join(found)).body
        except (SyntaxError, ValueError):
            return []
        is_definition = len(body) == 1 and isinstance(body[0], ast.ClassDef | ast.FunctionDef)
        return found if is_definition else []
    return []
