"""References of each scalar op of prim funcs on NumPy arrays; run as a program, it compares a part of all forms.

``python prim_op_references.py 3 16``: the third of sixteen parts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import relax_mlir as rx
from prim_op_forms import Form, forms, module_text, prim_func, prim_loop, stored
from reference import OPS
from relax_mlir.lowering.legality import PRIM_TYPES
from relax_mlir.runtime import to_numpy
from scipy import special  # type: ignore[import-untyped]

Array = Any
NUMPY = {
    "f16": "f2",
    "bf16": ml_dtypes.bfloat16,
    "f32": "f4",
    "f64": "f8",
    "i1": "?",
    **{f"i{bits}": f"i{bits // 8}" for bits in (8, 16, 32, 64)},
}
DIGITS = {"f16": 2.0**-9, "bf16": 2.0**-6, "f32": 2.0**-20, "f64": 2.0**-44}
"""Relative errors of functions that are polynomials, or rounded twice."""
COUNT = 173
"""The number of values: more than a vector holds, and odd."""


def numbers(type_: str, side: int) -> Array:
    """Numbers of all kinds: limits, zeros, widths, NaN and infinities; all pairs of both sides occur."""
    dtype = np.dtype(NUMPY[type_])
    if type_ == "i1":
        found = [False, True, True, False, True]
    elif type_.startswith("i"):
        limits, bits = np.iinfo(dtype), int(type_[1:])
        found = [0, 1, -1, 2, -2, 3, 7, -7, bits - 1, bits, min(bits + 1, limits.max), limits.min, limits.max]
    else:
        found = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -2.5,
            3.0,
            7.75,
            1e-3,
            300.0,
            -300.0,
            np.nan,
            np.inf,
            -np.inf,
            3e38,
            -7e4,
        ]
    with np.errstate(all="ignore"):
        values = np.array(found).astype(dtype)
    places = np.arange(COUNT)
    return values[(places, places // len(values), places // 3)[side] % len(values)]


def unsigned(x: Array) -> Array:
    return x.view(f"u{x.dtype.itemsize}")


def wide(x: Array) -> Array:
    """f16 and bf16 as float32."""
    return x.astype("f4") if x.dtype.itemsize == 2 and x.dtype.kind not in "iub" else x


def number(function: Callable[..., Array]) -> Callable[..., Array]:
    """A function of floats, computed in float64, or longdouble where that is the dtype."""

    def apply(form: Form, *xs: Array) -> Array:
        return function(*(x.astype("f8") for x in xs))

    return apply


def integers(function: Callable[..., Array]) -> Callable[..., Array]:
    return lambda form, *xs: function(*xs)


def exact(function: Callable[..., Array], *, signed: bool = True) -> Callable[..., Array]:
    """A function of Python's integers, which wraps around."""

    def apply(form: Form, *xs: Array) -> Array:
        dtype, bits = xs[0].dtype, max(int(xs[0].dtype.itemsize) * 8, 1)
        if dtype.kind == "b":
            bits = 1
        whole = [[_integer(v, bits, signed) for v in x.tolist()] for x in xs]
        results = [function(bits, *items) & ((1 << bits) - 1) for items in zip(*whole, strict=True)]
        if dtype.kind == "b":
            return np.array(results, dtype=bool)
        return np.array(results, dtype=f"u{bits // 8}").view(dtype)

    return apply


def _integer(value: int, bits: int, signed: bool) -> int:
    bottom = int(value) & ((1 << bits) - 1)
    return bottom - (1 << bits) if signed and bottom >> (bits - 1) else bottom


