"""Compare many random programs: ``python test/python/differential/soak.py 1000:2000`` (`--help` has the options).

A failing seed is shrunk to the shortest prefix that still fails, and printed with its script form.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "support"))

from checking import check
from generator import Generator
from pass_property import check_program

BYTECODE = False
"""True if programs also run as bytecode."""
LEVEL: int | None = None
"""The optimisation level; None: round-robin by seed."""
LEVELS = 4


def attempt(seed: int, functions: int, limit: int | None = None, last_only: bool = False) -> Exception | None:
    """The error of one seed, or None; `limit` and `last_only` shorten its functions."""
    level = seed % LEVELS if LEVEL is None else LEVEL
    try:
        check(
            Generator(seed, functions, limit, last_only),
            seed,
            passes=seed % 3 == 0,
            bytecode=BYTECODE,
            opt_level=level,
        )
    except Exception as error:
        return error
    return None


def attempt_passes(seed: int) -> Exception | None:
    """The error of the program of effects of one seed, after each pass and after some sequences; or None."""
    try:
        check_program(seed, sequences=8, each=True)
    except Exception as error:
        return error
    return None


def shrink(seed: int, functions: int) -> tuple[int, int | None, bool]:
    """(functions, limit, last_only): the smallest program found that fails."""
    best: tuple[int, int | None, bool] = (functions, None, False)
    for count in range(1, functions + 1):
        if attempt(seed, count):
            best = (count, None, False)
            break
    for limit in range(1, 31):
        for last_only in (True, False):
            if attempt(seed, best[0], limit, last_only):
                return best[0], limit, last_only
    return best


def report(seed: int, functions: int, error: Exception) -> None:
    """Print the shrunk program of `seed` and its error."""
    small = shrink(seed, functions)
    again = attempt(seed, *small) or error
    print(f"=== seed {seed} shrunk to {small}")
    print("".join(traceback.format_exception(again)[-6:])[-4000:])
    print(Generator(seed, *small).bb.get().script())
    sys.stdout.flush()


def main() -> None:
    """Run the seeds of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", help="first:end")
    parser.add_argument("--functions", type=int, default=4)
    parser.add_argument("--stop", action="store_true", help="stop at the first failure")
    parser.add_argument("--passes", action="store_true", help="programs of effects, after every pass and sequences")
    parser.add_argument("--bytecode", action="store_true", help="as bytecode, too: the same bits as natively")
    parser.add_argument("--opt-level", type=int, choices=range(LEVELS), help="default: each in turn, by the seed")
    parser.add_argument("--list", action="store_true", help="name the failing seeds only, which is fast")
    options = parser.parse_args()
    global BYTECODE, LEVEL
    BYTECODE, LEVEL = options.bytecode, options.opt_level
    first, end = map(int, options.seeds.split(":"))
    started, failed = time.perf_counter(), 0
    for seed in range(first, end):
        error = attempt_passes(seed) if options.passes else attempt(seed, options.functions)
        if error is not None:
            failed += 1
            print(f"seed {seed}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            if options.passes:
                print(error, flush=True)
            elif not options.list:
                report(seed, options.functions, error)
            if options.stop:
                break
    print(f"{failed} failures, {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
