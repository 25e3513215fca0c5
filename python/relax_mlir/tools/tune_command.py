"""``relax-tune``: measures knob values of a module's schedules and stores the best ones. See ``relax-tune --help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from relax_mlir.tools.command_line import (
    CommandHelp,
    add_common,
    add_strategies,
    completed,
    examples,
    run_tool,
)
from relax_mlir.tools.supervise import supervised

TOOL = "relax-tune"
SEARCHES = ("evolutionary", "random", "model", "optuna")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(
        prog=TOOL,
        description="Tune the schedules with knobs of a module: measure them with other values, keep all in a file.",
        epilog=examples(
            "relax-tune model.mlir --strategies mine.py --out tuned.json",
            "relax-tune model.py --budget 10m --out tuned.json --plot best.svg",
            "relax-tune model.py --sizes n=1,m=7 --sizes n=64,m=64 --out t.json",
            "relax-compile model.py --tuned tuned.json -o model.so",
        ),
        formatter_class=CommandHelp,
        allow_abbrev=False,
    )
    model = found.add_argument(
        "input",
        help="IR text, a module that IRModule.save has written, .onnx, .pt2, or a Python file that defines a module, "
        "or tasks of "
        "relax_mlir.tuning (file.py:Name if it defines several modules)",
    )
    add_strategies(found)
    output = found.add_argument(
        "-o",
        "--out",
        metavar="FILE",
        help="the file of measurements (tuned.json): what it has is not measured again",
    )
    found.add_argument("--list", action="store_true", help="list the tasks of the module, and exit")
    _add_spent(found)
    _add_measured(found)
    plot = found.add_argument(
        "--plot", metavar="FILE", help="plot the best so far of each task (.png or .svg; needs matplotlib)"
    )
    for action in (model, output, plot):
        completed(action)
    add_common(found)
    return found


def _add_spent(parser: argparse.ArgumentParser) -> None:
    spent = parser.add_argument_group("what is spent")
    spent.add_argument(
        "--budget",
        metavar="TIME",
        help="for all tasks together, as 90s, 10m or 1h30m (default: 10m, or no limit with --trials)",
    )
    spent.add_argument("--trials", type=int, metavar="N", help="so many candidates of each task at most")
    spent.add_argument("--timeout", metavar="TIME", default="60s", help="for one candidate (60s)")
    spent.add_argument(
        "--workers", type=int, metavar="N", default=1, help="processes that measure, each on its own CPU (1)"
    )
    spent.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="measure on the workers of this Dask scheduler (tcp://host:8786), not on this machine alone",
    )


def _add_measured(parser: argparse.ArgumentParser) -> None:
    how = parser.add_argument_group("what is measured")
    how.add_argument(
        "--sizes",
        action="append",
        default=[],
        metavar="n=1,m=7",
        help="sizes to judge by (may be repeated; default: four, drawn between the bounds of the symbols)",
    )
    how.add_argument(
        "--objective",
        choices=("mean", "worst"),
        default="mean",
        help="judge by the geometric mean over the sizes, or by the worst one (mean)",
    )
    how.add_argument(
        "--buckets",
        type=int,
        metavar="N",
        default=1,
        help="look for a table of up to so many configurations by size, too, 4 at most (1)",
    )
    how.add_argument(
        "--search",
        choices=SEARCHES,
        default="evolutionary",
        metavar="NAME",
        help=f"how candidates are chosen: {', '.join(SEARCHES)} (evolutionary)",
    )
    how.add_argument("--seed", type=int, default=0, metavar="N", help="of the search and of drawn sizes (0)")
    how.add_argument("--target", metavar="TEXT", default="cpu", help="the machine (cpu, the host)")


def run(arguments: Sequence[str]) -> int:
    """Run the command in this process; 0 on success, else 1 (2: a wrong command line)."""
    return run_tool(parser(), _work, arguments)


def _work(options: argparse.Namespace) -> int:
    from relax_mlir.tools.tune_driver import tune_file

    return tune_file(options)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the command, which runs in a child process."""
    return supervised(TOOL, run, sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    sys.exit(main())
