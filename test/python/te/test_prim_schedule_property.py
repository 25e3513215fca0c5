"""Random primitives of `tir.Schedule` on random prim funcs preserve their results, at all sizes."""

from __future__ import annotations

import pytest
import random_prims
import sweep
from compiled_schedules import compare_prims

SEEDS = range(45 if sweep.ALL else 24)
SIZES = 3
COMPILED = range(1000, 1010 if sweep.ALL else 1006)


@pytest.mark.slow
def test_random_primitives() -> None:
    """A part of `make soak`: interpreted, with indices that must be inside of their buffers."""
    done = [kind for seed in SEEDS for kind in random_prims.check(seed, SIZES).done]
    assert set(done) == set(random_prims.STEPS), "each primitive is among them"


def test_random_primitives_compiled() -> None:
    compare_prims(COMPILED)
