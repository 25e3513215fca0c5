"""CPU time of a new process that builds a small program and runs it once: ``python -m benchmarks.cold_start``.

With ``--base PATH``, processes of another checkout take turns with those of this one.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from relax_mlir import terminal
from rich.table import Table

from benchmarks.targets import Row

ROOT = Path(__file__).resolve().parents[1]
RUNS = 7

PROGRAM = """
import sys
import numpy as np
import relax_mlir as rx
from relax_mlir import op as R

bb = rx.BlockBuilder()
x = rx.Var("x", rx.Tensor(("n", 16), "float32"))
w = rx.Var("w", rx.Tensor((16, 8), "float32"))
b = rx.Var("b", rx.Tensor((8,), "float32"))
with bb.function("main", [x, w, b]):
    with bb.dataflow():
        out = bb.emit_output(R.nn.relu(bb.emit(R.add(bb.emit(R.matmul(x, w)), b))))
    bb.emit_func_output(out)
main = rx.build(bb.get())["main"]
arrays = [np.full(shape, 0.5, "f4") for shape in ((3, 16), (16, 8), (8,))]
assert (main(*arrays) == 4.5).all()
print(*sorted(name for name in sys.modules if name.partition(".")[0] in ("relax_mlir", "torch")))
"""
"""It prints the names of the modules of this project and of torch that it has imported."""

_NO_TORCH = 'raise ModuleNotFoundError("No module named \'torch\'", name="torch")\n'
"""A module that takes the place of torch where torch is not installed."""


@dataclass(frozen=True)
class Case:
    """One way to start, and the limit of its CPU time in seconds."""

    name: str
    limit: float
    torch: bool
    cached: bool


CASES = (
    Case("cold, without torch", 1.2, torch=False, cached=False),
    Case("cold, torch installed", 1.3, torch=True, cached=False),
    Case("from the cache, without torch", 0.5, torch=False, cached=True),
    Case("from the cache, torch installed", 0.5, torch=True, cached=True),
)


def run(case: Case, checkout: Path, folder: Path) -> tuple[float, list[str]]:
    """Return the CPU seconds of one process and its children, and the modules that it has imported.

    Args:
        case: the way to start.
        checkout: the source tree whose code runs.
        folder: where bytecode and compiled modules are kept from one process to the next.
    """
    missing = folder / "no_torch"
    missing.mkdir(exist_ok=True)
    (missing / "torch.py").write_text(_NO_TORCH, encoding="utf-8")
    paths = [*([] if case.torch else [missing]), checkout / "python", checkout]
    variables = {
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        "PYTHONDONTWRITEBYTECODE": "",
        "RELAX_MLIR_CACHE": str(int(case.cached)),
        "RELAX_MLIR_CACHE_DIR": str(folder / "cache"),
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | variables)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, done.stdout.split()


def measure(checkouts: Sequence[Path], runs: int = RUNS) -> dict[Case, list[tuple[float, int]]]:
    """Return the median CPU seconds and the number of imported modules, by case and checkout, which take turns."""
    found: dict[Case, list[tuple[float, int]]] = {}
    with tempfile.TemporaryDirectory(prefix="relax-mlir-cold-start-") as place:
        folders = [Path(place, str(number)) for number in range(len(checkouts))]
        for folder in folders:
            folder.mkdir()
        for case in CASES:
            pairs = list(zip(checkouts, folders, strict=True))
            counts = [len(run(case, *pair)[1]) for pair in pairs]  # also fills the caches
            rounds = [[run(case, *pair)[0] for pair in pairs] for _ in range(runs)]
            medians = map(statistics.median, zip(*rounds, strict=True))
            found[case] = list(zip(medians, counts, strict=True))
    return found


def rows() -> Iterator[Row]:
    """The targets of start-up."""
    for case, ((seconds, count),) in measure([ROOT]).items():
        gain = case.limit / seconds
        yield Row("start", f"{case.name}, limit / CPU time", gain, 1.0, f"{seconds:.2f} s, {count} modules")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cold_start", description=__doc__)
    parser.add_argument("--base", type=Path, metavar="PATH", help="another checkout, to compare with")
    parser.add_argument("--runs", type=int, default=RUNS, help=f"processes per case and checkout ({RUNS})")
    options = parser.parse_args(arguments)
    checkouts = [*([] if options.base is None else [options.base.resolve()]), ROOT]
    table = Table()
    names = ["base", "this"][-len(checkouts) :]
    for column in (
        "case",
        "limit",
        *(f"{name}: CPU s" for name in names),
        *(f"{name}: modules" for name in names),
    ):
        table.add_column(column, justify="left" if column == "case" else "right")
    for case, results in measure(checkouts, options.runs).items():
        seconds = (f"{each:.2f}" for each, _ in results)
        table.add_row(case.name, f"{case.limit}", *seconds, *(str(count) for _, count in results))
    terminal.print_table(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
