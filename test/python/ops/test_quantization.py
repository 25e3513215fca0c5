"""quantize and dequantize against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from harness import FLOATS, Array, Suite, numbers
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.error import DTypeError, RelaxError, ShapeError
from relax_mlir.lowering.legalize.legalize_ops import LegalizeOps
from relax_mlir.passes.fusion.fuse_ops import FuseOps

QUANTIZED = ("int8", "uint8", "int16", "uint16", "int32")


def spread(parameter: Array, x: Array, axis: int) -> Array:
    shape = [-1 if i == axis % x.ndim else 1 for i in range(x.ndim)]
    return parameter.reshape(shape) if parameter.size != 1 else parameter.reshape(())


def quantized(dtype: str, axis: int = -1) -> Callable[..., Array]:
    limits = np.iinfo(dtype)

    def compute(x: Array, scale: Array, zero: Array) -> Array:
        # The quotient in the op's precision: float32, unless float64 is requested.
        wide: Any = np.float64 if dtype == "int32" else np.float32
        number = np.rint(x.astype(wide) / spread(scale, x, axis).astype(wide)).astype(np.float64)
        found = np.where(np.isnan(number), 0, number) + spread(zero, x, axis)
        return np.clip(found, limits.min, limits.max).astype(dtype)

    return compute


def dequantized(axis: int = -1) -> Callable[..., Array]:
    def compute(x: Array, scale: Array, zero: Array) -> Array:
        return (x.astype(np.float64) - spread(zero, x, axis)) * spread(scale, x, axis)

    return compute


@pytest.mark.parametrize("dtype", QUANTIZED)
def test_integers(dtype: str) -> None:
    suite = Suite.of(dtype, QUANTIZED)
    x, scale, zero = Tensor(("n", "m", 3), "float32"), Tensor(("m",), "float32"), Tensor(("m",), dtype)
    one, none = Tensor((), "float32"), Tensor((1,), dtype)
    draws = [numbers(-300, 300), numbers(0.01, 2), numbers(-20, 20)]
    suite.add(
        "axis",
        lambda x, s, z: R.quantize(x, s, z, 1, dtype),
        quantized(dtype, 1),
        [x, scale, zero],
        draw=draws,
    )
    suite.add(
        "all", lambda x, s, z: R.quantize(x, s, z, 0, dtype), quantized(dtype), [x, one, none], draw=draws
    )
    given = Tensor(("n", "m", 3), dtype)
    draws = [numbers(-(2**31), 2**31 - 1), numbers(0.01, 2), numbers(-20, 20)]
    suite.add(
        "axis", lambda x, s, z: R.dequantize(x, s, z, -2), dequantized(1), [given, scale, zero], draw=draws
    )
    suite.add("all", lambda x, s, z: R.dequantize(x, s, z), dequantized(), [given, one, none], draw=draws)
    suite.run(test_integers)


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats(dtype: str) -> None:
    suite = Suite.of(dtype, FLOATS)
    kind = dtypes.dtype(dtype).numpy
    special = np.array([np.nan, np.inf, -np.inf, 0.5, 1.5, 2.5, -0.5, 1e4, -0.0]).astype(kind)
    params = [Tensor(("n",), dtype), Tensor((), dtype), Tensor((), "int8")]
    one = np.array(1).astype(kind)
    suite.add(
        dtype,
        lambda x, s, z: R.quantize(x, s, z),
        quantized("int8"),
        params,
        sizes=(),
        inputs=[[special, one, np.array(3, np.int8)]],
    )
    suite.add(
        "back",
        lambda x, s, z: R.dequantize(x, s, z, out_dtype=dtype),
        dequantized(),
        [Tensor(("n",), "int8"), Tensor((), "float32"), Tensor((), "int8")],
    )
    suite.add(
        "scalar",
        lambda x: R.quantize(x, 0.5, 3),
        lambda x: np.int8(np.rint(x / 0.5) + 3),
        [Tensor((), dtype)],
    )
    suite.run(test_floats)


def test_it_fuses() -> None:
    """A chain of dequantize, a function and quantize is one kernel."""
    suite = Suite()
    params = [Tensor(("n", 4), "int8"), Tensor((4,), "float32"), Tensor((4,), "int8")]

    def build(x: Any, s: Any, z: Any) -> Any:
        return R.quantize(R.nn.relu(R.dequantize(x, s, z)), s, z)

    suite.add("main", build, build, params, sizes=())
    mod = suite.module()
    mod.apply_(LegalizeOps())
    mod.apply_(FuseOps())
    assert str(mod.mlir).count("relax.call_tir") == 1


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (
            lambda x, s, q: R.quantize(q, s, 0),
            DTypeError,
            "quantize: operand 'data' has dtype int8, expected a float",
        ),
        (lambda x, s, q: R.quantize(x, s, 0, out_dtype="int64"), DTypeError, "out_dtype has dtype int64"),
        (lambda x, s, q: R.quantize(x, q, 0), DTypeError, "operand 'scale' has dtype int8"),
        (
            lambda x, s, q: R.quantize(x, s, 0, axis=0),
            ShapeError,
            "'scale' has 4 elements, expected n, dimension 0",
        ),
        (lambda x, s, q: R.quantize(x, s, 0, axis=2), ShapeError, "axis 2 is out of range"),
        (lambda x, s, q: R.quantize(x, x, 0), ShapeError, "expected a scalar or a vector"),
        (lambda x, s, q: R.dequantize(x, s, 0), DTypeError, "operand 'data' has dtype float32"),
        (lambda x, s, q: R.dequantize(q, 1.0, 0, out_dtype="int32"), DTypeError, "out_dtype is int32"),
    ],
)
def test_wrong_arguments(build: Callable[..., Any], error: type[RelaxError], message: str) -> None:
    bb = rx.BlockBuilder()
    infos = (Tensor(("n", 4), "float32"), Tensor((4,), "float32"), Tensor((3,), "int8"))
    params = [rx.Var(name, info) for name, info in zip("xsq", infos, strict=True)]
    with pytest.raises(error, match=message), bb.function("main", params):
        bb.emit_func_output(build(*params))
