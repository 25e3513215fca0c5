"""Mutants of passes against their lit files alone: ``python test/python/mutants --seed 61 --count 10``.

A mutant is the source of a pass with one operator, number, condition or call changed. It is killed if a lit file of the
pass fails. What survives is a line that no lit file needs, or a mutant that computes the same (`equivalent`).
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import random
import sys
import time
from collections.abc import Sequence

from equivalent import EQUIVALENT
from lit_runs import LitRuns
from mutations import Mutant, mutate, sites
from pass_files import ROOT, lines_of, lit_files, module_paths, modules_of, pass_names
from relax_mlir.transform.registry import PASSES

EQUAL = {(row.path, row.before, row.after) for row in EQUIVALENT}
_runs: dict[str, LitRuns] = {}


def chosen(name: str, limit: int, seed: int) -> tuple[list[Mutant], int]:
    """Mutants of a pass that may be killed, `limit` at most, at random; and how many sites there are."""
    sources = {module: module_paths()[module].read_text(encoding="utf-8") for module in modules_of(name)}
    found = []
    for module, source in sources.items():
        found += sites(module, module_paths()[module].relative_to(ROOT).as_posix(), source)
    own = lines_of(name)
    found = [site for site in found if site.module != PASSES[name].partition(":")[0] or site.line in own]
    random.Random(f"{seed} {name}").shuffle(found)
    made = (mutate(site, sources[site.module]) for site in found)
    kept = (m for m in made if (m.site.path, m.before, m.after) not in EQUAL)
    return list(itertools.islice(kept, limit)), len(found)


def _judge(work: tuple[str, Mutant]) -> tuple[Mutant, str]:
    name, mutant = work
    return mutant, _runs[name].failing(mutant.site.module, mutant.source)[0]


def score(name: str, options: argparse.Namespace) -> tuple[int, int]:
    """Print the score of a pass and its survivors; how many mutants were killed, and how many there were."""
    start = time.monotonic()
    _runs[name] = LitRuns(lit_files(name), options.seconds)
    for module in modules_of(name):
        _runs[name].check(module, module_paths()[module].read_text(encoding="utf-8"))
    tried, total = chosen(name, options.limit, options.seed)
    work = [(name, mutant) for mutant in tried]
    if options.workers == 1:
        verdicts = list(map(_judge, work))
    else:  # each worker starts a warm process
        with multiprocessing.get_context("fork").Pool(options.workers) as pool:
            verdicts = list(pool.imap(_judge, work))
    survivors = [mutant for mutant, killer in verdicts if not killer]
    killed = len(tried) - len(survivors)
    rate = f"{killed} of {len(tried)} mutants killed ({killed / max(len(tried), 1):.0%})"
    print(f"{name}: {rate}, of {total} there are, {time.monotonic() - start:.0f} s")
    for mutant in sorted(survivors, key=lambda mutant: (mutant.site.path, mutant.site.line)):
        print(f"  {mutant}")
    if options.verbose:
        for mutant, killer in verdicts:
            print(f"  {killer or 'survived'}: {mutant}")
    sys.stdout.flush()
    return killed, len(tried)


def main(arguments: Sequence[str] | None = None) -> int:
    """Score the passes of the command line."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--pass", dest="names", action="append", choices=pass_names(), metavar="NAME")
    parser.add_argument("--count", type=int, default=10, help="how many passes, at random, if none is named")
    parser.add_argument("--seed", type=int, default=None, help="of the random choices (default: the time)")
    parser.add_argument("--limit", type=int, default=100, help="mutants of a pass; of more, some at random")
    parser.add_argument("--seconds", type=int, default=20, help="of CPU that a tool may take with a mutant")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="the verdict on each mutant")
    options = parser.parse_args(arguments)
    options.seed = int(time.time()) if options.seed is None else options.seed
    names = options.names or pass_names()
    if not options.names and options.count < len(names):
        names = sorted(random.Random(options.seed).sample(names, options.count))
    print(f"seed {options.seed}", flush=True)
    scores = [score(name, options) for name in names]
    killed, tried = (sum(numbers) for numbers in zip(*scores, strict=True))
    print(f"all {len(names)}: {killed} of {tried} mutants killed ({killed / max(tried, 1):.0%})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
