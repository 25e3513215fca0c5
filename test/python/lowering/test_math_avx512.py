"""exp, exp2 and erf as AVX-512 has them, on any CPU: instructions are replaced by what they do."""

from __future__ import annotations

import re

import numpy as np
import pytest
from math_check import MAX_ULP_AVX512, REFERENCES, loop, worst_error
from relax_mlir.lowering.kernels.math_erf import PIECES_PER_UNIT
from relax_mlir.lowering.math_expansion import ExpandMath
from relax_mlir.mlir import ir
from rows_jit import Compiled

LANES = range(16)
SCALE = """
func.func private @emulated_scale(%x: vector<16xf32>, %n: vector<16xf32>) -> vector<16xf32> {
  %bias = arith.constant dense<1023> : vector<16xi64>
  %fraction = arith.constant dense<52> : vector<16xi64>
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %known = arith.cmpf ord, %n, %n : vector<16xf32>
  %some = arith.select %known, %n, %zero : vector<16xi1>, vector<16xf32>
  %whole = math.floor %some : vector<16xf32>
  %k = arith.fptosi %whole : vector<16xf32> to vector<16xi64>
  %e = arith.addi %k, %bias : vector<16xi64>
  %bits = arith.shli %e, %fraction : vector<16xi64>
  %power = arith.bitcast %bits : vector<16xi64> to vector<16xf64>
  %wide = arith.extf %x : vector<16xf32> to vector<16xf64>
  %product = arith.mulf %wide, %power : vector<16xf64>
  %result = arith.truncf %product : vector<16xf64> to vector<16xf32>
  return %result : vector<16xf32>
}
"""
TABLE = "\n".join(
    [
        "func.func private @emulated_table(%t: vector<16xf32>, %at: vector<16xi32>) -> vector<16xf32> {",
        "  %few = arith.constant dense<15> : vector<16xi32>",
        "  %low = arith.andi %at, %few : vector<16xi32>",
        "  %places = arith.index_cast %low : vector<16xi32> to vector<16xindex>",
        *(f"  %p{i} = vector.extract %places[{i}] : index from vector<16xindex>" for i in LANES),
        *(f"  %e{i} = vector.extract %t[%p{i}] : f32 from vector<16xf32>" for i in LANES),
        f"  %r = vector.from_elements {', '.join(f'%e{i}' for i in LANES)} : vector<16xf32>",
        "  return %r : vector<16xf32>",
        "}",
    ]
)


def emulated(source: str) -> Compiled:
    """Functions of a source, expanded for AVX-512, with arithmetic in the place of its instructions."""
    with ir.Context() as context:
        context.enable_multithreading(False)
        module = ir.Module.parse(source)
        ExpandMath("cpu -mcpu=skylake-avx512")(module)
        vector = "vector<16xf32>"
        text, scaled = re.subn(
            r'llvm\.call_intrinsic "llvm\.x86\.avx512\.mask\.scalef\.ps\.512"\((%\w+), (%\w+), .*\) : .*',
            rf"func.call @emulated_scale(\1, \2) : ({vector}, {vector}) -> {vector}",
            str(module),
        )
        text, found = re.subn(
            r'llvm\.call_intrinsic "llvm\.x86\.avx512\.permvar\.sf\.512"(.*) : .*',
            rf"func.call @emulated_table\1 : ({vector}, vector<16xi32>) -> {vector}",
            text,
        )
        assert scaled and found and "x86" not in text
        end = text.rindex("}")
        return Compiled(ir.Module.parse(text[:end] + SCALE + TABLE + text[end:]), opt_level=1)


@pytest.fixture(scope="module", params=[16, 64])
def functions(request: pytest.FixtureRequest) -> Compiled:
    return emulated("".join(loop(op, "f32", request.param) for op in MAX_ULP_AVX512))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("op", sorted(MAX_ULP_AVX512))
def test_single_precision(op: str, functions: Compiled) -> None:
    rng = np.random.default_rng(9)
    parts = [np.arange(0, 2**32, 32749, dtype=np.uint64).astype(np.uint32).view(np.float32)]
    parts += [rng.uniform(-limit, limit, 50_000).astype(np.float32) for limit in (1, 4.5, 160)]
    # Where pieces of erf meet, from both sides.
    meeting = (np.arange(-16, 16, dtype=np.float32) + np.float32(0.5)) / np.float32(PIECES_PER_UNIT)
    parts += [np.nextafter(meeting, np.float32(way)) for way in (-9, 9)] + [meeting]
    parts.append(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3.4e38, -3.4e38], np.float32))
    x = np.concatenate(parts)
    x = np.concatenate([x, np.zeros(-len(x) % 64, np.float32)])
    got = np.empty_like(x)
    functions(f"apply_{op}", x, got)
    ulp, at = worst_error(got, REFERENCES[op](x.astype(np.float64)), x)
    assert ulp <= MAX_ULP_AVX512[op], f"{ulp} ulp at {at!r}"
    if op == "erf":
        assert np.nanmax(np.abs(got)) == 1
