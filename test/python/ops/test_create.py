"""Ops that create tensors, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from harness import ALL, NUMBERS, Array, Suite
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import ArgumentError, DTypeError, RelaxError

X = [Tensor(("n", "m"), "float32")]


def numpy_dtype(name: str) -> np.dtype[Any]:
    return dtypes.dtype(name).numpy


@pytest.mark.parametrize("dtype", ALL)
def test_filled(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    ones = np.ones_like
    kind = numpy_dtype(dtype)
    suite.add("zeros", lambda x: R.zeros(("n", 2), dtype), lambda x: np.zeros((len(x), 2), kind), X)
    suite.add("ones", lambda x: R.ones(("m + 1",), dtype), lambda x: np.ones(x.shape[1] + 1, kind), X)
    suite.add("full", lambda x: R.full(("n*m",), 1, dtype), lambda x: np.ones(x.size, kind), X)
    suite.add("zeros_like", lambda x: R.zeros_like(x, dtype), lambda x: np.zeros_like(x, kind), X)
    suite.add("ones_like", lambda x: R.ones_like(x), lambda x: ones(x), [Tensor(("n",), dtype)])
    suite.add("full_like", lambda x: R.full_like(x, 1), lambda x: ones(x), [Tensor(("n",), dtype)])
    suite.run(test_filled)


@pytest.mark.parametrize("dtype", ["float16", "int8", "bool", "float64"])
def test_full_like_has_the_dtype_of_x(dtype: str) -> None:
    suite = Suite()
    params = [Tensor(("n", 3), dtype), Tensor((), "float32")]
    suite.add("x", lambda x, y: R.full_like(x, y), lambda x, y: np.full_like(x, y), params)
    suite.add(
        "given", lambda x, y: R.full_like(x, y, "int32"), lambda x, y: np.full_like(x, y, np.int32), params
    )
    suite.run()


def test_full_like_without_a_dtype() -> None:
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", Tensor(ndim=1, dtype=None)), rx.Var("y", Tensor((), "float32"))
    with bb.function("main", [x, y]):
        with pytest.raises(DTypeError, match="full_like: the dtype of 'x' is not known; give dtype"):
            R.full_like(x, y)
        bb.emit_func_output(R.full_like(x, y, "float32"))
    value = rx.build(bb.get())["main"](np.arange(3), np.array(1.5, "f4"))
    np.testing.assert_array_equal(np.from_dlpack(value), np.full(3, 1.5, "f4"))


def test_full_of_a_tensor() -> None:
    suite = Suite()
    params = [Tensor(("n", 3), "float32"), Tensor((), "float32")]
    suite.add("full", lambda x, y: R.full(R.shape_of(x), y), lambda x, y: np.full(x.shape, y), params)
    suite.add("rank_0", lambda x, y: R.full((), y), lambda x, y: y, params)
    suite.run()


@pytest.mark.parametrize("dtype", NUMBERS)
def test_arange_dtypes(dtype: str) -> None:
    suite = Suite.of(dtype, NUMBERS)
    kind = numpy_dtype(dtype)
    suite.add("end", lambda x: R.arange("n", dtype=dtype), lambda x: np.arange(len(x)).astype(kind), X)
    suite.add(
        "float",
        lambda x: R.arange(0.5, 7.25, 0.5, dtype),
        lambda x: np.arange(0.5, 7.25, 0.5).astype(kind),
        X,
    )
    suite.run(test_arange_dtypes)


def test_arange_bounds() -> None:
    suite = Suite()

    def add(*bounds: int | float | str, reference: Callable[[int, int], Array]) -> None:
        suite.add("arange", lambda x: R.arange(*bounds), lambda x: reference(*x.shape), X)

    add(5, reference=lambda n, m: np.arange(5))
    add(2, "n", reference=lambda n, m: np.arange(2, n))
    add("n", "n + m", reference=lambda n, m: np.arange(n, n + m))
    add(0, "n", 2, reference=lambda n, m: np.arange(0, n, 2))
    add("n", -3, -2, reference=lambda n, m: np.arange(n, -3, -2))
    add(0, "2*n", "m + 1", reference=lambda n, m: np.arange(0, 2 * n, m + 1))
    add(10, 0, reference=lambda n, m: np.arange(10, 0))
    add(0.0, 1.0, 0.1, reference=lambda n, m: np.arange(0.0, 1.0, 0.1, dtype=np.float32))
    add(5, -5, -0.5, reference=lambda n, m: np.arange(5, -5, -0.5, dtype=np.float32))
    suite.run()


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda x: R.arange(0, "n", 0), ArgumentError, "arange: step is 0"),
        (lambda x: R.arange(0, "n", "m"), ArgumentError, "step 'm' may be zero or negative"),
        (lambda x: R.arange("n", 1.0), ArgumentError, "'n' does not go with float bounds"),
        (lambda x: R.arange(3, dtype="bool"), ArgumentError, "dtype bool has no ranges"),
        (lambda x: R.full((2,), x), RelaxError, r"full: operand 'fill_value' is .*, expected rank 0"),
    ],
)
def test_wrong_arguments(build: Callable[..., Any], error: type[Exception], message: str) -> None:
    suite = Suite()
    suite.add("wrong", build, np.copy, X, sizes=())
    with pytest.raises(error, match=message):
        suite.module()
