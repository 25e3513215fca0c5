"""Random valid schedules of random computations compute what the computation without a schedule does, at all sizes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import random_schedules
import relax_mlir as rx
from relax_mlir import te
from relax_mlir.te.graph import operations_of
from relax_mlir.te.prim_func import integers_of

SEEDS = range(240)
SIZES = 3
COMPILED = range(1000, 1016)


@pytest.mark.parametrize("part", range(8))
def test_random_schedules(part: int) -> None:
    """A part of `make soak`: interpreted, with indices that must be inside of their buffers."""
    for seed in SEEDS[part::8]:
        random_schedules.check(seed, SIZES)


def test_random_schedules_compiled() -> None:
    compare(COMPILED)


def compare(seeds: Sequence[int]) -> None:
    """Compile the schedules of seeds as one module, and compare each with the interpreter at some sizes."""
    bb = rx.BlockBuilder()
    computations: dict[int, Any] = {}
    for seed in seeds:
        of = computations[seed] = random_schedules.computation(seed)
        schedule = random_schedules.scheduled(of, seed).schedule
        bb.add_func(te.lower(schedule, [*of.inputs, *of.outputs], f"f{seed}"), f"f{seed}")
    executable = rx.build(bb.get())
    for seed, of in computations.items():
        rng = random.Random(seed)
        names = integers_of([*of.inputs, *of.outputs], operations_of(of.outputs))
        for number in range(4):
            sizes = random_schedules.sizes(of, rng)
            ins, expected = of.arrays(sizes, np.random.default_rng(seed + number))
            results = [np.copy(array) for array in expected]
            random_schedules.run(of.plain(), [*ins, *expected], sizes)
            executable[f"f{seed}"](*ins, *results, *(sizes[name] for name in names))
            for ours, theirs in zip(results, expected, strict=True):
                np.testing.assert_array_equal(ours, theirs, err_msg=f"seed {seed}, sizes {sizes}")
