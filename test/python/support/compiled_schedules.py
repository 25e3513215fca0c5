"""Random schedules, compiled, against the interpreter."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import random_prims
import random_schedules
import relax_mlir as rx
from relax_mlir import te
from relax_mlir.te.prim_func import integers_of
from relax_mlir.te.tensors import operations_of

SIZES = 4
"""The number of sizes at which each is compared."""
Array = np.ndarray[Any, Any]


def compare_tensors(seeds: Sequence[int]) -> None:
    """Schedules of tensor expressions, as one module."""
    bb = rx.BlockBuilder()
    computations: dict[int, Any] = {}
    for seed in seeds:
        of = computations[seed] = random_schedules.computation(seed)
        schedule = random_schedules.scheduled(of, seed).schedule
        bb.add_func(te.lower(schedule, [*of.inputs, *of.outputs], f"f{seed}"), f"f{seed}")
    executable = rx.build(bb.get())
    for seed, of in computations.items():
        names = integers_of([*of.inputs, *of.outputs], operations_of(of.outputs))

        def call(arrays: Sequence[Array], sizes: dict[str, int], seed: int = seed, names: Any = names) -> None:
            executable[f"f{seed}"](*arrays, *(sizes[name] for name in names))

        _compare(seed, of.plain(), of.arrays, lambda rng, of=of: random_schedules.sizes(of, rng), call)


def compare_prims(seeds: Sequence[int]) -> None:
    """Schedules of prim funcs, as one module."""
    bb = rx.BlockBuilder()
    names: dict[int, str] = {}
    for seed in seeds:
        schedule = random_prims.scheduled(random_prims.written(seed), seed).schedule
        names[seed] = bb.add_func(schedule.mod, "main").name_hint
    executable = rx.build(bb.get())
    for seed in seeds:
        of = random_prims.prim(seed)

        def call(arrays: Sequence[Array], sizes: dict[str, int], seed: int = seed) -> None:
            executable[names[seed]](*arrays)

        _compare(seed, of.plain(), of.arrays, of.sizes, call)


def _compare(
    seed: int,
    plain: str,
    arrays: Callable[[dict[str, int], np.random.Generator], tuple[list[Array], list[Array]]],
    choose: Callable[[random.Random], dict[str, int]],
    call: Callable[[Sequence[Array], dict[str, int]], None],
) -> None:
    rng = random.Random(seed)
    for number in range(SIZES):
        sizes = choose(rng)
        ins, expected = arrays(sizes, np.random.default_rng(seed + number))
        results = [np.copy(array) for array in expected]
        random_schedules.run(plain, [*ins, *expected], sizes)
        call([*ins, *results], sizes)
        for ours, theirs in zip(results, expected, strict=True):
            np.testing.assert_array_equal(ours, theirs, err_msg=f"seed {seed}, sizes {sizes}")
