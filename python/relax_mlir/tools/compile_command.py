"""``relax-compile``: compiles a module in a file to a library, an object or bytecode. See ``relax-compile --help``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from relax_mlir.tools.command_line import CommandHelp, add_common, add_tuned, completed, examples, run_tool
from relax_mlir.tools.supervise import supervised

TOOL = "relax-compile"
ENDINGS = (".so", ".o", ".a", ".vmexec")
FORMS = (
    *("relax", "calls", "explicit-memory", "vm", "tensors", "memrefs", "kernels", "flat", "llvm"),
    *("llvm-ir", "asm", "bytecode"),
)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(
        prog=TOOL,
        description="Compile a module to a file that runs without the compiler, or show its code.",
        epilog=examples(
            "relax-compile model.py -o model.so",
            "relax-compile model.mlir --emit=asm",
            "relax-compile --inspect model.so",
        ),
        formatter_class=CommandHelp,
        allow_abbrev=False,
    )
    model = found.add_argument(
        "input",
        help="IR text, a module that IRModule.save has written, .onnx, .pt2, or a Python file that defines a module "
        "(file.py:Name if it defines several); with --inspect, a library",
    )
    output = found.add_argument(
        "-o",
        dest="output",
        metavar="FILE",
        help=f"where to write: a name that ends with {', '.join(ENDINGS)}; with --emit, any file (default: stdout)",
    )
    completed(model)
    completed(output)
    _add_code(found)
    add_tuned(found)
    found.add_argument("--no-cache", action="store_true", help="do not use the cache of compiled modules")
    found.add_argument("--inspect", action="store_true", help="show what a library says of itself, and exit")
    found.add_argument("--json", action="store_true", help="with --inspect: as JSON")
    found.add_argument("-v", "--verbose", action="store_true", help="show how long each phase took, and sizes")
    add_common(found)
    return found


def _add_code(parser: argparse.ArgumentParser) -> None:
    """Options of the code that is made."""
    parser.add_argument(
        "--target",
        action="append",
        metavar="TEXT",
        help="the machine, as 'cpu -mcpu=haswell' (default: cpu, the host); given several times, a library has code "
        "for each and takes the best that the CPU can run",
    )
    parser.add_argument(
        "--weights",
        choices=("embed", "beside"),
        help="where constants are: in the library, or in a file of safetensors beside it (default: embed)",
    )
    parser.add_argument(
        "--emit",
        choices=FORMS,
        metavar="FORM",
        help=f"write the module at a level, or its code: {', '.join(FORMS)}",
    )
    parser.add_argument(
        "--entry",
        action="append",
        default=[],
        metavar="NAME",
        help="keep this public function only (may be repeated; default: all)",
    )
    parser.add_argument(
        "--exec-mode",
        choices=("native", "bytecode"),
        help="how functions run (default: bytecode for .vmexec, else native)",
    )
    parser.add_argument(
        "--opt-level",
        type=int,
        choices=range(4),
        default=2,
        help="which passes run: from 0, which compiles fastest, to 3 (default: 2)",
    )
    parser.add_argument(
        "--profile", action="store_true", help="let a library write records: relax-run --profile reads them"
    )


def run(arguments: Sequence[str]) -> int:
    """Run the command in this process; 0 on success, else 1 (2: a wrong command line)."""
    return run_tool(parser(), _work, arguments)


def _work(options: argparse.Namespace) -> int:
    from relax_mlir.tools.compile_driver import compile_file, inspect_file

    if options.inspect:
        inspect_file(options)
    else:
        compile_file(options)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the command, which runs in a child process."""
    return supervised(TOOL, run, sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    sys.exit(main())
