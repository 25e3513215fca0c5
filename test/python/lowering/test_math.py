"""expand-math: accuracy over the whole range of f32, and everything else through libm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from math_check import (
    MAX_ULP_DOUBLE,
    REFERENCES,
    check_doubles,
    compiled,
    error_of,
    loop,
    widths,
    worst_error,
)
from relax_mlir.lowering.expand import ExpandMath
from relax_mlir.mlir import ir
from relax_mlir.target import Target
from rows_jit import Compiled

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
    -9.9573,
    9.9575,
    -20,
]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


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
    return np.concatenate([values, np.zeros(-len(values) % 16, np.float32)])


@pytest.mark.parametrize("op", sorted(REFERENCES))
def test_single_precision(op: str, single: Compiled, inputs: np.ndarray) -> None:
    for lanes, bound in widths(op):
        function = single if lanes == 8 else compiled(loop(op, "f32", lanes))
        got = np.empty_like(inputs)
        function(f"apply_{op}", inputs, got)
        ulp, at = error_of(op, got, inputs)
        assert ulp <= bound, f"{ulp} ulp at {at!r}, {lanes} lanes"


@pytest.mark.parametrize("op", sorted(REFERENCES.keys() - {"gelu"}))  # written with erf, there is no other for f64
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


def binary_loop(op: str, lanes: int = 8) -> str:
    buffer, vector = "memref<?xf32>", f"vector<{lanes}xf32>"
    dialect, _, name = op.rpartition(".")
    return f"""
func.func @apply_{name}(%x: {buffer}, %y: {buffer}, %out: {buffer}) {{
  %c0 = arith.constant 0 : index
  %step = arith.constant {lanes} : index
  %n = memref.dim %x, %c0 : {buffer}
  scf.for %i = %c0 to %n step %step {{
    %a = vector.load %x[%i] : {buffer}, {vector}
    %b = vector.load %y[%i] : {buffer}, {vector}
    %r = {dialect or "math"}.{name} %a, %b : {vector}
    vector.store %r, %out[%i] : {buffer}, {vector}
  }}
  return
}}"""


@pytest.mark.parametrize(("op", "reference"), [("powf", np.power), ("atan2", np.arctan2)])
def test_functions_of_two_arguments(op: str, reference: Callable[..., np.ndarray]) -> None:
    """Random pairs of all sizes, near 1 and small integers, and every pair of special values."""
    rng = np.random.default_rng(8)
    special = np.array([*SPECIAL, 2, -2, 3, -3, 0.5, -0.5, 1e38, -1e38, 16777217], np.float32)
    bits = rng.integers(0, 2**32, (2, 200_000), dtype=np.uint64).astype(np.uint32).view(np.float32)
    pairs = [bits, np.array([rng.uniform(0.9, 1.1, 50_000), rng.uniform(-900, 900, 50_000)], np.float32)]
    pairs.append(np.array([rng.uniform(-9, 9, 50_000), rng.integers(-30, 30, 50_000)], np.float32))
    pairs.append(np.array(np.meshgrid(special, special), np.float32).reshape(2, -1))
    x, y = np.concatenate(pairs, axis=1)
    x, y = (np.ascontiguousarray(np.concatenate([v, np.ones(-len(v) % 8, np.float32)])) for v in (x, y))
    got = np.empty_like(x)
    compiled(binary_loop(op))(f"apply_{op}", x, y, got)
    ulp, at = worst_error(got, reference(x.astype(np.float64), y.astype(np.float64)), np.arange(len(x)))
    assert ulp <= {"powf": 1.0, "atan2": 3.0}[op], f"{ulp} ulp of {x[int(at)]!r}, {y[int(at)]!r}"


@pytest.mark.parametrize("lanes", [1, 8, 64])
def test_remainders_are_exact(lanes: int) -> None:
    """All that C's fmod gives, bit by bit: with all quotients, near whole ones, subnormal and special numbers."""
    rng = np.random.default_rng(9)
    special = np.array([*SPECIAL, 2, -2, 3, 0.5, 1e38, -1e38, 1e-45, -1e-45, 16777217], np.float32)
    bits = rng.integers(0, 2**32, (2, 100_000), dtype=np.uint64).astype(np.uint32).view(np.float32)
    x, y = rng.standard_normal((2, 100_000)).astype(np.float32)
    wide = np.array([x * np.float32(10.0) ** rng.integers(-3, 9, len(x)), y], np.float32)
    whole = np.array([rng.integers(-(2**25), 2**25, len(x)).astype(np.float32) * y, y], np.float32)
    grid = np.array(np.meshgrid(special, special), np.float32).reshape(2, -1)
    x, y = np.concatenate([bits, wide, whole, np.round(8 * wide) / 8, grid], axis=1)
    x, y = (np.ascontiguousarray(np.concatenate([v, np.ones(-len(v) % 64, np.float32)])) for v in (x, y))
    got = np.empty_like(x)
    compiled(binary_loop("arith.remf", lanes))("apply_remf", x, y, got)
    with np.errstate(invalid="ignore"):
        expected = np.fmod(x, y)
    np.testing.assert_array_equal(got, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))


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
        ExpandMath().apply_(module)
        text = str(module)
    assert "math.exp " not in text
    assert f"arith.extf %0 : vector<8x{name}> to vector<8xf32>" in text
    assert f"vector<8xf32> to vector<8x{name}>" in text


@pytest.mark.parametrize(("op", "target"), [("sin", "cpu -mcpu=haswell"), ("exp", "cpu -mcpu=haswell -mattr=-fma")])
def test_what_has_no_expansion_for_f64_is_left_to_libm(op: str, target: str) -> None:
    with ir.Context():
        module = ir.Module.parse(loop(op, "f64", 4))
        before = str(module)
        ExpandMath(target).apply_(module)
        assert str(module) == before


@pytest.mark.skipif(not Target.host().has_fma, reason="calls libm without a fused multiply-add")
@pytest.mark.parametrize("op", sorted(MAX_ULP_DOUBLE))
def test_double_precision_in_ulps(op: str, double: Compiled) -> None:
    """All exponents and signs, moderate sizes, near 1 and 0, denormals, where functions overflow or vanish, special."""
    ulp, at = check_doubles(double, op, 400 if op == "erf" else 40_000, seed=11)
    assert ulp <= MAX_ULP_DOUBLE[op], f"{ulp} ulp at {at!r}"


@pytest.mark.skipif(not Target.host().has_fma, reason="calls libm without a fused multiply-add")
def test_powers_have_exact_logarithms(double: Compiled) -> None:
    exponents = np.arange(-1072, 1024)
    for op, x, expected in (
        ("log2", 2.0**exponents, exponents),
        ("log10", np.array([float(f"1e{n}") for n in range(24)]), np.arange(24)),
        ("exp2", exponents.astype(np.float64), 2.0**exponents),
    ):
        got = np.empty_like(x)
        double(f"apply_{op}", x, got)
        np.testing.assert_array_equal(got, expected)


@pytest.mark.skipif(not Target.host().has_fma, reason="calls libm without a fused multiply-add")
@pytest.mark.parametrize("lanes", [1, 2, 8, 24])
def test_f64_in_vectors_of_any_length(lanes: int) -> None:
    functions = compiled("".join(loop(op, "f64", lanes) for op in ("exp", "log", "tanh", "erf")))
    x = np.linspace(0.01, 9, 48)
    for op in ("exp", "log", "tanh", "erf"):
        got = np.empty_like(x)
        functions(f"apply_{op}", x, got)
        np.testing.assert_allclose(got, REFERENCES[op](x), rtol=5e-16)
