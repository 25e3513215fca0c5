"""Unary ops against NumPy and SciPy, for every dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from harness import ALL, FLOATS, INTEGERS, NUMBERS, Suite, numbers, special_values
from reference import OPS
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from scipy import special

FLOAT_OPS = {
    "erf": numbers(),
    "exp": numbers(-10, 5),
    "expm1": numbers(-10, 5),
    "expm1:small": numbers(-1e-6, 1e-6),
    "log": numbers(1e-3, 50),
    "log10": numbers(1e-3, 50),
    "log1p": numbers(-0.99, 50),
    "log1p:small": numbers(-1e-6, 1e-6),
    "log2": numbers(1e-3, 50),
    "rsqrt": numbers(1e-2, 50),
    "sigmoid": numbers(-12, 12),
    "sqrt": numbers(0, 100),
    "acos": numbers(-1, 1),
    "acosh": numbers(1, 50),
    "asin": numbers(-1, 1),
    "asinh": numbers(-50, 50),
    "atan": numbers(-50, 50),
    "atanh": numbers(-0.99, 0.99),
    "cos": numbers(-20, 20),
    "cosh": numbers(),
    "sin": numbers(-20, 20),
    "sinh": numbers(),
    "tan": numbers(-1.3, 1.3),
    "tanh": numbers(),
}
NUMBER_OPS = ("abs", "ceil", "floor", "negative", "round", "sign", "square", "trunc")
TESTS = ("isfinite", "isinf", "isnan", "logical_not")


def op(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The builder and the reference of an op, whose name may be followed by a colon and that of a range."""
    name = name.partition(":")[0]
    return getattr(R, name), OPS[name]


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_floats(dtype: str) -> None:
    """All in float32; the other types alternate."""
    suite = Suite((dtype, FLOATS[1:] if dtype in FLOATS[1:] else [dtype]))
    for name, draw in FLOAT_OPS.items():
        special_row = special_values(dtype)[None]
        suite.add(name, *op(name), [Tensor(("n", "m"), dtype)], draw=draw, inputs=[[special_row]])
    suite.run()


@pytest.mark.parametrize("dtype", NUMBERS)
def test_functions_of_numbers(dtype: str) -> None:
    suite = Suite.of(dtype, NUMBERS)
    for name in NUMBER_OPS:
        suite.add(name, *op(name), [Tensor(("n",), dtype)], inputs=[[special_values(dtype)]])
    suite.add("scalar", R.negative, np.negative, [Tensor((), dtype)])
    suite.run(test_functions_of_numbers)


@pytest.mark.parametrize("dtype", ALL)
def test_tests_and_bitwise_not(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    for name in TESTS:
        suite.add(name, *op(name), [Tensor(("n",), dtype)], inputs=[[special_values(dtype)]])
    if dtype in (*INTEGERS, "bool"):
        suite.add("not", R.bitwise_not, np.invert, [Tensor(("n",), dtype)], inputs=[[special_values(dtype)]])
    suite.run(test_tests_and_bitwise_not)


def test_sigmoid_of_all_sizes() -> None:
    """Within 2.2 units of the last place, where results are denormal too."""
    suite = Suite()
    suite.add("sigmoid", R.sigmoid, special.expit, [Tensor(("n",), "float32")], sizes=())
    x = np.concatenate([np.linspace(-105, 20, 200_003), [np.inf, -np.inf, -0.0]]).astype(np.float32)
    got = np.from_dlpack(rx.build(suite.module())["sigmoid_0"](x))
    exact = special.expit(x.astype(np.float64))
    assert (np.abs(got - exact) <= 2.2 * np.spacing(exact.astype(np.float32))).all()
