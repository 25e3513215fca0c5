"""Errors of the expansions of math functions, over all 2³² values of f32, and over some millions of f64.

    make math-check                                         # all functions
    .venv/bin/python test/python/support/math_check.py sin cos --stride 97

The reference for f32 is NumPy's (SciPy's for erf) in f64, whose own error, 2⁻²⁹ ulp of an f32 or so, does not count;
for f64 NumPy's in long double (mpmath's for erf). An infinity, a NaN or the sign of a zero that differs counts as
infinitely wrong, as does the limit of a function, if it is an integer. gelu is not an operation, but composed of erf;
for negative arguments its errors are in ulps of the argument.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import mpmath
import numpy as np
import scipy.special
from relax_mlir.lowering.expand import ExpandMath
from relax_mlir.mlir import ir
from relax_mlir.target import Target
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
    "gelu": lambda x: x * scipy.special.ndtr(x),
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
    "acos": 2.0,
    "acosh": 1.0,
    "asin": 2.0,
    "asinh": 1.0,
    "atan": 2.0,
    "atanh": 1.0,
    "cosh": 2.0,
    "sinh": 2.0,
    "exp": 1.1,
    "exp2": 1.1,
    "expm1": 1.6,
    "log": 1.0,
    "log2": 1.5,
    "log10": 1.5,
    "log1p": 1.0,
    "tanh": 2.0,
    "erf": 1.1,
    "gelu": 1.6,
    "sin": 1.7,
    "cos": 1.7,
    "tan": 1.0,
}
MAX_ULP_DOUBLE = {
    "cosh": 2.0,
    "erf": 1.2,
    "exp": 1.0,
    "exp2": 1.0,
    "expm1": 1.4,
    "log": 1.0,
    "log2": 1.0,
    "log10": 1.0,
    "log1p": 1.0,
    "sinh": 2.0,
    "tanh": 2.0,
}
"""For f64, on CPUs with a fused multiply-add; other functions are libm's."""

MAX_ULP_AVX512 = {"exp": 0.9, "exp2": 0.9, "erf": 1.3, "gelu": 1.2, "tanh": 2.0}
"""For vectors of 16, with AVX-512."""

DOUBLES = 1 << 20
"""Number of values of each kind of `doubles`."""

DEFAULT_ULP = 4.0
"""For functions of libm."""

DOUBLE_EDGES = np.array(
    [
        *(0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5e-324, -5e-324, 2.2250738585072014e-308),
        *(np.finfo(np.float64).max, np.finfo(np.float64).min, 709.782712893384, 709.7827128933841, 710.4758),
        *(
            710.4758600739439,
            710.475860073944,
            711,
            -708.4,
            -745.1332191019411,
            -745.1332191019412,
            -746,
            -750,
        ),
        *(
            1024,
            1023.9999999999999,
            -1022,
            -1074,
            -1074.5,
            -1075,
            -1075.1,
            -1076,
            -1077,
            -36.7,
            -37.5,
            -38,
            -39,
        ),
        *(
            0.34657359027997264,
            0.3465735902799727,
            np.sqrt(0.5),
            np.sqrt(2.0),
            19.06,
            20,
            22,
            -0.9999999999999999,
        ),
        *(10.0**n for n in range(-22, 23)),
        *(2.0**n for n in range(-1074, 1024, 13)),
    ]
)

CHUNK = 1 << 16
"""Values at a time: their f64 intermediates fit the cache, which takes a third of the time of larger pieces."""


GELU = """
    %root = arith.constant dense<0.7071067811865476> : {v}
    %half = arith.constant dense<0.5> : {v}
    %one = arith.constant dense<1.0> : {v}
    %scaled = arith.mulf %v, %root : {v}
    %erf = math.erf %scaled : {v}
    %gate = arith.addf %one, %erf : {v}
    %halved = arith.mulf %v, %half : {v}
    %r = arith.mulf %halved, %gate : {v}
"""


def loop(op: str, dtype: str, lanes: int) -> str:
    """`apply_OP`: applies the op to a buffer whose length is a multiple of `lanes`.

    (A function called like one of libm's would clash with the declaration that the lowering adds.)
    """
    buffer = f"memref<?x{dtype}>"
    vector = f"vector<{lanes}x{dtype}>"
    body = GELU if op == "gelu" else f"%r = math.{op} %v : {{v}}"
    return f"""
func.func @apply_{op}(%x: {buffer}, %out: {buffer}) {{
  %c0 = arith.constant 0 : index
  %step = arith.constant {lanes} : index
  %n = memref.dim %x, %c0 : {buffer}
  scf.for %i = %c0 to %n step %step {{
    %v = vector.load %x[%i] : {buffer}, {vector}
    {body.format(v=vector)}
    vector.store %r, %out[%i] : {buffer}, {vector}
  }}
  return
}}"""


def widths(op: str) -> list[tuple[int, float]]:
    """Numbers of lanes for which an op has separate code on this machine, with error bounds."""
    wide = op in MAX_ULP_AVX512 and Target.host().has("avx512f")
    return [(8, MAX_ULP.get(op, DEFAULT_ULP)), *[(16, MAX_ULP_AVX512[op]) for _ in range(wide)]]


def compiled(source: str) -> Compiled:
    with ir.Context() as context:
        context.enable_multithreading(False)
        module = ir.Module.parse(source)
        ExpandMath().apply_(module)
        assert module.operation.verify()
        return Compiled(module)


