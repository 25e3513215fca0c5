"""GEMM followed by a rounding only: bit for bit the rounded sums, on every code path."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from gemm_check import DTYPES, emulated, guarded, untouched
from jit import Compiled, link
from relax_mlir import op as R
from relax_mlir.lowering.kernels.gemm.gemm_tiling import tiling
from relax_mlir.lowering.kernels.gemm.lower_contractions import LowerContractions
from relax_mlir.lowering.kernels.nest.vector_loops import LinalgToLoops
from relax_mlir.mlir import ir
from relax_mlir.runtime import to_numpy
from relax_mlir.target import Target
from relax_mlir.transform import PassContext

TARGETS = {
    "dots": "cpu -mcpu=sapphirerapids -mattr=-amx_bf16",
    "dots-two-threads": "cpu -mcpu=sapphirerapids -mattr=-amx_bf16 -num-threads=2",
    "host": "cpu",
    "avx2": "cpu -mcpu=haswell",
}
BODY = "%p = arith.mulf %xw, %yw : f32\n%t = arith.addf %s, %p : f32\nlinalg.yield %t : f32"
MAPS = {
    "matrices": (2, "(m, n, k) -> (m, k)", "(m, n, k) -> (k, n)", "(m, n, k) -> (m, n)"),
    "batches": (3, "(b, m, n, k) -> (b, m, k)", "(b, m, n, k) -> (b, k, n)", "(b, m, n, k) -> (b, m, n)"),
    "turned": (2, "(m, n, k) -> (m, k)", "(m, n, k) -> (k, n)", "(m, n, k) -> (n, m)"),
}


def program(kind: str, element: str) -> str:
    """`rounded`: a GEMM and its rounding to a matrix with gaps between rows; `sums`: the GEMM only."""
    rank, *maps = MAPS[kind]
    loops = ", ".join(['"parallel"'] * rank + ['"reduction"'])
    shape = "?x" * rank
    operand_type, sums = f"memref<{shape}{element}>", f"memref<{shape}f32>"
    layout = ", ".join(["?"] * (rank - 1) + ["1"])
    narrow = f"memref<{shape}{element}, strided<[{layout}], offset: ?>>"
    identity = ", ".join(f"d{i}" for i in range(rank))
    same = f"affine_map<({identity}) -> ({identity})>"
    product = f"""
      linalg.fill ins(%zero : f32) outs(%r : {sums})
      linalg.generic {{indexing_maps = [{", ".join(f"affine_map<{m}>" for m in maps)}],
          iterator_types = [{loops}]}} ins(%a, %b : {operand_type}, {operand_type}) outs(%r : {sums}) {{
      ^bb0(%x: {element}, %y: {element}, %s: f32):
        %xw = arith.extf %x : {element} to f32
        %yw = arith.extf %y : {element} to f32
        {BODY}
      }}"""
    sizes = "\n".join(
        f"%c{i} = arith.constant {i} : index\n%d{i} = memref.dim %d, %c{i} : {narrow}" for i in range(rank)
    )
    return f"""
    func.func @sums(%a: {operand_type}, %b: {operand_type}, %r: {sums}) attributes {{llvm.emit_c_interface}} {{
      %zero = arith.constant 0.0 : f32
      {product}
      return
    }}
    func.func @rounded(%a: {operand_type}, %b: {operand_type}, %d: {narrow}) attributes {{llvm.emit_c_interface}} {{
      %zero = arith.constant 0.0 : f32
      {sizes}
      %r = memref.alloc({", ".join(f"%d{i}" for i in range(rank))}) : {sums}
      {product}
      linalg.generic {{indexing_maps = [{same}, {same}],
          iterator_types = [{", ".join(['"parallel"'] * rank)}]}} ins(%r : {sums}) outs(%d : {narrow}) {{
      ^bb0(%x: f32, %old: {element}):
        %y = arith.truncf %x : f32 to {element}
        linalg.yield %y : {element}
      }}
      memref.dealloc %r : {sums}
      return
    }}"""


def lowered(kind: str, element: str, target: str) -> ir.Module:
    module = ir.Module.parse(program(kind, element))
    LowerContractions(target).run(module, PassContext())
    link(module, target)
    module.operation.verify()
    return module


Case = tuple[str, str, Compiled]


@pytest.fixture(
    scope="module",
    params=[
        *sweep.every((("matrices", "f16", "host"), ("matrices", "bf16", "host")), 2),
        *sweep.every((("batches", "bf16", "dots"), ("batches", "f16", "host")), 2),
        *sweep.every((("turned", "f16", "avx2"), ("turned", "bf16", "dots")), 2),
        pytest.param(("matrices", "bf16", "dots"), marks=pytest.mark.slow),
        ("matrices", "bf16", "dots-two-threads"),
        ("matrices", "bf16", "avx2"),
    ],
    ids="-".join,
)
def compiled(request: pytest.FixtureRequest) -> Iterator[Case]:
    kind, element, name = request.param
    target = Target(TARGETS[name])
    with ir.Context(), ir.Location.unknown():
        module = lowered(kind, element, str(target))
        LinalgToLoops(str(target)).run(module, PassContext())
        if name.startswith("dots"):
            module = emulated(module, target.lanes(32))
        yield kind, element, Compiled(module)


SIZES = [
    (1, 33, 40), (4, 64, 32), (5, 1, 2), (5, 8, 1), (6, 31, 33), (14, 64, 64), (15, 65, 95), (29, 20, 130), (64, 0, 70),
    (0, 8, 8), (8, 8, 0), (73, 90, 31), (255, 130, 32), (401, 70, 64), (17, 9, 1100), (20, 700, 40), (20, 1100, 40),
    (20, 4200, 40), (410, 1100, 33), (410, 4200, 33),
]  # fmt: skip
"""Rows, depth and columns: the large depths exceed a block on some target, the large heights change the block sizes."""


@pytest.mark.parametrize("pitch", [0, 3])
def test_is_the_rounded_sum(compiled: Case, pitch: int) -> None:
    kind, element, functions = compiled
    rng = np.random.default_rng(3)
    dtype = DTYPES[element]
    for m, k, n in SIZES if sweep.ALL else SIZES[pitch % 2 :: 2]:
        batches = (3,) if kind == "batches" else ()
        a = rng.uniform(-1, 1, (*batches, m, k)).astype(dtype)
        b = rng.uniform(-1, 1, (*batches, k, n)).astype(dtype)
        shape = (n, m) if kind == "turned" else (m, n)
        sums = np.full((*batches, *shape), np.nan, np.float32)
        whole, inner = guarded((shape[0] * (3 if batches else 1), shape[1]), dtype, pitch)
        result = inner.reshape(*batches, *shape) if not pitch else _batched(inner, batches, shape)
        functions("sums", a, b, sums)
        functions("rounded", a, b, result)
        np.testing.assert_array_equal(result, sums.astype(dtype), err_msg=f"{m}x{k}x{n}")
        assert untouched(whole, inner), "wrote outside of the result"


def _batched(inner: np.ndarray, batches: tuple[int, ...], shape: tuple[int, int]) -> np.ndarray:
    """The rows of all batches, which are stacked, as batches."""
    if not batches:
        return inner
    strides = (shape[0] * inner.strides[0], *inner.strides)
    return np.lib.stride_tricks.as_strided(inner, (*batches, *shape), strides)


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan, 0.0, -0.0, 3e38, -3e38])
def test_special_values(compiled: Case, special: float) -> None:
    kind, element, functions = compiled
    dtype = DTYPES[element]
    with np.errstate(over="ignore"):
        a, b = np.ones((20, 6), dtype), np.full((6, 70), special, dtype)
    a[3], b[:, ::3] = -1, 1
    shape = (70, 20) if kind == "turned" else (20, 70)
    sums, result = np.empty(shape, np.float32), np.empty(shape, dtype)
    one = (None,) if kind == "batches" else ()
    functions("sums", a[one], b[one], sums[one])
    functions("rounded", a[one], b[one], result[one])
    result = (result.T if kind == "turned" else result).astype(np.float32)
    sums = sums.T if kind == "turned" else sums
    with np.errstate(over="ignore", invalid="ignore"):
        exact = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
        for expected in (sums, exact):
            np.testing.assert_array_equal(result, expected.astype(dtype).astype(np.float32))


def test_what_else_reads_the_sums_gets_them() -> None:
    """Only accumulators in separate memory can be omitted."""
    text = (
        program("matrices", "bf16")
        .replace("memref.dealloc %r", "func.call @use(%r)")
        .replace("func.call @use(%r) : memref<?x?xf32>", "func.call @use(%r) : (memref<?x?xf32>) -> ()")
    )
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text + "\nfunc.func private @use(memref<?x?xf32>)")
        LowerContractions(TARGETS["dots"]).run(module, PassContext())
        functions = {op.name.value: str(op) for op in module.body.operations if op.name.value == "rounded"}
    assert "memref.alloc(" in functions["rounded"]
    assert "relax.gemm.nothing" not in functions["rounded"]


@pytest.mark.parametrize("dtype", sweep.quick(["bfloat16", "float16"], "bfloat16"))
def test_constant_weights(dtype: str) -> None:
    """B is packed at load; the sums equal those of the GEMM with an f32 result."""
    depth, columns = 2 * tiling(Target.host(), 32).depth + 10, 70
    rng = np.random.default_rng(8)
    numpy_dtype = DTYPES[{"bfloat16": "bf16", "float16": "f16"}[dtype]]
    for k in (40, depth):
        weight = rng.uniform(-1, 1, (k, columns)).astype(numpy_dtype)
        bb = rx.BlockBuilder()
        x = rx.Var("x", rx.Tensor(("n", k), dtype))
        with bb.function("main", [x]):
            with bb.dataflow():
                narrow = bb.emit(R.matmul(x, bb.const(weight)))
                wide = bb.emit(R.matmul(x, bb.const(weight), out_dtype="float32"))
                both = bb.emit_output([narrow, wide])
            bb.emit_func_output(both)
        main = rx.build(bb.get())["main"]
        for rows in (0, 1, 2, 3, 5, 14, 31, 64):
            value = rng.uniform(-1, 1, (rows, k)).astype(numpy_dtype)
            got, sums = map(to_numpy, main(value))
            np.testing.assert_array_equal(got, sums.astype(numpy_dtype), err_msg=f"{rows} rows, depth {k}")
