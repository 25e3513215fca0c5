"""Exponentials and logarithms of f64 for AVX-512, on any CPU: instructions are replaced by equivalent arithmetic."""

from __future__ import annotations

import re

import numpy as np
import pytest
from math_check import MAX_ULP_DOUBLE, check_doubles, loop
from relax_mlir.lowering.expand import ExpandMath
from relax_mlir.mlir import ir
from rows_jit import Compiled

OPS = ("cosh", "erf", "exp", "exp2", "log", "log10", "log2", "sinh")
LANES = range(8)
APART = """
func.func private @emulated_normal(%x: vector<8xf64>) -> (vector<8xi64>, vector<8xi64>) {
  %least = arith.constant dense<2.2250738585072014e-308> : vector<8xf64>
  %factor = arith.constant dense<18014398509481984.0> : vector<8xf64>
  %bias = arith.constant dense<1023> : vector<8xi64>
  %more = arith.constant dense<1077> : vector<8xi64>
  %fraction = arith.constant dense<52> : vector<8xi64>
  %size = math.absf %x : vector<8xf64>
  %is_denormal = arith.cmpf olt, %size, %least : vector<8xf64>
  %scaled = arith.mulf %size, %factor : vector<8xf64>
  %normal = arith.select %is_denormal, %scaled, %size : vector<8xi1>, vector<8xf64>
  %bits = arith.bitcast %normal : vector<8xf64> to vector<8xi64>
  %biased = arith.shrui %bits, %fraction : vector<8xi64>
  %offset = arith.select %is_denormal, %more, %bias : vector<8xi1>, vector<8xi64>
  %exponent = arith.subi %biased, %offset : vector<8xi64>
  return %bits, %exponent : vector<8xi64>, vector<8xi64>
}
func.func private @emulated_exponent(%x: vector<8xf64>) -> vector<8xf64> {
  %zero = arith.constant dense<0.0> : vector<8xf64>
  %inf = arith.constant dense<0x7FF0000000000000> : vector<8xf64>
  %least = arith.constant dense<0xFFF0000000000000> : vector<8xf64>
  %parts:2 = func.call @emulated_normal(%x) : (vector<8xf64>) -> (vector<8xi64>, vector<8xi64>)
  %number = arith.sitofp %parts#1 : vector<8xi64> to vector<8xf64>
  %size = math.absf %x : vector<8xf64>
  %is_zero = arith.cmpf oeq, %size, %zero : vector<8xf64>
  %is_special = arith.cmpf ueq, %size, %inf : vector<8xf64>
  %finite = arith.select %is_zero, %least, %number : vector<8xi1>, vector<8xf64>
  %result = arith.select %is_special, %size, %finite : vector<8xi1>, vector<8xf64>
  return %result : vector<8xf64>
}
func.func private @emulated_mantissa(%x: vector<8xf64>) -> vector<8xf64> {
  %zero = arith.constant dense<0.0> : vector<8xf64>
  %half = arith.constant dense<0.5> : vector<8xf64>
  %one = arith.constant dense<1.0> : vector<8xf64>
  %three_halves = arith.constant dense<1.5> : vector<8xf64>
  %inf = arith.constant dense<0x7FF0000000000000> : vector<8xf64>
  %nan = arith.constant dense<0x7FF8000000000000> : vector<8xf64>
  %low = arith.constant dense<0x000FFFFFFFFFFFFF> : vector<8xi64>
  %as_one = arith.constant dense<0x3FF0000000000000> : vector<8xi64>
  %parts:2 = func.call @emulated_normal(%x) : (vector<8xf64>) -> (vector<8xi64>, vector<8xi64>)
  %fraction = arith.andi %parts#0, %low : vector<8xi64>
  %bits = arith.ori %fraction, %as_one : vector<8xi64>
  %from_one = arith.bitcast %bits : vector<8xi64> to vector<8xf64>
  %halved = arith.mulf %from_one, %half : vector<8xf64>
  %is_high = arith.cmpf oge, %from_one, %three_halves : vector<8xf64>
  %m = arith.select %is_high, %halved, %from_one : vector<8xi1>, vector<8xf64>
  %is_zero = arith.cmpf oeq, %x, %zero : vector<8xf64>
  %is_inf = arith.cmpf oeq, %x, %inf : vector<8xf64>
  %is_one = arith.ori %is_zero, %is_inf : vector<8xi1>
  %positive = arith.select %is_one, %one, %m : vector<8xi1>, vector<8xf64>
  %is_nan = arith.cmpf ult, %x, %zero : vector<8xf64>
  %result = arith.select %is_nan, %nan, %positive : vector<8xi1>, vector<8xf64>
  return %result : vector<8xf64>
}
"""
SCALED = """
func.func private @emulated_scale(%x: vector<8xf64>, %n: vector<8xf64>) -> vector<8xf64> {
  %one = arith.constant dense<1> : vector<8xi64>
  %bias = arith.constant dense<1023> : vector<8xi64>
  %fraction = arith.constant dense<52> : vector<8xi64>
  %most = arith.constant dense<2040.0> : vector<8xf64>
  %least = arith.constant dense<-2040.0> : vector<8xf64>
  %nan = arith.constant dense<0x7FF8000000000000> : vector<8xf64>
  %not_more = arith.minnumf %n, %most : vector<8xf64>
  %some = arith.maxnumf %not_more, %least : vector<8xf64>
  %whole = math.floor %some : vector<8xf64>
  %k = arith.fptosi %whole : vector<8xf64> to vector<8xi64>
  %half = arith.shrsi %k, %one : vector<8xi64>
  %rest = arith.subi %k, %half : vector<8xi64>
  %half_biased = arith.addi %half, %bias : vector<8xi64>
  %rest_biased = arith.addi %rest, %bias : vector<8xi64>
  %half_bits = arith.shli %half_biased, %fraction : vector<8xi64>
  %rest_bits = arith.shli %rest_biased, %fraction : vector<8xi64>
  %half_power = arith.bitcast %half_bits : vector<8xi64> to vector<8xf64>
  %rest_power = arith.bitcast %rest_bits : vector<8xi64> to vector<8xf64>
  %partly = arith.mulf %x, %half_power : vector<8xf64>
  %scaled = arith.mulf %partly, %rest_power : vector<8xf64>
  %known = arith.cmpf ord, %n, %n : vector<8xf64>
  %result = arith.select %known, %scaled, %nan : vector<8xi1>, vector<8xf64>
  return %result : vector<8xf64>
}
func.func private @emulated_within(%x: vector<8xf64>, %top: vector<8xf64>) -> vector<8xf64> {
  %size = math.absf %x : vector<8xf64>
  %below = arith.cmpf olt, %size, %top : vector<8xf64>
  %bounded = arith.select %below, %size, %top : vector<8xi1>, vector<8xf64>
  %result = math.copysign %bounded, %x : vector<8xf64>
  return %result : vector<8xf64>
}
"""
TABLE = "\n".join(
    [
        "func.func private @emulated_table("
        "%low: vector<8xf64>, %at: vector<8xi64>, %high: vector<8xf64>) -> vector<8xf64> {",
        f"  %t = vector.shuffle %low, %high {list(range(16))} : vector<8xf64>, vector<8xf64>",
        "  %few = arith.constant dense<15> : vector<8xi64>",
        "  %place = arith.andi %at, %few : vector<8xi64>",
        "  %places = arith.index_cast %place : vector<8xi64> to vector<8xindex>",
        *(f"  %p{i} = vector.extract %places[{i}] : index from vector<8xindex>" for i in LANES),
        *(f"  %e{i} = vector.extract %t[%p{i}] : f64 from vector<16xf64>" for i in LANES),
        f"  %r = vector.from_elements {', '.join(f'%e{i}' for i in LANES)} : vector<8xf64>",
        "  return %r : vector<8xf64>",
        "}",
    ]
)


