"""The option ``math.fast``: relative errors over the range of f32, special values, the expansion of the functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import scipy.special
from math_check import REFERENCES, loop
from relax_mlir import op as R
from relax_mlir.dialects.types import Tensor
from relax_mlir.lowering.expand import ExpandMath
from relax_mlir.lowering.kernels.math.math_functions import FAST_EXPANSIONS
from relax_mlir.mlir import ir
from relax_mlir.runtime import to_numpy
from relax_mlir.transform import PassContext
from rows_jit import Compiled

PROMISED = 1e-5
LEAST = {"exp": 2.0**-125, "exp2": 2.0**-125}
"""Results with a smaller absolute value may be 0."""

FUNCTIONS = [name.removeprefix("math.") for name in FAST_EXPANSIONS]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture(scope="module")
def functions() -> Compiled:
    with ir.Context() as context:
        context.enable_multithreading(False)
        module = ir.Module.parse("".join(loop(op, "f32", 8) for op in FUNCTIONS))
        ExpandMath(fast=True).apply_(module)
        assert module.operation.verify()
        return Compiled(module)


@pytest.fixture(scope="module")
def inputs() -> np.ndarray:
    rng = np.random.default_rng(1)
    parts = [np.arange(0, 2**32, 8191, dtype=np.uint64).astype(np.uint32).view(np.float32)]
    parts += [rng.uniform(-limit, limit, 100_000).astype(np.float32) for limit in (1, 8, 130)]
    parts.append(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 88.72283, 88.72284, 127.99999, 128], np.float32))
    values = np.concatenate(parts)
    return np.concatenate([values, np.zeros(-len(values) % 8, np.float32)])


@pytest.mark.parametrize("op", FUNCTIONS)
def test_relative_error(op: str, functions: Compiled, inputs: np.ndarray) -> None:
    got = np.empty_like(inputs)
    functions(f"apply_{op}", inputs, got)
    want = REFERENCES[op](inputs.astype(np.float64))
    rounded = want.astype(np.float32)
    greatest = float(np.finfo(np.float32).max)
    beyond = ~(np.abs(want) <= greatest * (1 + PROMISED))  # the exact upper end of the range is unspecified
    normal = (np.abs(want) < greatest * (1 - PROMISED)) & (np.abs(want) > LEAST.get(op, np.finfo(np.float32).tiny))
    error = np.abs(got[normal] - want[normal]) / np.abs(want[normal])
    assert error.max() <= PROMISED
    np.testing.assert_array_equal(got[beyond], rounded[beyond])
    small = ~normal & (np.abs(want) < 1)
    assert (np.abs(got[small]) <= 2.0**-124).all()
    zero = rounded == 0
    assert (np.signbit(got[zero]) == np.signbit(rounded[zero])).all()


def test_it_is_off_by_default() -> None:
    with ir.Context():
        modules = [ir.Module.parse(loop("exp", "f32", 8)) for _ in range(3)]
        ExpandMath().apply_(modules[0])
        ExpandMath(fast=True).apply_(modules[1])
        with PassContext(config={"math.fast": True}):
            ExpandMath().apply_(modules[2])
        assert str(modules[0]) != str(modules[1]) == str(modules[2])


def activations(dtype: str) -> Any:
    bb = rx.BlockBuilder()
    x = rx.Var("x", Tensor(("n", "m"), dtype))
    ops = (
        R.exp,
        R.tanh,
        R.erf,
        R.nn.gelu,
        R.nn.gelu_tanh,
        R.nn.silu,
        R.sigmoid,
        R.nn.softmax,
        R.nn.log_softmax,
    )
    with bb.function("main", [x]):
        bb.emit_func_output([op(x) for op in ops])
    with PassContext(config={"math.fast": True}):
        return rx.build(bb.get())["main"]


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", PROMISED), ("float16", 1e-3), ("float64", 1e-14)])
def test_programs(dtype: str, tolerance: float) -> None:
    function = activations(dtype)
    x = np.random.default_rng(2).normal(size=(5, 37), scale=3).astype(dtype)
    x[4, :3] = 40, -30, 0
    wide = x.astype(np.float64)
    inner = np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3)
    sigmoid = scipy.special.expit(wide)
    softmax = scipy.special.softmax(wide, -1)
    want = (
        *(np.exp(wide), np.tanh(wide), scipy.special.erf(wide)),
        *(wide / 2 * (1 + scipy.special.erf(wide / np.sqrt(2))), wide / 2 * (1 + np.tanh(inner))),
        *(wide * sigmoid, sigmoid, softmax, np.log(softmax)),
    )
    for number, (have, expected) in enumerate(zip(map(to_numpy, function(x)), want, strict=True)):
        scale = np.abs(wide) if number in (3, 4) else np.abs(expected)
        if number == 8:
            scale = np.maximum(scale, 1)
        limit = np.finfo(dtype).max
        inside = np.abs(expected) < limit
        error = np.abs(have.astype(np.float64) - expected)[inside]
        assert (error <= tolerance * scale[inside] + (1e-7 if dtype == "float16" else 1e-30)).all(), number
