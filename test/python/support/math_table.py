"""The table of the errors of math functions in docs/numerics.md, by function and dtype.

    make math-check                                       # measures all, and writes the table
    .venv/bin/python test/python/support/math_table.py   # all but f32, which `math_check.py` measures

f16 and bf16: every value, the reference in f64. f64: a sample of `SAMPLE` values of all magnitudes, and of those that
are hard for the functions; the reference is NumPy's in the 80 bits of x86's long double (the error of which, 2⁻¹¹ ulp
or so, does not count), mpmath's with 40 digits for `erf` and `gelu`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
from math_check import MAX_ULP, REFERENCES, compiled, loop, worst_error

Array = np.ndarray[Any, Any]
PAGE = Path(__file__).parents[3] / "docs" / "numerics.md"
BEGIN, END = "<!-- math-table: written by make math-check -->\n", "<!-- end of math-table -->\n"
DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
MAX_ULP_LOW = 0.51
"""For f16 and bf16: computed in f32, and rounded once."""
MAX_ULP_F64 = {"expm1": 4.0, "log1p": 4.0, "gelu": 4.0}
DEFAULT_ULP_F64 = 2.5
"""For functions of libm."""
LIMIT = 100.0
LANES = 8
SAMPLE = 1 << 20
SLOW_SAMPLE = 1 << 14
"""For functions whose reference is mpmath."""

Errors = dict[tuple[str, str], float]
"""Units in the last place, by function and dtype."""


def values_of(dtype: str, count: int = SAMPLE) -> Array:
    """The arguments: all values, or `count` for f64."""
    if dtype != "f64":
        return np.arange(1 << 16, dtype=np.uint16).view(DTYPES[dtype])
    rng = np.random.default_rng(0)
    quarter = count // 4
    any_size = rng.integers(0, 1 << 64, quarter, dtype=np.uint64).view(np.float64)
    turns = np.round(rng.uniform(-1e6, 1e6, quarter)) * (np.pi / 2)
    near_one = 1 + rng.choice([-1.0, 1.0], quarter // 2) * 2.0 ** rng.uniform(-52, 0, quarter // 2)
    special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, 1.7976931348623157e308])
    parts = [any_size, turns, near_one, -near_one[: quarter // 4], special]
    ordinary = rng.uniform(-40, 40, count - sum(map(len, parts)))
    return np.concatenate([*parts, ordinary])


def reference(op: str, x: Array) -> Array:
    """The exact results: for f64 with more precision than f64."""
    if x.dtype != np.float64:
        return np.asarray(REFERENCES[op](x.astype(np.float64)))
    if op not in ("erf", "gelu"):
        return np.asarray(REFERENCES[op](x.astype(np.longdouble)))
    with mpmath.workdps(40):
        return np.array([_precise(op, float(value)) for value in x], np.longdouble)


def _precise(op: str, x: float) -> np.longdouble:
    if x == 0 or not abs(x) < LIMIT:  # signed zeros, the limits of both functions, and NaN
        return np.longdouble(REFERENCES[op](np.float64(x)))
    number = mpmath.mpf(x)
    exact = mpmath.erf(number) if op == "erf" else number * mpmath.erfc(-number / mpmath.sqrt(2)) / 2
    high = float(exact)
    return np.longdouble(high) + np.longdouble(float(exact - mpmath.mpf(high)))


def low_gelu(dtype: str) -> str:
    """`gelu` of a low precision as compiled: widened first, and rounded once."""
    wide, narrow = f"vector<{LANES}xf32>", f"vector<{LANES}x{dtype}>"
    text = loop("gelu", dtype, LANES)
    head, body = text.split("%v = vector.load", 1)
    load, rest = body.split("\n", 1)
    rest = rest.replace(narrow, wide).replace(
        "vector.store %r,", "%s = arith.truncf %r : " + f"{wide} to {narrow}\n    vector.store %s,"
    )
    store = rest.rindex(wide)
    rest = rest[:store] + narrow + rest[store + len(wide) :]
    return f"{head}%n0 = vector.load{load}\n    %v = arith.extf %n0 : {narrow} to {wide}\n{rest}"


def measured(op: str, dtype: str) -> tuple[float, float]:
    """`worst_error` of a function, and the argument that has it."""
    x = values_of(dtype, SLOW_SAMPLE if op in ("erf", "gelu") else SAMPLE)
    out = np.zeros_like(x)
    source = low_gelu(dtype) if op == "gelu" and dtype != "f64" else loop(op, dtype, LANES)
    compiled(source)(f"apply_{op}", x, out)
    exact = reference(op, x)
    return worst_error(out, exact, x, np.where(x < 0, x.astype(exact.dtype), exact) if op == "gelu" else exact)


def bound(op: str, dtype: str) -> float:
    """The error bound of a function."""
    if dtype == "f32":
        return MAX_ULP[op]
    return MAX_ULP_F64.get(op, DEFAULT_ULP_F64) if dtype == "f64" else MAX_ULP_LOW


def recorded() -> Errors:
    """The table of the page."""
    text = PAGE.read_text(encoding="utf-8")
    rows = text[text.index(BEGIN) + len(BEGIN) : text.index(END)].splitlines()
    names = [cell.strip().strip("`") for cell in rows[0].strip("|").split("|")][1:]
    found: Errors = {}
    for row in rows[2:]:
        op, *cells = (cell.strip().strip("`") for cell in row.strip("|").split("|"))
        found.update({(op, name): float(cell) for name, cell in zip(names, cells, strict=True)})
    return found


def record(errors: Errors) -> None:
    """Update the table with `errors`."""
    known = recorded() | errors
    lines = [
        "| Function | " + " | ".join(f"`{name}`" for name in DTYPES) + " |",
        "|---|" + "---|" * len(DTYPES),
    ]
    for op in sorted(MAX_ULP):
        lines.append(f"| `{op}` | " + " | ".join(f"{known[op, name]:.2f}" for name in DTYPES) + " |")
    text = PAGE.read_text(encoding="utf-8")
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    PAGE.write_text(text[:begin] + "".join(f"{line}\n" for line in lines) + text[end:], encoding="utf-8")


def main(functions: Sequence[str]) -> int:
    """Measure some functions, or all, print and write; 1 if one exceeds its bound."""
    errors: Errors = {}
    failed = False
    for op in functions or sorted(MAX_ULP):
        for dtype in DTYPES:
            if dtype == "f32":
                continue
            with np.errstate(all="ignore"):
                ulp, at = measured(op, dtype)
            failed |= not ulp <= bound(op, dtype)
            print(f"{op:8} {dtype:4}: {ulp:.3f} ulp at {at!r}, bound {bound(op, dtype)}", flush=True)
            errors[op, dtype] = ulp
        record(errors)
    return int(failed)


__all__ = ["measured", "record", "recorded"]

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
