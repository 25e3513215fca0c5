"""GEMM against float64: operands in many layouts, results between canaries, instructions in arithmetic."""

from __future__ import annotations

import re
from collections.abc import Callable

import ml_dtypes
import numpy as np
from jit import Compiled, link
from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.gemm.gemm import GemmKernel, emit_gemm
from relax_mlir.mlir import func, ir
from relax_mlir.target import Target

DTYPES = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
}
PRECISION = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
CANARY = 77.0


def module_of(
    kernel: GemmKernel, target: Target, emit: Callable[[ir.Block, GemmKernel, Target], str] = emit_gemm
) -> ir.Module:
    """A module with the kernel and a callable function `gemm` around it."""
    module = ir.Module.create()
    name = emit(module.body, kernel, target)
    with ir.InsertionPoint(module.body):
        inner = next(op for op in module.body.operations if op.name.value == name)
        outer = func.FuncOp("gemm", (inner.type.inputs, []))
        outer.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        with ir.InsertionPoint(outer.add_entry_block()):
            e.call(name, list(outer.arguments))
            func.return_([])
    return link(module, target)


class HostKernels(dict[GemmKernel, Compiled]):
    """GEMMs for the host, compiled in the current context at their first use."""

    def __missing__(self, kernel: GemmKernel) -> Compiled:
        self[kernel] = Compiled(module_of(kernel, Target.host()))
        return self[kernel]


def guarded(shape: tuple[int, int], dtype: np.dtype, pitch: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A matrix of canaries inside a buffer of canaries; `pitch` more elements between its rows."""
    rows, columns = shape
    whole = np.full((rows + 2) * (columns + pitch) + 64, CANARY, dtype)
    start = 32
    inner = whole[start : start + rows * (columns + pitch)].reshape(rows, columns + pitch)[:, :columns]
    return whole, inner


def untouched(whole: np.ndarray, inner: np.ndarray) -> bool:
    """True if only the inner matrix was written (overwrites it)."""
    inner[...] = CANARY
    return bool(np.all(whole == np.asarray(CANARY, whole.dtype)))


def operand(rng: np.random.Generator, shape: tuple[int, int], dtype: np.dtype, layout: str) -> np.ndarray:
    """A random matrix in one of several memory layouts, with NaN in the gaps."""
    rows, columns = shape
    values = rng.uniform(-1, 1, shape).astype(dtype)
    if layout == "rows":
        holder = np.full((rows, columns + 5), np.nan, dtype)[:, :columns]
    elif layout == "columns":
        holder = np.full((columns, rows + 3), np.nan, dtype)[:, :rows].T
    elif layout == "strided":
        holder = np.full((rows * 2, columns * 3), np.nan, dtype)[::2, ::3]
    elif layout == "reversed":
        holder = np.empty(shape, dtype)[::-1, ::-1]
    elif layout == "repeated":
        line = np.empty((1, columns), dtype)
        line[...] = values[:1] if rows else 0
        return np.broadcast_to(line, shape)
    else:
        holder = np.empty(shape, dtype)
    holder[...] = values
    return holder


LAYOUTS = ["plain", "plain", "rows", "columns", "columns", "strided", "reversed", "repeated"]


def check(compiled: Compiled, kernel: GemmKernel, a: np.ndarray, b: np.ndarray, accumulate: bool, pitch: int) -> None:
    """Run one GEMM and compare; the bound covers any order of summation."""
    (m, depth), n = a.shape, b.shape[1]
    whole, c = guarded((m, n), DTYPES[kernel.result], pitch)
    before = np.zeros((m, n))
    if accumulate:
        before = np.random.default_rng(1).uniform(-1, 1, (m, n)).astype(c.dtype)
        c[...] = before
    compiled("gemm", a, b, c, accumulate)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    expected = wide_a @ wide_b + before.astype(np.float64)
    scale = np.abs(wide_a) @ np.abs(wide_b) + np.abs(before.astype(np.float64))
    bound = (depth + 2) * PRECISION[kernel.accumulator] * scale + PRECISION[kernel.result] * np.abs(expected)
    bound = bound * 1.01 + float(ml_dtypes.finfo(c.dtype).smallest_subnormal)
    error = np.abs(c.astype(np.float64) - expected)
    assert np.all(error <= bound), f"{a.shape} x {b.shape}: error {np.max(error - bound):.3g} over"
    assert untouched(whole, c), "wrote outside of the result"


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
