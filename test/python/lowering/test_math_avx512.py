"""exp, exp2, erf, tanh and gelu for AVX-512, on any CPU: instructions are replaced by equivalent arithmetic."""

from __future__ import annotations

import re

import numpy as np
import pytest
from math_check import MAX_ULP_AVX512, error_of, loop
from relax_mlir.lowering.expand import ExpandMath
from relax_mlir.lowering.kernels.math import math_erf
from relax_mlir.mlir import ir
from rows_jit import Compiled

LANES = range(16)
SCALE = """
func.func private @emulated_scale(%x: vector<16xf32>, %n: vector<16xf32>) -> vector<16xf32> {
  %bias = arith.constant dense<1023> : vector<16xi64>
  %fraction = arith.constant dense<52> : vector<16xi64>
  %most = arith.constant dense<600.0> : vector<16xf32>
  %least = arith.constant dense<-600.0> : vector<16xf32>
  %nan = arith.constant dense<0x7FC00000> : vector<16xf32>
  %not_more = arith.minnumf %n, %most : vector<16xf32>
  %some = arith.maxnumf %not_more, %least : vector<16xf32>
  %whole = math.floor %some : vector<16xf32>
  %k = arith.fptosi %whole : vector<16xf32> to vector<16xi64>
  %e = arith.addi %k, %bias : vector<16xi64>
  %bits = arith.shli %e, %fraction : vector<16xi64>
  %power = arith.bitcast %bits : vector<16xi64> to vector<16xf64>
  %wide = arith.extf %x : vector<16xf32> to vector<16xf64>
  %product = arith.mulf %wide, %power : vector<16xf64>
  %scaled = arith.truncf %product : vector<16xf64> to vector<16xf32>
  %known = arith.cmpf ord, %n, %n : vector<16xf32>
  %result = arith.select %known, %scaled, %nan : vector<16xi1>, vector<16xf32>
  return %result : vector<16xf32>
}
"""
BOUNDED = """
func.func private @emulated_size(%x: vector<16xf32>, %top: vector<16xf32>) -> vector<16xf32> {
  %size = math.absf %x : vector<16xf32>
  %below = arith.cmpf olt, %size, %top : vector<16xf32>
  %result = arith.select %below, %size, %top : vector<16xi1>, vector<16xf32>
  return %result : vector<16xf32>
}
func.func private @emulated_within(%x: vector<16xf32>, %top: vector<16xf32>) -> vector<16xf32> {
  %size = func.call @emulated_size(%x, %top) : (vector<16xf32>, vector<16xf32>) -> vector<16xf32>
  %result = math.copysign %size, %x : vector<16xf32>
  return %result : vector<16xf32>
}
"""
CLASSES = (
    ("arith.cmpf olt, %x, %zero", 6),
    ("arith.cmpf uno, %x, %x", 0),
    ("arith.cmpf oeq, %x, %zero", 2),
    ("arith.cmpf oeq, %x, %one", 3),
    ("arith.cmpf oeq, %x, %least", 4),
    ("arith.cmpf oeq, %x, %greatest", 5),
)
"""Tests of a number and the class of it that VFIXUPIMMPS has (7, above zero, for others); later ones count."""

