"""The command line of tests that also run on given seeds: ``python FILE --seed 7 --count 5000``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping


def run_seeds(what: str, description: str | None, run: Callable[[int, int], Mapping[str, int]]) -> None:
    """Call `run` with the first seed and their number, and print the outcomes that it counts."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seed", type=int, default=None, help="the first (default: the time)")
    parser.add_argument("--count", type=int, default=5000)
    options = parser.parse_args()
    seed = int(time.time()) * 1000 if options.seed is None else options.seed
    print(f"{what} {seed} to {seed + options.count - 1}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(run(seed, options.count).items())))
