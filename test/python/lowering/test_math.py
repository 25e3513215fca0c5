"""expand-math: accuracy over the whole range of f32, and everything else through libm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special
from relax_mlir.lowering.math_expansion import ExpandMath
from relax_mlir.mlir import ir
from rows_jit import Compiled

REFERENCES: dict[str, Any] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "cos": np.cos,
    "cosh": np.cosh,
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "absf": np.abs,
    "floor": np.floor,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "round": lambda x: np.trunc(x + np.copysign(0.5, x)),
    "roundeven": np.rint,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}
MAX_ULP = {
    "exp": 1.1,
    "exp2": 1.1,
    "expm1": 1.6,
    "log": 1.0,
    "log2": 1.5,
    "log10": 1.5,
    "log1p": 1.0,
    "tanh": 2.5,
    "erf": 1.1,
    "sin": 1.7,
    "cos": 1.7,
    "tan": 4.0,
}
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-45, -1e-45, 1.1754942e-38, 3.4028235e38]
EDGES = [
    -3.4028235e38,
    88.72283,
    88.72284,
    -103.97,
    -103.98,
    -104,
    128,
    127.99999,
    -149,
    -149.5,
    -150,
    -126.5,
]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def loop(op: str, dtype: str, lanes: int) -> str:
    """`apply_OP`: applies the op to a buffer whose length is a multiple of `lanes`.

    (A function called like one of libm's would clash with the declaration that the lowering adds.)
    """
    buffer = f"memref<?x{dtype}>"
    vector = f"vector<{lanes}x{dtype}>"
    return f"""
func.func @apply_{op}(%x: {buffer}, %out: {buffer}) {{
  %c0 = arith.constant 0 : index
  %step = arith.constant {lanes} : index
  %n = memref.dim %x, %c0 : {buffer}
  scf.for %i = %c0 to %n step %step {{
    %v = vector.load %x[%i] : {buffer}, {vector}
    %r = math.{op} %v : {vector}
    vector.store %r, %out[%i] : {buffer}, {vector}
  }}
  return
}}"""


def compiled(source: str) -> Compiled:
    with ir.Context() as context:
        context.enable_multithreading(False)
        module = ir.Module.parse(source)
        ExpandMath()(module)
        assert module.operation.verify()
        return Compiled(module)


@pytest.fixture(scope="module")
def single() -> Compiled:
    return compiled("".join(loop(op, "f32", 8) for op in REFERENCES))


@pytest.fixture(scope="module")
def double() -> Compiled:
    return compiled("".join(loop(op, "f64", 4) for op in REFERENCES))


@pytest.fixture(scope="module")
def inputs() -> np.ndarray:
    """About a million f32: all exponents and signs, the neighbourhoods that matter, special values."""
    rng = np.random.default_rng(7)
    parts = [np.arange(0, 2**32, 8191, dtype=np.uint64).astype(np.uint32).view(np.float32)]
    parts += [rng.uniform(-limit, limit, 100_000).astype(np.float32) for limit in (1, 10, 110)]
    parts.append(rng.uniform(0.7, 1.5, 200_000).astype(np.float32))
    parts.append(np.array([*SPECIAL, *EDGES], dtype=np.float32))
    values = np.concatenate(parts)
    return np.concatenate([values, np.zeros(-len(values) % 8, np.float32)])


def assert_close(got: np.ndarray, exact: np.ndarray, max_ulp: float, x: np.ndarray) -> None:
    """`exact` is the result in f64; infinities, NaN and signed zeros must agree exactly."""
    rounded = exact.astype(got.dtype)
    nan = np.isnan(rounded)
    np.testing.assert_array_equal(nan, np.isnan(got))
    infinite = np.isinf(rounded)
    np.testing.assert_array_equal(got[infinite], rounded[infinite])
    zero = (exact == 0) & (got == 0)
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(exact[zero]))
    usual = ~(nan | infinite)
    step = np.spacing(np.abs(rounded[usual])).astype(np.float64)
    error = np.abs(got[usual].astype(np.float64) - exact[usual]) / step
    worst = int(np.argmax(error))
    assert error[worst] <= max_ulp, f"{error[worst]} ulp at {x[usual][worst]!r}"


@pytest.mark.parametrize("op", sorted(REFERENCES))
def test_single_precision(op: str, single: Compiled, inputs: np.ndarray) -> None:
    got = np.empty_like(inputs)
    single(f"apply_{op}", inputs, got)
    assert_close(got, REFERENCES[op](inputs.astype(np.float64)), MAX_ULP.get(op, 4.0), inputs)


@pytest.mark.parametrize("op", sorted(REFERENCES))
def test_double_precision(op: str, double: Compiled) -> None:
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.uniform(-30, 30, 1000), rng.uniform(-1, 1, 1000), np.array(SPECIAL[:8])])
    got = np.empty_like(x)
    double(f"apply_{op}", x, got)
    np.testing.assert_allclose(got, REFERENCES[op](x), rtol=1e-13 if op == "erfc" else 2e-14, atol=1e-300)


def test_binary_and_ternary_functions_of_libm() -> None:
    def source(op: str, dtype: str) -> str:
        buffer = f"memref<?x{dtype}>"
        return f"""
func.func @{op}_{dtype}(%x: {buffer}, %y: {buffer}, %out: {buffer}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : {buffer}
  scf.for %i = %c0 to %n step %c1 {{
    %a = memref.load %x[%i] : {buffer}
    %b = memref.load %y[%i] : {buffer}
    %r = math.{op} %a, %b : {dtype}
    memref.store %r, %out[%i] : {buffer}
  }}
  return
}}"""

    references = {"powf": np.power, "atan2": np.arctan2, "copysign": np.copysign}
    types = {"f32": np.float32, "f64": np.float64}
    functions = compiled("".join(source(op, dtype) for op in references for dtype in types))
    rng = np.random.default_rng(5)
    for op, reference in references.items():
        for dtype, numpy_type in types.items():
            x = np.concatenate([rng.uniform(-5, 5, 300), [0, 2, np.inf, np.nan]]).astype(numpy_type)
            y = np.concatenate([rng.integers(-5, 5, 300), [-1, 0.5, -1, 0]]).astype(numpy_type)
            got = np.empty_like(x)
            functions(f"{op}_{dtype}", x, y, got)
            tolerance = 3e-7 if dtype == "f32" else 1e-15
            np.testing.assert_allclose(got, reference(x, y), rtol=tolerance)


def test_scalars_are_expanded_too() -> None:
    functions = compiled(loop("tanh", "f32", 1))
    x = np.linspace(-3, 3, 11, dtype=np.float32)
    got = np.empty_like(x)
    functions("apply_tanh", x, got)
    np.testing.assert_allclose(got, np.tanh(x), rtol=3e-7)


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_half_precision_is_computed_in_single_precision(name: str) -> None:
    with ir.Context():
        module = ir.Module.parse(loop("exp", name, 8))
        ExpandMath()(module)
        text = str(module)
    assert "math.exp " not in text
    assert f"arith.extf %0 : vector<8x{name}> to vector<8xf32>" in text
    assert f"vector<8xf32> to vector<8x{name}>" in text


def test_double_precision_is_left_to_libm() -> None:
    with ir.Context():
        module = ir.Module.parse(loop("exp", "f64", 4))
        before = str(module)
        ExpandMath()(module)
        assert str(module) == before
