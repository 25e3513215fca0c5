"""``relax-run``: call a function of a library, of bytecode, or of a module, which is compiled first."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from relax_mlir.tools.command_line import (
    CommandHelp,
    add_common,
    add_tuned,
    completed,
    examples,
    non_negative,
    run_tool,
)
from relax_mlir.tools.supervise import supervised

TOOL = "relax-run"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(
        prog=TOOL,
        description="Call a function once, or time it at several sizes.",
        epilog=examples(
            "relax-run model.so main --input x=x.npy -o out.npz",
            "relax-run model.mlir main --symbols n=1:4096 --time 5",
            "relax-run model.py main --random n=7 --compare reference.npz",
        ),
        formatter_class=CommandHelp,
        allow_abbrev=False,
    )
    model = found.add_argument(
        "model",
        help="a library (.so), bytecode (.vmexec), IR text, a saved module, .onnx, .pt2, or a Python file "
        "(file.py:Name)",
    )
    found.add_argument("function", nargs="?", help="the function to call (default: the only one)")
    _add_inputs(found)
    _add_results(found)
    _add_time(found)
    add_tuned(found)
    completed(model)
    add_common(found)
    return found


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    given = parser.add_argument_group("inputs")
    inputs = given.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="an array (.npy) for a parameter, or arrays (.npz) named like parameters (may be repeated)",
    )
    given.add_argument(
        "--random",
        action="append",
        default=[],
        metavar="n=7,m=64",
        help="make the other arguments: floats of a normal distribution, integers 0 and 1; values of symbols",
    )
    given.add_argument("--seed", type=non_negative, default=0, help="of the random numbers (0)")
    completed(inputs)


def _add_results(parser: argparse.ArgumentParser) -> None:
    out = parser.add_argument_group("results")
    output = out.add_argument("-o", dest="output", metavar="FILE", help="write the results there (.npz)")
    reference = out.add_argument(
        "--compare", metavar="FILE", help="compare with the arrays of this file (.npz): result, or result0, …"
    )
    out.add_argument("--rtol", type=float, default=1e-5, help="allowed relative error (1e-05)")
    out.add_argument("--atol", type=float, default=1e-6, help="allowed absolute error (1e-06)")
    completed(output)
    completed(reference)


def _add_time(parser: argparse.ArgumentParser) -> None:
    watch = parser.add_argument_group("time")
    watch.add_argument(
        "--time", type=float, metavar="SECONDS", help="measure calls for this long, for all sizes together"
    )
    watch.add_argument(
        "--symbols",
        action="append",
        default=[],
        metavar="n=1:4096,m=64",
        help="with --time: measure at sizes from the first to the last value, with random arguments",
    )
    plot = watch.add_argument(
        "--plot", metavar="FILE", help="with --symbols: plot the times (.png or .svg; needs matplotlib)"
    )
    trace = watch.add_argument(
        "--profile", metavar="FILE", help="write a trace of one call for chrome://tracing (of a module)"
    )
    watch.add_argument("--threads", type=int, metavar="N", help="run on this many threads (of a module or library)")
    completed(plot)
    completed(trace)


def run(arguments: Sequence[str]) -> int:
    """Run the command in this process; 0 on success, else 1 (2: a wrong command line)."""
    return run_tool(parser(), _work, arguments)


def _work(options: argparse.Namespace) -> int:
    from relax_mlir.tools.run_driver import run_model

    return run_model(options)


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the command, which runs in a child process."""
    return supervised(TOOL, run, sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    sys.exit(main())
