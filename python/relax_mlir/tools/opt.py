"""``relax-opt``: run passes on a module, in the manner of ``mlir-opt``. See ``relax-opt --help``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from relax_mlir.tools.supervise import supervised

TEXTS = {
    "help": "help_text",
    "version": "version_text",
    "show-passes": "passes_text",
    "show-dialects": "dialects_text",
    "cache-info": "cache_info_text",
    "cache-clear": "cache_clear_text",
    "print-target": "target_text",
}
"""Options that take no input, and the function of `opt_help` that gives the text to show."""


def run(arguments: Sequence[str]) -> int:
    """Do what the arguments ask for, in this process; 0 on success, else 1."""
    from relax_mlir.error import RelaxError
    from relax_mlir.tools.opt_options import parse_arguments

    try:
        options = parse_arguments(arguments)
        shown = next((name for name in TEXTS if options.on(name)), None)
        if shown is not None:
            from relax_mlir.tools import opt_help

            given = (options.text("target"),) if shown == "print-target" else ()
            sys.stdout.write(getattr(opt_help, TEXTS[shown])(*given))
            return 0
        from relax_mlir.tools.opt_driver import Driver

        return Driver(options).run()
    except RelaxError as error:
        print(f"relax-opt: error: {error}", file=sys.stderr)
        return 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the command; the work happens in a child process."""
    return supervised("relax-opt", run, sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    sys.exit(main())
