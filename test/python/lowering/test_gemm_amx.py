"""GEMM by AMX tiles against float64, on any CPU: the tile instructions are replaced by equivalent loops."""

from __future__ import annotations

import re
from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest
from gemm_check import module_of
from jit import Compiled, link
from relax_mlir.lowering.kernels.gemm.gemm import GemmKernel, emit_gemm
from relax_mlir.mlir import ir
from relax_mlir.target import Target

TARGET = Target("cpu -mcpu=sapphirerapids")
CANARY = 77.0
TILE = "memref<16x32xbf16, strided<[32, 1], offset: ?>>"
MULF = f"""
func.func private @emulated_mulf(%a: {TILE}, %b: {TILE}, %c: vector<16x16xf32>) -> vector<16x16xf32> {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %side = arith.constant 16 : index
  %nothing = arith.constant 0.0 : f32
  %sums = memref.alloca() : memref<16x16xf32>
  vector.transfer_write %c, %sums[%zero, %zero] {{in_bounds = [true, true]}} : vector<16x16xf32>, memref<16x16xf32>
  scf.for %m = %zero to %side step %one {{
    scf.for %pair = %zero to %side step %one {{
      scf.for %n = %zero to %side step %one {{
        scf.for %half = %zero to %two step %one {{
          %double = arith.muli %pair, %two : index
          %k = arith.addi %double, %half : index
          %twice = arith.muli %n, %two : index
          %at = arith.addi %twice, %half : index
          %x = memref.load %a[%m, %k] : {TILE}
          %y = memref.load %b[%pair, %at] : {TILE}
          %xw = arith.extf %x : bf16 to f32
          %yw = arith.extf %y : bf16 to f32
          %old = memref.load %sums[%m, %n] : memref<16x16xf32>
          %p = arith.mulf %xw, %yw : f32
          %new = arith.addf %old, %p : f32
          memref.store %new, %sums[%m, %n] : memref<16x16xf32>
        }}
      }}
    }}
  }}
  %result = vector.transfer_read %sums[%zero, %zero], %nothing {{in_bounds = [true, true]}}
    : memref<16x16xf32>, vector<16x16xf32>
  return %result : vector<16x16xf32>
}}
"""
REPLACED = (
    (
        r"x86\.amx\.tile_load (%\w+)\[(%\w+), .*?\] : (.*) into .*",
        rf"memref.subview \1[\2, 0, 0] [1, 16, 32] [1, 1, 1] : \3 to {TILE}",
    ),
    (r"x86\.amx\.tile_zero : !x86\.amx\.tile<(.*)>", r"arith.constant dense<0.0> : vector<\1>"),
    (
        r"x86\.amx\.tile_mulf (.*) : .*",
        rf"func.call @emulated_mulf(\1) : ({TILE}, {TILE}, vector<16x16xf32>) -> vector<16x16xf32>",
    ),
    (
        r"x86\.amx\.tile_store (%\w+\[.*?\]), (%[\w#]+) : (.*), !x86\.amx\.tile<(.*)>",
        r"vector.transfer_write \2, \1 {in_bounds = [true, true]} : vector<\4>, \3",
    ),
    (r"!x86\.amx\.tile<", "vector<"),
)
"""The tile instructions and their replacements: a tile of an operand is the memory from which it is loaded."""


def emulated(module: ir.Module) -> ir.Module:
    """The module with loops in place of tile instructions."""
    text = str(module)
    for pattern, replacement in REPLACED:
        text = re.sub(pattern, replacement, text)
    assert "x86" not in text
    end = text.rindex("}")
    return ir.Module.parse(text[:end] + MULF + text[end:])


@pytest.fixture(scope="module")
def compiled() -> Iterator[dict[str, Compiled]]:
    """The products by the type of the result."""
    with ir.Context(), ir.Location.unknown():
        yield {result: Compiled(emulated(module_of(GemmKernel("bf16", result), TARGET))) for result in ("f32", "bf16")}


def operand(rng: np.random.Generator, shape: tuple[int, int], layout: str) -> np.ndarray:
    values = rng.uniform(-1, 1, shape).astype(ml_dtypes.bfloat16)
    holders = {
        "rows": np.full((shape[0], shape[1] + 3), np.nan, values.dtype)[:, : shape[1]],
        "columns": np.full((shape[1], shape[0] + 5), np.nan, values.dtype)[:, : shape[0]].T,
        "strided": np.full((2 * shape[0], 3 * shape[1]), np.nan, values.dtype)[::2, ::3],
    }
    holders[layout][...] = values
    return holders[layout]


SIZES = [
    (5, 1, 1), (5, 32, 16), (32, 32, 32), (33, 64, 31), (31, 33, 65), (16, 7, 100), (70, 130, 48), (64, 1030, 33),
    (9, 2100, 5), (40, 0, 7), (5, 40, 1),
]  # fmt: skip


@pytest.mark.parametrize("right", ["rows", "columns", "strided"])
@pytest.mark.parametrize("left", ["rows", "columns", "strided"])
def test_against_float64(compiled: dict[str, Compiled], left: str, right: str) -> None:
    rng = np.random.default_rng(0)
    for rows, depth, columns in SIZES:
        a, b = operand(rng, (rows, depth), left), operand(rng, (depth, columns), right)
        for accumulate in (False, True):
            whole = np.full((rows + 2, columns + 3), CANARY, np.float32)
            c = whole[1:-1, 1:-2]
            c[...] = rng.uniform(-1, 1, c.shape) if accumulate else np.nan
            want = a.astype(np.float64) @ b.astype(np.float64) + (c if accumulate else 0)
            compiled["f32"]("gemm", a, b, c, accumulate)
            np.testing.assert_allclose(c, want, atol=1e-5 * (depth + 1))
            c[...] = CANARY
            assert np.all(whole == CANARY)


@pytest.mark.parametrize("accumulate", [False, True])
def test_rounded_once(compiled: dict[str, Compiled], accumulate: bool) -> None:
    rng = np.random.default_rng(1)
    for rows, depth, columns in SIZES:
        a, b = operand(rng, (rows, depth), "rows"), operand(rng, (depth, columns), "rows")
        before = rng.uniform(-1, 1, (rows, columns)).astype(ml_dtypes.bfloat16)
        c = before.copy() if accumulate else np.full_like(before, np.nan)
        want = a.astype(np.float64) @ b.astype(np.float64) + (before.astype(np.float64) if accumulate else 0)
        compiled["bf16"]("gemm", a, b, c, accumulate)
        np.testing.assert_allclose(c.astype(np.float64), want, rtol=2.0**-8, atol=1e-5 * (depth + 1))


def test_only_bf16_for_such_targets() -> None:
    with ir.Context(), ir.Location.unknown():
        for operand_type, target, tiles in (("bf16", TARGET, True), ("f16", TARGET, False)):
            module = ir.Module.create()
            emit_gemm(module.body, GemmKernel(operand_type, "f32"), target)
            link(module, target)
            assert ("x86.amx.tile_mulf" in str(module)) == tiles
        module = ir.Module.create()
        target = Target("cpu -mcpu=sapphirerapids -mattr=-amx_bf16")
        emit_gemm(module.body, GemmKernel("bf16", "f32"), target)
        link(module, target)
        assert "x86.amx" not in str(module)
