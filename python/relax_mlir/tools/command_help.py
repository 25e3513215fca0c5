"""Help texts of ``relax-compile``, ``-run`` and ``-tune``: options are not split, examples have a line each."""

from __future__ import annotations

import argparse
import textwrap

EXAMPLES = "examples:"


def examples(*commands: str) -> str:
    """The examples at the end of a help text."""
    return "\n".join([EXAMPLES, *(f"  {command}" for command in commands)])


class CommandHelp(argparse.HelpFormatter):
    """Wraps text at spaces only, since options and names of commands have hyphens; keeps the lines of `examples`."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith(EXAMPLES):
            return text
        return "\n".join(indent + line for line in self._split_lines(text, width - len(indent)))