def _truncated(bits: int, a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(bits: int, a: int, b: int) -> int:
    return 0 if b == 0 else a - _truncated(bits, a, b) * b


def _shift(bits: int, x: int, count: int) -> int:
    return x << count if 0 <= count < bits else 0


def _power(bits: int, base: int, exponent: int) -> int:
    if exponent >= 0:
        return pow(base, exponent, 1 << bits)
    return {1: 1, -1: -1 if exponent % 2 else 1}.get(base, 0)


def _to_integer(*, signed: bool) -> Callable[..., Array]:
    def apply(form: Form, x: Array) -> Array:
        bits = int(form.result[1:])
        least, most = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        found = [
            0 if v != v else least if v <= least else most if v >= most else int(v) for v in x.astype("f8").tolist()
        ]
        return np.array([v & ((1 << bits) - 1) for v in found], dtype=f"u{bits // 8}").view(f"i{bits // 8}")

    return apply


def _compare(form: Form, a: Array, b: Array) -> Array:
    number_of = int(form.attributes.partition("= ")[2].partition(" ")[0])
    if form.op == "arith.cmpi":
        if number_of >= 6:
            a, b = (x.astype("u1") if x.dtype == bool else unsigned(x) for x in (a, b))
        elif a.dtype == bool:
            a, b = (-x.astype("i1") for x in (a, b))
        tests = (np.equal, np.not_equal, *(np.less, np.less_equal, np.greater, np.greater_equal) * 2)
        return tests[number_of](a, b)
    x, y = wide(a), wide(b)
    nan = np.isnan(x) | np.isnan(y)
    tests = (np.equal, np.greater, np.greater_equal, np.less, np.less_equal, lambda p, q: p != q)
    if number_of in (0, 15):
        return np.full(x.shape, number_of == 15)
    if number_of in (7, 14):
        return ~nan if number_of == 7 else nan
    if number_of < 7:
        return tests[number_of - 1](x, y) & ~nan
    return tests[number_of - 8](x, y) | nan


def _cast(form: Form, x: Array) -> Array:
    """To a wider or narrower integer, or a float, by sign or without."""
    if form.op in ("arith.extui", "arith.uitofp", "arith.index_castui"):
        x = x if x.dtype == bool else unsigned(x)
    elif x.dtype == bool and form.op in ("arith.extsi", "arith.sitofp", "arith.index_cast"):
        x = -x.astype("i1")
    target = np.dtype(NUMPY[stored(form.result)])
    if target.kind == "b":
        return (x & 1).astype(bool)
    if target.itemsize == 2 and target.kind not in "iu":
        return x.astype("f4").astype(target)
    return x.astype(target)


def _bitcast(form: Form, x: Array) -> Array:
    return x.view(NUMPY[stored(form.result)])


def _float_power(form: Form, x: Array, exponent: Array) -> Array:
    """An odd exponent keeps the sign, even if float64 does not distinguish odd from even."""
    exponent = -exponent.astype("i1") if exponent.dtype.kind == "b" else exponent
    size = np.power(np.abs(x.astype("f8")), exponent.astype("f8"))
    return np.where(exponent & 1, np.copysign(size, x.astype("f8")), size)


def _bits(function: Callable[[int, int], int]) -> Callable[..., Array]:
    return exact(function, signed=False)


SHARED = (
    *(
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "ceil",
        "cos",
        "cosh",
        "erf",
        "exp",
        "expm1",
    ),
    *("floor", "log", "log10", "log1p", "log2", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
)
"""Functions that are also ops."""
REFERENCES: dict[str, Callable[..., Array]] = {
    "arith.addf": number(np.add),
    "arith.addi": exact(lambda bits, a, b: a + b),
    "arith.andi": exact(lambda bits, a, b: a & b),
    "arith.bitcast": _bitcast,
    "arith.ceildivsi": exact(lambda bits, a, b: 0 if b == 0 else -(-a // b)),
    "arith.ceildivui": exact(lambda bits, a, b: 0 if b == 0 else -(-a // b), signed=False),
    "arith.cmpf": _compare,
    "arith.cmpi": _compare,
    "arith.divf": number(np.divide),
    "arith.divsi": exact(_truncated),
    "arith.divui": exact(_truncated, signed=False),
    "arith.extf": number(lambda x: x),
    "arith.extsi": _cast,
    "arith.extui": _cast,
    "arith.floordivsi": exact(lambda bits, a, b: 0 if b == 0 else a // b),
    "arith.fptosi": _to_integer(signed=True),
    "arith.fptoui": _to_integer(signed=False),
    "arith.index_cast": _cast,
    "arith.index_castui": _cast,
    "arith.maximumf": number(np.maximum),
    "arith.maxnumf": number(np.fmax),
    "arith.maxsi": exact(lambda bits, a, b: max(a, b)),
    "arith.maxui": exact(lambda bits, a, b: max(a, b), signed=False),
    "arith.minimumf": number(np.minimum),
    "arith.minnumf": number(np.fmin),
    "arith.minsi": exact(lambda bits, a, b: min(a, b)),
    "arith.minui": exact(lambda bits, a, b: min(a, b), signed=False),
    "arith.mulf": number(np.multiply),
    "arith.muli": exact(lambda bits, a, b: a * b),
    "arith.negf": number(np.negative),
    "arith.ori": exact(lambda bits, a, b: a | b),
    "arith.remf": number(np.fmod),
    "arith.remsi": exact(_remainder),
    "arith.remui": exact(_remainder, signed=False),
    "arith.select": integers(np.where),
    "arith.shli": exact(lambda bits, x, n: _shift(bits, x, n)),
    "arith.shrsi": exact(lambda bits, x, n: x >> (n if 0 <= n < bits else bits - 1)),
    "arith.shrui": exact(lambda bits, x, n: x >> n if n < bits else 0, signed=False),
    "arith.sitofp": _cast,
    "arith.subf": number(np.subtract),
    "arith.subi": exact(lambda bits, a, b: a - b),
    "arith.truncf": number(lambda x: x),
    "arith.trunci": _cast,
    "arith.uitofp": _cast,
    "arith.xori": exact(lambda bits, a, b: a ^ b),
    **{f"math.{name}": number(OPS[name]) for name in SHARED},
    "math.absf": number(np.abs),
    "math.absi": exact(lambda bits, x: abs(x)),
    "math.cbrt": number(np.cbrt),
    "math.copysign": number(np.copysign),
    "math.ctlz": _bits(lambda bits, x: bits - x.bit_length()),
    "math.ctpop": _bits(lambda bits, x: x.bit_count()),
    "math.cttz": _bits(lambda bits, x: (x & -x).bit_length() - 1 if x else bits),
    "math.erfc": number(special.erfc),
    "math.exp2": number(np.exp2),
    "math.fma": number(lambda a, b, c: a * b + c),
    "math.fpowi": _float_power,
    "math.ipowi": exact(_power),
    "math.isfinite": number(np.isfinite),
    "math.isinf": number(np.isinf),
    "math.isnan": number(np.isnan),
    "math.isnormal": lambda form, x: np.isfinite(wide(x)) & (np.abs(wide(x)) >= float(ml_dtypes.finfo(x.dtype).tiny)),
    "math.powf": number(np.power),
    "math.round": number(lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x)),
    "math.roundeven": number(np.rint),
}
"""``reference(form, *operands)``: floats may come in any precision, and are rounded."""


def difference(form: Form, found: Array, operands: Sequence[Array]) -> str | None:
    """The difference from the expected result; None if there is none."""
    with np.errstate(all="ignore"):
        wanted = REFERENCES[form.op](form, *operands)
        if form.result not in DIGITS:
            good = found == wanted
        else:
            kind = np.dtype(NUMPY[form.result])
            wanted = np.asarray(wanted).astype("f4" if kind.itemsize == 2 else kind).astype(kind).astype("f8")
            have = found.astype("f8")
            close = np.abs(have - wanted) <= DIGITS[form.result] * np.abs(wanted) + float(ml_dtypes.finfo(kind).tiny)
            good = close | (have == wanted) | (np.isnan(have) & np.isnan(wanted))
    bad = np.flatnonzero(~good)
    if not len(bad):
        return None
    at = bad[0]
    return f"{form}: {len(bad)} differ, first of {[x[at] for x in operands]}: {found[at]}, expected {wanted[at]}"


def main(chunk: int, chunks: int, in_loops: bool = False) -> int:
    """Compare a part of the forms, in vectorised loops if requested; return the number of differences."""
    chosen = forms()[chunk::chunks]
    held = [t for t in PRIM_TYPES if t != "index"]
    inputs = {(t, side): numbers(t, number) for t in held for number, side in enumerate("abc")}
    run = rx.build(rx.IRModule.parse(module_text(chosen, prim_loop if in_loops else prim_func)))["main"]
    results = run(*inputs.values())
    wrong = 0
    for form, result in zip(chosen, results, strict=True):
        operands = [inputs[stored(t), side] for t, side in zip(form.operands, "abc", strict=False)]
        message = difference(form, to_numpy(result), operands)
        if message:
            wrong += 1
            print(message)
    print(f"{len(chosen) - wrong} forms agree{' in loops' if in_loops else ''}")
    return wrong


if __name__ == "__main__":
    sys.exit(sum([main(int(sys.argv[1]), int(sys.argv[2]), kind == "loops") for kind in sys.argv[3:]]) != 0)
