"""expand-floats: every f16 and bf16, and f32 and f64 around all ties, against NumPy and ml_dtypes."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from relax_mlir.lowering.expand import ExpandFloats, ExpandMath
from relax_mlir.lowering.kernels.nest.vector_loops import LinalgToLoops
from relax_mlir.mlir import ir
from rows_jit import Compiled

TARGETS = ("cpu -mcpu=haswell", "cpu -mcpu=x86-64")
"""With and without instructions for f16."""

NUMPY = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
NUMPY |= {"i8": np.int8, "i32": np.int32, "i64": np.int64}
WIDENING = [("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("bf16", "f64")]
INTEGERS = [("i32", "f16"), ("i64", "bf16"), ("i8", "bf16")]
EVERY_HALF = np.arange(65536, dtype=np.uint16)

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def elementwise(name: str, source: str, result: str, body: str) -> str:
    """A function that maps a 1-D buffer of type `source` to one of type `result`; `body` gives %r from %x."""
    return f"""
func.func @{name}(%i: memref<?x{source}>, %o: memref<?x{result}>) {{
  linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                  iterator_types = ["parallel"]}}
      ins(%i : memref<?x{source}>) outs(%o : memref<?x{result}>) {{
  ^bb0(%x: {source}, %old: {result}):
    {body}
    linalg.yield %r : {result}
  }}
  return
}}"""


def conversion(operation: str, source: str, result: str) -> str:
    body = f"%r = arith.{operation} %x : {source} to {result}"
    return elementwise(f"{source}_{result}", source, result, body)


def compiled(source: str, target: str) -> Compiled:
    with ir.Context() as context:
        context.enable_multithreading(False)
        module = ir.Module.parse(source)
        for step in (LinalgToLoops(target), ExpandMath(target), ExpandFloats(target)):
            step.apply_(module)
        assert module.operation.verify()
        return Compiled(module)


@pytest.fixture(scope="module", params=TARGETS)
def conversions(request: pytest.FixtureRequest) -> Compiled:
    texts = [conversion("extf", *pair) + conversion("truncf", *reversed(pair)) for pair in WIDENING]
    texts += [conversion("sitofp", *pair) + conversion("fptosi", *reversed(pair)) for pair in INTEGERS]
    return compiled("".join(texts), request.param)


def converted(functions: Compiled, source: str, result: str, x: np.ndarray) -> np.ndarray:
    out = np.empty(x.shape, NUMPY[result])
    functions(f"{source}_{result}", np.ascontiguousarray(x), out)
    return out


def assert_same(got: np.ndarray, want: np.ndarray) -> None:
    """Bit for bit, NaNs as a class."""
    nan = np.isnan(want.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(got.astype(np.float64)), nan)
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[got.itemsize]
    np.testing.assert_array_equal(got[~nan].view(bits), want[~nan].view(bits))


@pytest.mark.parametrize(("half", "wide"), WIDENING)
def test_widening_every_value(half: str, wide: str, conversions: Compiled) -> None:
    x = EVERY_HALF.view(NUMPY[half])
    assert_same(converted(conversions, half, wide, x), x.astype(NUMPY[wide]))


@pytest.mark.parametrize("half", ["f16", "bf16"])
def test_narrowing_single_precision(half: str, conversions: Compiled) -> None:
    patterns = [np.arange(0, 2**32, 4093, dtype=np.uint64).astype(np.uint32)]
    for low in (0x1000, 0x0FFF, 0x1001, 0x3000, 0x7FFF, 0x8000, 0x8001):
        patterns.append((EVERY_HALF.astype(np.uint32) << 16) | low)
    x = np.concatenate(patterns).view(np.float32)
    assert_same(converted(conversions, "f32", half, x), x.astype(NUMPY[half]))


def around_ties(half: str) -> np.ndarray:
    """The f64 in the middle between neighbours, and those next to them; extremes; random ones."""
    values = EVERY_HALF.view(NUMPY[half]).astype(np.float64)
    values = np.unique(values[np.isfinite(values)])
    middle = (values[1:] + values[:-1]) / 2
    near = [middle * (1 + 2.0**-40), middle * (1 - 2.0**-40)]
    edges = [np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)]
    extremes = [
        1e30,
        -1e30,
        np.inf,
        -np.inf,
        np.nan,
        1e-300,
        5e-324,
        -0.0,
        65519.999,
        65520.0,
        3.3895e38,
        3.4e38,
    ]
    random = np.random.default_rng(1).normal(size=50_000) * 1e-6
    return np.concatenate([values, middle, *near, *edges, extremes, random])


def test_narrowing_double_to_f16(conversions: Compiled) -> None:
    x = around_ties("f16")
    assert_same(converted(conversions, "f64", "f16", x), x.astype(np.float16))


def test_narrowing_double_to_bf16_rounds_once(conversions: Compiled) -> None:
    """ml_dtypes rounds twice (by way of f32), so the nearest value is found here."""
    x = around_ties("bf16")
    got = converted(conversions, "f64", "bf16", x)
    finite = np.isfinite(x) & (np.abs(x) < 3.38e38)
    x, bits = np.abs(x[finite]), got[finite].view(np.uint16) & 0x7FFF

    def value(pattern: np.ndarray) -> np.ndarray:
        return pattern.astype(np.uint16).view(ml_dtypes.bfloat16).astype(np.float64)

    error = np.abs(x - value(bits))
    for neighbour in (bits + 1, np.maximum(bits, 1) - 1):
        other = np.abs(x - value(neighbour))
        assert (error <= other).all()
        tie = (error == other) & (neighbour != bits)
        assert (bits[tie] % 2 == 0).all()


def test_the_odd_rounding_is_needed() -> None:
    """1 + 2⁻¹¹ + 2⁻⁴⁰ is above a tie of f16; rounded to f32 first it is the tie."""
    x = np.array([1 + 2.0**-11 + 2.0**-40] * 8)
    functions = compiled(conversion("truncf", "f64", "f16"), TARGETS[0])
    got = converted(functions, "f64", "f16", x)
    assert Fraction(float(got[0])) == 1 + Fraction(1, 1024)


@pytest.mark.parametrize(("integer", "half"), INTEGERS)
def test_integers(integer: str, half: str, conversions: Compiled) -> None:
    x = np.arange(-120, 120).astype(NUMPY[integer])
    assert_same(converted(conversions, integer, half, x), x.astype(NUMPY[half]))
    y = x.astype(NUMPY[half])
    np.testing.assert_array_equal(converted(conversions, half, integer, y), y.astype(NUMPY[integer]))


@pytest.mark.parametrize("half", ["f16", "bf16"])
@pytest.mark.parametrize("target", TARGETS)
def test_arithmetic_and_functions(half: str, target: str) -> None:
    """Each operation is computed in f32 and rounded, as NumPy and ml_dtypes do."""
    arithmetic = f"""%s = arith.addf %x, %x : {half}
    %p = arith.mulf %s, %x : {half}
    %m = arith.maximumf %p, %x : {half}
    %n = arith.negf %m : {half}
    %r = arith.subf %n, %x : {half}"""
    functions = compiled(
        elementwise("arithmetic", half, half, arithmetic)
        + elementwise("expanded", half, half, f"%r = math.tanh %x : {half}")
        + elementwise("called", half, half, f"%r = math.asinh %x : {half}"),
        target,
    )
    x = np.random.default_rng(2).normal(size=1003).astype(NUMPY[half])
    want = -np.maximum((x + x) * x, x) - x
    for name, reference in {"arithmetic": want, "expanded": np.tanh(x), "called": np.arcsinh(x)}.items():
        got = np.empty_like(x)
        functions(name, x, got)
        exact = 0 if name == "arithmetic" else {"f16": 1e-3, "bf16": 8e-3}[half]
        np.testing.assert_allclose(got.astype(np.float64), reference.astype(np.float64), rtol=exact)
