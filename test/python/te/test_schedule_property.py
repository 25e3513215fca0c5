"""Random valid schedules of random computations compute what the computation without a schedule does, at all sizes."""

from __future__ import annotations

import pytest
import random_schedules
import sweep
from compiled_schedules import compare_tensors

SEEDS = range(120)
TRIED = SEEDS if sweep.ALL else SEEDS[:48]
SIZES = 3
COMPILED = range(1000, 1016 if sweep.ALL else 1008)


@pytest.mark.parametrize("part", range(8))
def test_random_schedules(part: int) -> None:
    """A part of `make soak`: interpreted, with indices that must be inside of their buffers."""
    for seed in TRIED[part::8]:
        random_schedules.check(seed, SIZES)


def test_random_schedules_compiled() -> None:
    compare_tensors(COMPILED)


def test_some_have_intrinsics() -> None:
    found = [random_schedules.scheduled(random_schedules.computation(seed), seed) for seed in SEEDS[::4]]
    assert sum(schedule.tensorized for schedule in found) > 10
    assert sum("else:" in schedule.source for schedule in found) > 2, "some tiles may be smaller than an intrinsic"
