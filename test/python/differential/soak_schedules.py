"""Random schedules against the computation without one: ``python test/python/differential/soak_schedules.py 0:1500``.

Each seed is a computation with a schedule, which runs at `--sizes` random sizes; every sixteenth is compiled, too. A
failing seed prints its schedule and its loops. With `--prims` it is a prim func with a `tir.Schedule`.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from pathlib import Path

sys.path += [str(Path(__file__).parents[1] / folder) for folder in ("support", "te")]

import random_prims
import random_schedules
from compiled_schedules import compare_prims, compare_tensors

EVERY = 16
"""One of this many seeds is compiled."""


def attempt(seed: int, sizes: int, compiled: bool, prims: bool) -> Exception | None:
    """The error of one seed, or None."""
    try:
        (random_prims if prims else random_schedules).check(seed, sizes)
        if compiled:
            (compare_prims if prims else compare_tensors)([seed])
    except Exception as error:
        return error
    return None


def report(seed: int, error: Exception, prims: bool) -> None:
    """Print a failing schedule."""
    print(f"=== seed {seed}: {type(error).__name__}: {error}")
    print("".join(traceback.format_exception(error)[-3:])[-2000:])
    if prims:
        written = random_prims.written(seed)
        made = random_prims.scheduled(written, seed)
        print(written, made.schedule.trace, made.source, sep="\n", flush=True)
        return
    found = random_schedules.scheduled(random_schedules.computation(seed), seed)
    print(found.schedule.trace, found.source, sep="\n", flush=True)


def main() -> None:
    """Run the seeds of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", help="first:end")
    parser.add_argument("--sizes", type=int, default=4, help="how many sizes for each schedule")
    parser.add_argument("--prims", action="store_true", help="tir.Schedule, on prim funcs")
    parser.add_argument("--interpret", action="store_true", help="compile none")
    options = parser.parse_args()
    first, end = map(int, options.seeds.split(":"))
    started, failed = time.perf_counter(), 0
    for seed in range(first, end):
        compiled = not options.interpret and seed % EVERY == 0
        error = attempt(seed, options.sizes, compiled, options.prims)
        if error is not None:
            failed += 1
            report(seed, error, options.prims)
    cases = (end - first) * options.sizes
    print(f"{cases} cases, {failed} failures, {time.perf_counter() - started:.0f} s")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
