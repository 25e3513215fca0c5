"""``relax-opt``: run passes on a module, like ``mlir-opt``. See ``relax-opt --help``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from relax_mlir.tools.supervise import supervised

if TYPE_CHECKING:
    from relax_mlir.tools.opt_options import Options

TOOL = "relax-opt"
TEXTS = {
    "help": "help_text",
    "version": "version_text",
    "show-passes": "passes_text",
    "show-dialects": "dialects_text",
    "cache-info": "cache_info_text",
    "cache-clear": "cache_clear_text",
    "print-target": "target_text",
    "print-completion": "completion_text",
}
"""Options without input, and the functions of `opt_help` that return their texts."""
TAKES = {"print-target": "target", "print-completion": "print-completion"}
"""The options whose value is passed to the function."""


def run(arguments: Sequence[str]) -> int:
    """Run the command in this process; 0 on success, else 1."""
    from relax_mlir import terminal
    from relax_mlir.error import RelaxError
    from relax_mlir.tools.opt_options import parse_arguments

    terminal.choose_colour(None)
    try:
        options = parse_arguments(arguments)
        if "color" in options.values:
            terminal.choose_colour(options.on("color"))
        if any(options.on(name) for name in TEXTS):
            sys.stdout.write(_text(options))
            return 0
        from relax_mlir.tools.opt_driver import Driver

        return Driver(options).run()
    except RelaxError as error:
        print(terminal.error_line(TOOL, error, sys.stderr), file=sys.stderr)
        return 1


def _text(options: Options) -> str:
    """The text for an option of `TEXTS`; imports the modules that it needs."""
    from relax_mlir.tools import opt_help

    shown = next(name for name in TEXTS if options.on(name))
    given = (options.text(TAKES[shown]),) if shown in TAKES else ()
    text: str = getattr(opt_help, TEXTS[shown])(*given)
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the command, which runs in a child process."""
    return supervised(TOOL, run, sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    sys.exit(main())