def error_of(op: str, got: np.ndarray, x: np.ndarray) -> tuple[float, float]:
    """`worst_error` of the results of an op."""
    exact = REFERENCES[op](x.astype(np.float64))
    return worst_error(got, exact, x, np.where(x < 0, x, exact) if op == "gelu" else exact)


def worst_error(
    got: np.ndarray, exact: np.ndarray, x: np.ndarray, unit: np.ndarray | None = None
) -> tuple[float, float]:
    """The largest error in units of the last place of the right result, and the argument that has it.

    `exact` is the result in a wider type; infinities, NaN, signed zeros, and integer results of infinite arguments must
    agree exactly, as other functions rely on them. `unit`: values whose ulps are used instead.
    """
    rounded = exact.astype(got.dtype)
    finite = np.isfinite(rounded)
    unit = rounded if unit is None else unit.astype(got.dtype)
    step = np.spacing(np.where(finite, np.abs(unit), 1)).astype(exact.dtype)
    error = np.abs(got.astype(exact.dtype) - exact)
    error /= step
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    error[~finite] = np.where(same[~finite], 0.0, np.inf)
    error[finite & ~np.isfinite(got)] = np.inf
    limit = np.isinf(x) & (exact == np.rint(exact))
    error[limit & ~same] = np.inf
    zero = (exact == 0) & (got == 0) & (np.signbit(got) != np.signbit(exact))
    error[zero] = np.inf
    worst = int(np.argmax(error))
    return float(error[worst]), float(x[worst])


def doubles(count: int, seed: int) -> np.ndarray:
    """f64 numbers: of all exponents and signs, moderate, near 1, near overflow of functions, and special values."""
    rng = np.random.default_rng(seed)
    any_bits = rng.integers(0, 1 << 64, count, dtype=np.uint64).view(np.float64)
    moderate = [rng.uniform(-limit, limit, count) for limit in (1, 10, 50, 1100)]
    near_one = 1 + rng.uniform(-1, 1, count) * 2.0 ** rng.integers(-52, 0, count)
    small = rng.uniform(-1, 1, count) * 2.0 ** rng.integers(-60, 0, count)
    denormal = rng.integers(0, 1 << 52, count, dtype=np.uint64).view(np.float64)
    values = np.concatenate([any_bits, *moderate, near_one, small, denormal, DOUBLE_EDGES])
    return np.concatenate([values, np.zeros(-len(values) % 32)])


def check_doubles(function: Compiled, op: str, count: int, seed: int = 0) -> tuple[float, float]:
    """`worst_error` of an op on f64, in ulps, compared with long double."""
    x = doubles(count, seed)
    got = np.empty_like(x)
    function(f"apply_{op}", x, got)
    exact = _erf(x) if op == "erf" else REFERENCES[op](x.astype(np.longdouble))
    return worst_error(got, exact, x)


def _erf(x: np.ndarray) -> np.ndarray:
    """erf in long double: NumPy and SciPy have none; mpmath's, of each number."""
    with mpmath.workprec(80):
        values = [(float(value), value) for value in map(mpmath.erf, x.tolist())]
        exact = [np.longdouble(high) + np.longdouble(float(value - high)) for high, value in values]
    return np.copysign(np.where(np.isinf(x), 1, exact), x)


def check(function: Compiled, op: str, stride: int) -> tuple[float, float]:
    """`worst_error` of an op over every `stride`-th f32."""
    worst = (0.0, 0.0)
    out = np.empty(CHUNK, np.float32)
    for start in range(0, 1 << 32, CHUNK * stride):
        bits = np.arange(start, start + CHUNK * stride, stride, dtype=np.uint64) & 0xFFFFFFFF
        x = bits.astype(np.uint32).view(np.float32)
        function(f"apply_{op}", x, out)
        worst = max(worst, error_of(op, out, x))
    return worst


def main(arguments: list[str] | None = None) -> int:
    """Print the worst error of each function; 1 if one exceeds its bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("functions", nargs="*", help=f"of {', '.join(sorted(MAX_ULP))}; all of them")
    parser.add_argument("--stride", type=int, default=1, help="look at every so many values only (an odd number)")
    options = parser.parse_args(arguments)
    failed = False
    found: dict[tuple[str, str], float] = {}
    for op in options.functions or sorted(MAX_ULP):
        for lanes, bound in widths(op):
            began = time.monotonic()
            with np.errstate(all="ignore"):
                ulp, at = check(compiled(loop(op, "f32", lanes)), op, options.stride)
            failed |= ulp > bound
            found.setdefault((op, "f32"), ulp)  # that of all machines, if this one has wider vectors, too
            verdict = "ok" if ulp <= bound else "TOO FAR OFF"
            seconds = time.monotonic() - began
            print(
                f"{op:8} {lanes:2} lanes: {ulp:.3f} ulp at {at!r}, bound {bound}: {verdict} ({seconds:.0f} s)",
                flush=True,
            )
    for op in sorted(MAX_ULP_DOUBLE.keys() & set(options.functions or MAX_ULP_DOUBLE)):
        for lanes in (4, 8):
            with np.errstate(all="ignore"):
                function = compiled(loop(op, "f64", lanes))
                ulp, at = check_doubles(function, op, DOUBLES // 100 if op == "erf" else DOUBLES)
            failed |= ulp > MAX_ULP_DOUBLE[op]
            verdict = "ok" if ulp <= MAX_ULP_DOUBLE[op] else "TOO FAR OFF"
            print(f"{op:8} of f64, {lanes} lanes: {ulp:.3f} ulp at {at!r}, bound {MAX_ULP_DOUBLE[op]}: {verdict}")
    if options.stride == 1:
        from math_table import record

        record(found)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
