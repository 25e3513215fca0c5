"""Dot products of pairs, and their rounding, in arithmetic that any CPU has."""

from __future__ import annotations

import re

from relax_mlir.mlir import ir

EMULATED = """
func.func private @emulated_dot(%c: vector<{lanes}xf32>, %a: vector<{wide}xbf16>, %b: vector<{wide}xbf16>)
    -> vector<{lanes}xf32> {{
  %a0, %a1 = vector.deinterleave %a : vector<{wide}xbf16> -> vector<{lanes}xbf16>
  %b0, %b1 = vector.deinterleave %b : vector<{wide}xbf16> -> vector<{lanes}xbf16>
  %x0 = arith.extf %a0 : vector<{lanes}xbf16> to vector<{lanes}xf32>
  %x1 = arith.extf %a1 : vector<{lanes}xbf16> to vector<{lanes}xf32>
  %y0 = arith.extf %b0 : vector<{lanes}xbf16> to vector<{lanes}xf32>
  %y1 = arith.extf %b1 : vector<{lanes}xbf16> to vector<{lanes}xf32>
  %p0 = arith.mulf %x0, %y0 : vector<{lanes}xf32>
  %p1 = arith.mulf %x1, %y1 : vector<{lanes}xf32>
  %s0 = arith.addf %c, %p0 : vector<{lanes}xf32>
  %s1 = arith.addf %s0, %p1 : vector<{lanes}xf32>
  return %s1 : vector<{lanes}xf32>
}}

func.func private @emulated_round(%x: vector<{lanes}xf32>) -> vector<{lanes}xbf16> {{
  %sixteen = arith.constant dense<16> : vector<{lanes}xi32>
  %one = arith.constant dense<1> : vector<{lanes}xi32>
  %half = arith.constant dense<0x7FFF> : vector<{lanes}xi32>
  %quiet = arith.constant dense<0x400000> : vector<{lanes}xi32>
  %sign = arith.constant dense<0x80000000> : vector<{lanes}xi32>
  %normal = arith.constant dense<1.17549435e-38> : vector<{lanes}xf32>
  %bits = arith.bitcast %x : vector<{lanes}xf32> to vector<{lanes}xi32>
  %last = arith.shrui %bits, %sixteen : vector<{lanes}xi32>
  %odd = arith.andi %last, %one : vector<{lanes}xi32>
  %more = arith.addi %half, %odd : vector<{lanes}xi32>
  %up = arith.addi %bits, %more : vector<{lanes}xi32>
  %nan = arith.ori %bits, %quiet : vector<{lanes}xi32>
  %zero = arith.andi %bits, %sign : vector<{lanes}xi32>
  %is_nan = arith.cmpf uno, %x, %x : vector<{lanes}xf32>
  %size = math.absf %x : vector<{lanes}xf32>
  %is_small = arith.cmpf olt, %size, %normal : vector<{lanes}xf32>
  %number = arith.select %is_small, %zero, %up : vector<{lanes}xi1>, vector<{lanes}xi32>
  %result = arith.select %is_nan, %nan, %number : vector<{lanes}xi1>, vector<{lanes}xi32>
  %high = arith.shrui %result, %sixteen : vector<{lanes}xi32>
  %short = arith.trunci %high : vector<{lanes}xi32> to vector<{lanes}xi16>
  %y = arith.bitcast %short : vector<{lanes}xi16> to vector<{lanes}xbf16>
  return %y : vector<{lanes}xbf16>
}}
"""


def emulated(module: ir.Module, lanes: int) -> ir.Module:
    """The module with arithmetic in f32, and on its bits, in place of the instructions."""
    types = f"vector<{lanes}xf32>, vector<{2 * lanes}xbf16>, vector<{2 * lanes}xbf16>"
    text, count = re.subn(
        r"x86\.avx512\.dot (.*) : .*",
        rf"func.call @emulated_dot(\1) : ({types}) -> vector<{lanes}xf32>",
        str(module),
    )
    text = re.sub(
        rf'llvm\.call_intrinsic "llvm\.x86\.avx512bf16\.cvtneps2bf16\.{32 * lanes}"(.*)',
        r"func.call @emulated_round\1",
        text,
    )
    assert count and "x86" not in text
    end = text.rindex("}")
    return ir.Module.parse(text[:end] + EMULATED.format(lanes=lanes, wide=2 * lanes) + text[end:])
