"""sort, argsort and topk against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from harness import Suite
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import RelaxError

Array = np.ndarray[Any, Any]


def order(x: Array, axis: int, descending: bool = False) -> Array:
    """A stable order; NaN is the maximum."""
    if not descending:
        return np.argsort(x, axis, kind="stable")
    # The order of the reversed elements reverses equal ones.
    last = x.shape[axis] - 1
    return np.flip(last - np.argsort(np.flip(x, axis), axis, kind="stable"), axis)


def taken(x: Array, axis: int, descending: bool, count: int | None = None) -> Array:
    places = order(x, axis, descending)
    if count is not None:
        places = places.take(range(min(count, x.shape[axis])), axis)
    return np.take_along_axis(x, places, axis)


DTYPES = ("float32", "float16", "bfloat16", "float64", "int8", "uint8", "int64", "bool")


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_numpy_gives(dtype: str) -> None:
    suite = Suite.of(dtype, DTYPES)
    matrix = [Tensor(("n", "m"), dtype)]
    for axis, down in sweep.product((0, -1), (False, True)):
        suite.add(
            "sort",
            lambda x, a=axis, d=down: R.sort(x, a, d),
            lambda x, a=axis, d=down: taken(x, a, d),
            matrix,
        )
        suite.add(
            "argsort",
            lambda x, a=axis, d=not down: R.argsort(x, a, d),
            lambda x, a=axis, d=not down: order(x, a, d).astype(np.int32),
            matrix,
        )
        suite.add(
            "topk",
            lambda x, a=axis, d=down: R.topk(x, 3, a, "values", d),
            lambda x, a=axis, d=down: taken(x, a, d, 3),
            matrix,
        )
    suite.run(test_what_numpy_gives)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x: R.sort(x, 2), "axis 2 is out of range"),
        (lambda x: R.argsort(x, dtype="float32"), "dtype is float32, expected integers"),
        (lambda x: R.topk(x, 2, ret_type="all"), "ret_type is 'all', expected one of both"),
        (lambda x: R.topk(x, 2.5), "'k' is 2.5"),
        (lambda x: R.sort(R.sum(x)), "expected at least one dimension"),
    ],
)
def test_wrong_arguments(build: Callable[[Any], Any], message: str) -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor(("n", 4), "float32"))
    with pytest.raises(RelaxError, match=message), bb.function("main", [x]):
        bb.emit_func_output(build(x))


def test_nan_and_both_results() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            values, indices = R.topk(R.add(x, x), 2, dtype="int64")
            outputs = bb.emit_output((values, indices, R.sort(x)))
        bb.emit_func_output(outputs)
    given = np.array([1, np.nan, -np.inf, 7, np.inf], np.float32)
    values, indices, ordered = rx.build(bb.finalize())["main"](given)
    np.testing.assert_array_equal(np.from_dlpack(values), [np.nan, np.inf])
    np.testing.assert_array_equal(np.from_dlpack(indices), [1, 4])
    np.testing.assert_array_equal(np.from_dlpack(ordered), np.sort(given))