def emulated(source: str) -> Compiled:
    """Functions of a source, expanded for AVX-512, with arithmetic in place of its instructions."""
    vector = "vector<8xf64>"
    one, two = rf"({vector}) -> {vector}", rf"({vector}, {vector}) -> {vector}"
    calls = {
        r"mask\.getmant\.pd\.512": (r"\((%\w+), %c11_i32, \1, .*\)", rf"mantissa(\1) : {one}"),
        r"mask\.getexp\.pd\.512": (r"\((%\w+), \1, .*\)", rf"exponent(\1) : {one}"),
        r"mask\.scalef\.pd\.512": (r"\((%\w+), (%\w+), \1, .*\)", rf"scale(\1, \2) : {two}"),
        r"mask\.range\.pd\.512": (r"\((%\w+), (%\w+), %c2_i32, .*\)", rf"within(\1, \2) : {two}"),
        r"vpermi2var\.pd\.512": (
            r"\((.*)\)",
            rf"table(\1) : ({vector}, vector<8xi64>, {vector}) -> {vector}",
        ),
    }
    with ir.Context() as context:
        context.enable_multithreading(False)
        module = ir.Module.parse(source)
        ExpandMath("cpu -mcpu=skylake-avx512").apply_(module)
        text = str(module)
        for name, (operands, called) in calls.items():
            text, found = re.subn(
                rf'llvm\.call_intrinsic "llvm\.x86\.avx512\.{name}"{operands} : .*',
                f"func.call @emulated_{called}",
                text,
            )
            assert found
        assert "x86" not in text
        end = text.rindex("}")
        return Compiled(ir.Module.parse(text[:end] + APART + SCALED + TABLE + text[end:]))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("lanes", [8, 32])
def test_in_ulps(lanes: int) -> None:
    """All exponents and signs, moderate sizes, near 1, denormals and special numbers; powers of the base are exact."""
    functions = emulated("".join(loop(op, "f64", lanes) for op in OPS))
    for op in OPS:
        ulp, at = check_doubles(functions, op, 400 if op == "erf" else 20_000, seed=lanes)
        assert ulp <= MAX_ULP_DOUBLE[op], f"{op}: {ulp} ulp at {at!r}"
    tens, exponents = np.array([float(f"1e{n}") for n in range(23)]), np.arange(-1074, 1024)
    for op, x, expected in (
        ("log10", tens, np.arange(23)),
        ("log2", 2.0**exponents, exponents),
        ("exp2", exponents.astype(np.float64), 2.0**exponents),
    ):
        x = np.concatenate([x, np.ones(-len(x) % lanes)])
        got = np.empty_like(x)
        functions(f"apply_{op}", x, got)
        np.testing.assert_array_equal(got[: len(expected)], expected)
