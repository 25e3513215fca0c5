"""Random prim funcs with loop annotations, on arrays between inaccessible pages: ``SEED COUNT TARGET``."""

from __future__ import annotations

import faulthandler
import sys
from random import Random
from typing import Any

import numpy as np
import relax_mlir as rx
from guard_pages import GuardedMemory
from loop_generator import LoopGenerator
from relax_mlir.script import parse
from tir_reference import interpret, numpy_dtype

SIZES = ((1, 1), (3, 5), (9, 33), (8, 47))
MEMORY = GuardedMemory()


def arrays(generator: LoopGenerator, n: int, m: int, seed: int) -> list[Any]:
    """Small integers, in any dtype: sums of products are exact, so that FMA gives the same results."""
    rng = np.random.default_rng(seed)
    shapes = ((n, m), (m, m), (n,), (n, m), (n, m), (n,), (n, m), (n, m))
    found = []
    for shape, name in zip(shapes, generator.dtypes, strict=True):
        low = 0 if name.startswith(("u", "bool")) else -3
        found.append(rng.integers(low, 2 if name == "bool" else 4, shape).astype(numpy_dtype(name)))
    return found


def main(first: int, count: int, target: str) -> None:
    """Compare with Python, on memory right before and right after a protected page."""
    generators = [LoopGenerator(Random(seed)) for seed in range(first, first + count)]
    sources = [generator.program(f"k{number}") for number, generator in enumerate(generators)]
    body = "\n".join(f"    {line}" for source in sources for line in source.splitlines())
    built = rx.build(parse(f"@I.ir_module\nclass M:\n{body}\n"), target)
    for number, (generator, source) in enumerate(zip(generators, sources, strict=True)):
        for n, m in SIZES:
            given = arrays(generator, n, m, number)
            expected = [array.copy() for array in given]
            interpret(source, expected)
            for at_end in (True, False):
                placed = [MEMORY.place(array, at_end) for array in given]
                print(source, n, m, flush=True)
                built[f"k{number}"](*placed)
                for ours, theirs in zip(placed, expected, strict=True):
                    np.testing.assert_array_equal(ours, theirs)
                MEMORY.release()


if __name__ == "__main__":
    faulthandler.enable()
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
