"""tile, repeat and flip against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from harness import Suite
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import RelaxError

DTYPES = ("float32", "bfloat16", "uint8", "int64", "bool")


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_numpy_gives(dtype: str) -> None:
    suite = Suite.of(dtype, DTYPES)
    matrix, vector, scalar = Tensor(("n", "m"), dtype), Tensor(("n",), dtype), Tensor((), dtype)
    for axis in (0, 1, -1):
        suite.add("flip", lambda x, a=axis: R.flip(x, a), lambda x, a=axis: np.flip(x, a), [matrix])
        suite.add(
            "repeat", lambda x, a=axis: R.repeat(x, 3, a), lambda x, a=axis: np.repeat(x, 3, a), [matrix]
        )
    suite.add("flat", lambda x: R.repeat(x, 2), lambda x: np.repeat(x, 2), [matrix])
    suite.add("none", lambda x: R.repeat(x, 0, 0), lambda x: np.repeat(x, 0, 0), [matrix])
    suite.add("scalar", lambda x: R.repeat(x, 2), lambda x: np.repeat(x, 2), [scalar], sizes=({},))
    for repeats in (2, (1, 3), (2, 1, 2), (0, 2), ()):
        suite.add("tile", lambda x, r=repeats: R.tile(x, r), lambda x, r=repeats: np.tile(x, r), [matrix])
    suite.add("tile_vector", lambda x: R.tile(x, (3, 2)), lambda x: np.tile(x, (3, 2)), [vector])
    suite.add("tile_scalar", lambda x: R.tile(x, (3, 2)), lambda x: np.tile(x, (3, 2)), [scalar], sizes=({},))
    suite.run(test_what_numpy_gives)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x: R.flip(x, 2), "axis"),
        (lambda x: R.flip(x, 0.5), "axis"),
        (lambda x: R.tile(x, (-1, 2)), "repeats is"),
        (lambda x: R.tile(x, "n"), "repeats"),
        (lambda x: R.repeat(x, -1), "repeats is -1"),
        (lambda x: R.repeat(x, 2, 3), "axis"),
    ],
)
def test_wrong_arguments(build: Callable[[Any], Any], message: str) -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor(("n", 4), "float32"))
    with pytest.raises(RelaxError, match=message), bb.function("main", [x]):
        bb.emit_func_output(build(x))
