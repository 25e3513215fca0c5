"""where, clip and astype against NumPy, for every dtype."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import sweep
from harness import ALL, FLOATS, INTEGERS, NUMBERS, Array, Suite, numbers, special_values
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import DTypeError


def test_where() -> None:
    suite = Suite()
    for dtype in ALL:
        params = [Tensor(("n", 1), "bool"), Tensor(("n", "m"), dtype), Tensor(("m",), dtype)]
        suite.add(f"where_{dtype}", R.where, np.where, params)
    params = [Tensor(("n",), "bool"), Tensor(("n",), "float32")]
    suite.add("number", lambda c, x: R.where(c, x, 0), lambda c, x: np.where(c, x, 0), params)
    suite.run()


def test_clip() -> None:
    suite = Suite()
    for dtype in NUMBERS:
        values = [[special_values(dtype)]]
        x = [Tensor(("n",), dtype)]
        suite.add(dtype, lambda x: R.clip(x, 1, 3), lambda x: np.clip(x, 1, 3), x, inputs=values)
    x = [Tensor(("n",), "float32")]
    values = [[special_values("float32")]]
    suite.add("low", lambda x: R.clip(x, min=-0.5), lambda x: np.maximum(x, -0.5), x, inputs=values)
    suite.add("high", lambda x: R.clip(x, max=0.5), lambda x: np.minimum(x, 0.5), x, inputs=values)
    suite.add("none", R.clip, np.copy, x, inputs=values)
    suite.add("reversed", lambda x: R.clip(x, 2, 1), lambda x: np.clip(x, 2, 1), x)
    x = [Tensor(("n",), "uint8")]
    suite.add("wide", lambda x: R.clip(x, -1000, 1000), np.copy, x)
    suite.run()


def converted(source: str, target: str, values: Array) -> Array:
    """`values` (floats in float64) as `target`: saturating from floats to integers, NaN becomes 0."""
    dtype = dtypes.dtype(target).numpy
    if dtypes.dtype(source).is_float and dtypes.dtype(target).is_integer:
        limits = np.iinfo(dtype)
        low, high = int(limits.min), int(limits.max)
        exact = [0 if x != x else low if x <= low else high if x >= high else int(x) for x in values]
        return np.array(exact, dtype=dtype)
    if source in INTEGERS and target in ("float16", "bfloat16"):
        values = values.astype(np.float32)
    return values.astype(dtype)


@pytest.mark.parametrize("source", ALL)
def test_astype(source: str) -> None:
    """To targets of each kind, which alternate over the sources."""
    suite = Suite()
    values = special_values(source)
    if source in FLOATS:
        large = np.array([100.7, -100.7, 6e4, -6e4, 2.0**40, -(2.0**40)])
        with np.errstate(over="ignore"):
            values = np.concatenate([values, large.astype(values.dtype)])
    for target in ALL:
        if source not in sweep.turn(target, sweep.alike(target, ALL), ALL):
            continue
        reference = lambda x, target=target: converted(source, target, x)  # noqa: E731
        build = lambda x, target=target: R.astype(x, target)  # noqa: E731
        suite.add(target, build, reference, [Tensor(("n",), source)], draw=numbers(0, 100), inputs=[[values]])
    suite.run()


@pytest.mark.parametrize("target", ["float16", "bfloat16"])
def test_float64_is_rounded_once(target: str) -> None:
    """Values next to the middle between two f16 values: rounding to float32 first would move them onto the middle."""
    step = float(ml_dtypes.finfo(dtypes.dtype(target).numpy).eps)
    middles = 1 + step * (np.arange(1, 9) + 0.5)
    values = np.concatenate([middles, middles * (1 + 1e-12), middles * (1 - 1e-12)])
    suite = Suite()
    suite.add(
        target,
        lambda x: R.astype(x, target),
        lambda x: np.rint(x / step) * step,
        [Tensor(("n",), "float64")],
        inputs=[[values], [-values]],
        sizes=(),
        tolerance=0.0,
    )
    suite.run()


@pytest.mark.parametrize(
    ("build", "dtype", "message"),
    [
        (
            lambda x: R.clip(x, 0.5),
            "int32",
            "clip: min is 0.5, but the tensor has dtype int32; give an integer",
        ),
        (lambda x: R.clip(x, 0), "bool", "clip: operand 'x' has dtype bool, expected a number"),
        (lambda x: R.where(x, x, x), "int8", "where: operand 'condition' has dtype int8, expected bool"),
    ],
)
def test_wrong_dtypes(build: object, dtype: str, message: str) -> None:
    suite = Suite()
    suite.add("wrong", build, np.copy, [Tensor(("n",), dtype)], sizes=())  # type: ignore[arg-type]  # a lambda
    with pytest.raises(DTypeError, match=message):
        suite.module()
