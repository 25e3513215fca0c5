"""Common parts of the command lines of ``relax-compile``, ``relax-run`` and ``relax-tune``."""

from __future__ import annotations

import sys
from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.tools import colour
from relax_mlir.tools.opt_flags import SHELLS, TRUSTED_HELP

FILE, DIRECTORY = "file", "directory"


def completed(action: Any, kind: str = FILE) -> None:  # noqa: ANN401 - an action of argparse
    """Complete the values of an argument as names of files or folders."""
    action.completed_as = kind


class _PrintCompletion(Action):
    """Prints the script for a shell, and exits."""

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: object, option: str | None = None
    ) -> None:
        from relax_mlir.tools.completion import script  # needed for this option only

        sys.stdout.write(script(parser, str(values)))
        parser.exit()


def non_negative(text: str) -> int:
    """Parse a non-negative integer option; argparse reports a ValueError."""
    number = int(text)
    if number < 0:
        raise ArgumentTypeError(f"expected an integer from 0 on, got {number}")
    return number


def add_common(parser: ArgumentParser) -> None:
    """Add the options that all tools have."""
    from relax_mlir._version import version

    parser.add_argument("--trusted", action="store_true", help=TRUSTED_HELP)
    parser.add_argument(
        "--print-completion",
        action=_PrintCompletion,
        choices=SHELLS,
        metavar="SHELL",
        help=f"print a script that completes options and files in a shell: {', '.join(SHELLS)}",
    )
    parser.add_argument("--version", action="version", version=f"{parser.prog} {version()}")


def run_tool(parser: ArgumentParser, work: Callable[[Namespace], int], arguments: Sequence[str]) -> int:
    """Run `work` with the parsed arguments; 0 on success, else 1 (2: a wrong command line)."""
    from relax_mlir.error import RelaxError

    try:
        return work(parser.parse_args(arguments))
    except SystemExit as ended:  # --help, --version, or a wrong command line
        return ended.code if isinstance(ended.code, int) else 2
    except RelaxError as error:
        print(colour.error_line(parser.prog, error, sys.stderr), file=sys.stderr)
        return 1