RESPONSES = ((1, "%x"), (2, "%nan"), (3, "%nan"), (7, "%minus_zero"))
FIXED = "\n".join(
    [
        "func.func private @emulated_fixup(%x: vector<16xf32>, %t: vector<16xi32>) -> vector<16xf32> {",
        *(
            f"  %{name} = arith.constant dense<{value}> : vector<16xf32>"
            for name, value in (
                ("zero", "0.0"),
                ("minus_zero", "-0.0"),
                ("one", "1.0"),
                ("least", "0xFF800000"),
                ("greatest", "0x7F800000"),
                ("nan", "0x7FC00000"),
                ("r0", "12345.0"),
            )
        ),
        *(f"  %k{i} = arith.constant dense<{i}> : vector<16xi32>" for i in range(9)),
        "  %nibble = arith.constant dense<15> : vector<16xi32>",
        "  %c0 = arith.addi %k7, %k0 : vector<16xi32>",
        *(
            f"  %is{i} = {test} : vector<16xf32>\n"
            f"  %c{i + 1} = arith.select %is{i}, %k{number}, %c{i} : vector<16xi1>, vector<16xi32>"
            for i, (test, number) in enumerate(CLASSES)
        ),
        f"  %shift = arith.muli %c{len(CLASSES)}, %k4 : vector<16xi32>",
        "  %shifted = arith.shrui %t, %shift : vector<16xi32>",
        "  %response = arith.andi %shifted, %nibble : vector<16xi32>",
        *(
            f"  %says{i} = arith.cmpi eq, %response, %k{number} : vector<16xi32>\n"
            f"  %r{i + 1} = arith.select %says{i}, {value}, %r{i} : vector<16xi1>, vector<16xf32>"
            for i, (number, value) in enumerate(RESPONSES)
        ),
        f"  return %r{len(RESPONSES)} : vector<16xf32>",
        "}",
    ]
)
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
    """Functions of a source, expanded for AVX-512, with arithmetic in place of its instructions."""
    with ir.Context() as context:
        context.enable_multithreading(False)
        module = ir.Module.parse(source)
        ExpandMath("cpu -mcpu=skylake-avx512").apply_(module)
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
        two = rf"({vector}, {vector}) -> {vector}"
        choices = {"%c10_i32": "size", "%c2_i32": "within"}
        text, bounded = re.subn(
            r'llvm\.call_intrinsic "llvm\.x86\.avx512\.mask\.range\.ps\.512"\((%\w+), (%\w+), (%\w+),.*\) : .*',
            lambda found: f"func.call @emulated_{choices[found[3]]}({found[1]}, {found[2]}) : {two}",
            text,
        )
        text, fixed = re.subn(
            r'llvm\.call_intrinsic "llvm\.x86\.avx512\.mask\.fixupimm\.ps\.512"\((%\w+), \1, (%\w+), .*\) : .*',
            rf"func.call @emulated_fixup(\1, \2) : ({vector}, vector<16xi32>) -> {vector}",
            text,
        )
        assert scaled and found and bounded and fixed and "x86" not in text
        end = text.rindex("}")
        emulations = SCALE + TABLE + BOUNDED + FIXED
        return Compiled(ir.Module.parse(text[:end] + emulations + text[end:]))


@pytest.fixture(scope="module", params=[16, 64])
def functions(request: pytest.FixtureRequest) -> Compiled:
    return emulated("".join(loop(op, "f32", request.param) for op in MAX_ULP_AVX512))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("op", sorted(MAX_ULP_AVX512))
def test_single_precision(op: str, functions: Compiled) -> None:
    rng = np.random.default_rng(9)
    parts = [np.arange(0, 2**32, 32749, dtype=np.uint64).astype(np.uint32).view(np.float32)]
    parts += [rng.uniform(-limit, limit, 50_000).astype(np.float32) for limit in (1, 4.5, 160)]
    # Where pieces of erf and gelu meet, from both sides.
    for per_unit in (math_erf.PIECES_PER_UNIT, math_erf.Q_PIECES_PER_UNIT):
        meeting = (np.arange(-16, 16, dtype=np.float32) + np.float32(0.5)) / np.float32(per_unit)
        parts += [np.nextafter(meeting, np.float32(way)) for way in (-9, 9)] + [meeting]
    parts.append(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3.4e38, -3.4e38], np.float32))
    x = np.concatenate(parts)
    x = np.concatenate([x, np.zeros(-len(x) % 64, np.float32)])
    got = np.empty_like(x)
    functions(f"apply_{op}", x, got)
    ulp, at = error_of(op, got, x)
    assert ulp <= MAX_ULP_AVX512[op], f"{ulp} ulp at {at!r}"
    if op == "erf":
        assert np.nanmax(np.abs(got)) == 1
