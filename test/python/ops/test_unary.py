"""Unary ops against NumPy and SciPy, for every dtype."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from harness import ALL, FLOATS, INTEGERS, NUMBERS, Suite, numbers, special_values
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from scipy import special

FLOAT_OPS = {
    "erf": (R.erf, special.erf, numbers()),
    "exp": (R.exp, np.exp, numbers(-10, 5)),
    "expm1": (R.expm1, np.expm1, numbers(-10, 5)),
    "expm1:small": (R.expm1, np.expm1, numbers(-1e-6, 1e-6)),
    "log": (R.log, np.log, numbers(1e-3, 50)),
    "log10": (R.log10, np.log10, numbers(1e-3, 50)),
    "log1p": (R.log1p, np.log1p, numbers(-0.99, 50)),
    "log1p:small": (R.log1p, np.log1p, numbers(-1e-6, 1e-6)),
    "log2": (R.log2, np.log2, numbers(1e-3, 50)),
    "rsqrt": (R.rsqrt, lambda x: 1 / np.sqrt(x), numbers(1e-2, 50)),
    "sigmoid": (R.sigmoid, special.expit, numbers(-12, 12)),
    "sqrt": (R.sqrt, np.sqrt, numbers(0, 100)),
    "acos": (R.acos, np.arccos, numbers(-1, 1)),
    "acosh": (R.acosh, np.arccosh, numbers(1, 50)),
    "asin": (R.asin, np.arcsin, numbers(-1, 1)),
    "asinh": (R.asinh, np.arcsinh, numbers(-50, 50)),
    "atan": (R.atan, np.arctan, numbers(-50, 50)),
    "atanh": (R.atanh, np.arctanh, numbers(-0.99, 0.99)),
    "cos": (R.cos, np.cos, numbers(-20, 20)),
    "cosh": (R.cosh, np.cosh, numbers()),
    "sin": (R.sin, np.sin, numbers(-20, 20)),
    "sinh": (R.sinh, np.sinh, numbers()),
    "tan": (R.tan, np.tan, numbers(-1.3, 1.3)),
    "tanh": (R.tanh, np.tanh, numbers()),
}
NUMBER_OPS = {
    "abs": (R.abs, np.abs),
    "ceil": (R.ceil, np.ceil),
    "floor": (R.floor, np.floor),
    "negative": (R.negative, np.negative),
    "round": (R.round, np.rint),
    "sign": (R.sign, np.sign),
    "square": (R.square, np.square),
    "trunc": (R.trunc, np.trunc),
}
TESTS = {
    "isfinite": (R.isfinite, np.isfinite),
    "isinf": (R.isinf, np.isinf),
    "isnan": (R.isnan, np.isnan),
    "logical_not": (R.logical_not, np.logical_not),
}
IDENTITY_ON_INTEGERS = ("ceil", "floor", "round", "trunc")


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_floats(dtype: str) -> None:
    """All in float32; the other types alternate."""
    suite = Suite((dtype, FLOATS[1:] if dtype in FLOATS[1:] else [dtype]))
    for name, (build, reference, draw) in FLOAT_OPS.items():
        special_row = special_values(dtype)[None]
        suite.add(name, build, reference, [Tensor(("n", "m"), dtype)], draw=draw, inputs=[[special_row]])
    suite.run()


@pytest.mark.parametrize("dtype", NUMBERS)
def test_functions_of_numbers(dtype: str) -> None:
    suite = Suite.of(dtype, NUMBERS)
    for name, (build, reference) in NUMBER_OPS.items():
        if name in IDENTITY_ON_INTEGERS and dtype in INTEGERS:
            reference = np.copy
        suite.add(name, build, reference, [Tensor(("n",), dtype)], inputs=[[special_values(dtype)]])
    suite.add("scalar", R.negative, np.negative, [Tensor((), dtype)])
    suite.run(test_functions_of_numbers)


@pytest.mark.parametrize("dtype", ALL)
def test_tests_and_bitwise_not(dtype: str) -> None:
    suite = Suite.of(dtype, ALL)
    for name, (build, reference) in TESTS.items():
        suite.add(name, build, reference, [Tensor(("n",), dtype)], inputs=[[special_values(dtype)]])
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
