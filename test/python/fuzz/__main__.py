"""Mutants through the compiler and compiled code: ``python test/python/fuzz --count 5000`` (see `--help`)."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from campaign import Campaign


def main() -> int:
    """Run the mutants of the command line; 1 if any of them fails."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="of the run; it is printed (default: the time)")
    parser.add_argument("--count", type=int, default=5000, help="how many mutants")
    parser.add_argument("--first", type=int, default=0, help="the number of the first mutant")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60, help="the time limit of a step of a mutant")
    parser.add_argument("--out", type=Path, default=None, help="a folder for the files of failures")
    parser.add_argument("--no-shrink", action="store_true", help="write failures as they are")
    parser.add_argument("--stop", action="store_true", help="stop at the first failure")
    parser.add_argument("--compile-only", action="store_true", help="no machine code and no calls, which is faster")
    options = parser.parse_args()
    seed = int(time.time()) if options.seed is None else options.seed
    out = options.out or Path(tempfile.mkdtemp(prefix="relax-mlir-fuzz-"))
    print(f"seed {seed}, mutants {options.first} to {options.first + options.count - 1}", flush=True)
    campaign = Campaign(seed, options.seconds, out, shrink=not options.no_shrink, stop=options.stop)
    campaign.compile_only = options.compile_only
    campaign.run(range(options.first, options.first + options.count), options.workers)
    print(campaign.summary())
    return 1 if campaign.failures else 0


if __name__ == "__main__":
    sys.exit(main())
