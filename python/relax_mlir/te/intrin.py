"""The project's intrinsics for `Stage.tensorize`: GEMM micro-kernels, dot products, axpy.

Their names contain the dtype and the size: ``gemm_float32_8x32``, ``dot_float64``, ``axpy_float32``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence

from relax_mlir.dialects import dtypes
from relax_mlir.error import ArgumentError, DTypeError
from relax_mlir.ir_module import IRModule
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.values import Buffer, Indices, Term
from relax_mlir.symbolic import Dim, ceildiv, symbol
from relax_mlir.target import Target, register_tile
from relax_mlir.te.prim_func import create_prim_func
from relax_mlir.te.reductions import reduce_axis
from relax_mlir.te.reductions import sum as sum_of
from relax_mlir.te.schedule.tensor_intrin import TensorIntrin, decl_tensor_intrin
from relax_mlir.te.tensors import LoopOp, Tensor, compute, placeholder

__all__ = ["axpy", "dot", "gemm"]

PRODUCTS = ("float32", "float64")
"""Dtypes of GEMM intrinsics."""
OTHERS = ("float32", "float64", "int32", "int64")
"""Dtypes of the other intrinsics."""
MAX_ROWS, MAX_COLUMNS = 64, 4096
"""Loops over rows are unrolled."""
DOT_LANES = 64
"""Number of parallel accumulators of a dot product."""


def gemm(
    dtype: str = "float32", rows: int | None = None, columns: int | None = None, target: str | Target = "cpu"
) -> TensorIntrin:
    """A GEMM micro-kernel, ``C[i, j] += A[i, k] * B[k, j]``, whose accumulators stay in registers along k.

    Args:
        dtype: float32 or float64.
        rows, columns: the size of the tile; None: that of the project's own GEMMs on `target`. The depth is arbitrary.
        target: as for `build`.
    """
    if dtype not in PRODUCTS:
        raise DTypeError(f"gemm: 'dtype' is {dtype!r}, expected one of {', '.join(PRODUCTS)}")
    tile = register_tile(Target.parse(str(target)), dtypes.dtype(dtype).bits)
    sizes = (tile.rows if rows is None else rows, tile.columns if columns is None else columns)
    for what, size, most in (("rows", sizes[0], MAX_ROWS), ("columns", sizes[1], MAX_COLUMNS)):
        if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= most:
            raise ArgumentError(f"gemm: '{what}' is {size!r}, expected 1 to {most}")
    return TensorIntrin.get(f"gemm_{dtype}_{sizes[0]}x{sizes[1]}")


def dot(dtype: str = "float32") -> TensorIntrin:
    """A dot product, ``c = sum(a[k] * b[k])``, of any length, with many accumulators that are added at the end."""
    return TensorIntrin.get(f"dot_{_other('dot', dtype)}")


def axpy(dtype: str = "float32") -> TensorIntrin:
    """An axpy of any length, which adds a multiple of a row to another row: ``c[j] += a * b[j]``."""
    return TensorIntrin.get(f"axpy_{_other('axpy', dtype)}")


def _other(what: str, dtype: str) -> str:
    if dtype not in OTHERS:
        raise DTypeError(f"{what}: 'dtype' is {dtype!r}, expected one of {', '.join(OTHERS)}")
    return dtype


def built_in_names() -> list[str]:
    """The names of the project's intrinsics, as examples: other rows and columns are possible."""
    tiles = [(d, register_tile(Target.parse("cpu"), dtypes.dtype(d).bits)) for d in PRODUCTS]
    products = [f"gemm_{dtype}_{tile.rows}x{tile.columns}" for dtype, tile in tiles]
    return [*products, *(f"{kind}_{dtype}" for kind in ("dot", "axpy") for dtype in OTHERS)]


@functools.lru_cache(maxsize=256)
def built_in(name: str) -> TensorIntrin | None:
    """The project's own intrinsic of a name, or None."""
    product = re.fullmatch(rf"gemm_({'|'.join(PRODUCTS)})_([1-9]\d{{0,3}})x([1-9]\d{{0,3}})", name)
    if product is not None:
        rows, columns = int(product[2]), int(product[3])
        return _gemm(name, product[1], rows, columns) if rows <= MAX_ROWS and columns <= MAX_COLUMNS else None
    other = re.fullmatch(rf"(dot|axpy)_({'|'.join(OTHERS)})", name)
    if other is None:
        return None
    return _dot(name, other[2]) if other[1] == "dot" else _axpy(name, other[2])


Start = Callable[[Buffer, Indices], Term]
"""The value from which a sum begins, by the element that it is stored in."""


STARTS: tuple[Start, Start] = (lambda out, at: 0, lambda out, at: out[at])
"""The start of a sum of its own, and that of an update."""


def _prim(
    name: str, inputs: Sequence[Tensor], shape: Sequence[Dim], body: Callable[..., None], start: Start
) -> IRModule:
    """A prim func whose output is filled by `body`, a body of a `LoopOp` that also gets the start."""
    op = LoopOp(inputs, [shape], [inputs[0].dtype], functools.partial(body, start), "C")
    return create_prim_func([*inputs, *op.outputs], name)


def _gemm(name: str, dtype: str, rows: int, columns: int) -> TensorIntrin:
    k = symbol("k")
    a, b = placeholder((rows, k), dtype, "a"), placeholder((k, columns), dtype, "b")
    r = reduce_axis((0, k), "r")
    c = compute((rows, columns), lambda i, j: sum_of(a[i, r] * b[r, j], axis=r), "c")

    def body(start: Start, loops: LoopBuilder, x: Buffer, y: Buffer, out: Buffer) -> None:
        sums = loops.alloc((rows, columns), dtype, "sums")
        with loops.loop(rows, kind="unroll") as i, loops.loop(columns, kind="vectorized") as j:
            sums[i, j] = start(out, (i, j))
        with (
            loops.loop(k) as depth,
            loops.loop(rows, kind="unroll") as i,
            loops.loop(columns, kind="vectorized") as j,
        ):
            sums[i, j] = sums[i, j] + x[i, depth] * y[depth, j]
        with loops.loop(rows, kind="unroll") as i, loops.loop(columns, kind="vectorized") as j:
            out[i, j] = sums[i, j]

    whole, update = (_prim(name, [a, b], (rows, columns), body, start) for start in STARTS)
    return decl_tensor_intrin(c, lambda ins, outs: (whole, None, update), name)


def _dot(name: str, dtype: str) -> TensorIntrin:
    k = symbol("k")
    a, b = placeholder((k,), dtype, "a"), placeholder((k,), dtype, "b")
    r = reduce_axis((0, k), "r")
    c = compute((), lambda: sum_of(a[r] * b[r], axis=r), "c")

    def body(start: Start, loops: LoopBuilder, x: Buffer, y: Buffer, out: Buffer) -> None:
        sums = loops.alloc((DOT_LANES,), dtype, "sums")
        with loops.loop(DOT_LANES, kind="vectorized") as lane:
            sums[lane] = 0
        with loops.loop(ceildiv(k, DOT_LANES)) as step:
            count = loops.min(DOT_LANES, loops.size(k) - step * DOT_LANES)
            with loops.loop(count, kind="vectorized") as lane:
                at = step * DOT_LANES + lane
                sums[lane] = sums[lane] + x[at] * y[at]
        width = DOT_LANES // 2
        while width:
            with loops.loop(width, kind="vectorized") as lane:
                sums[lane] = sums[lane] + sums[lane + width]
            width //= 2
        out[()] = start(out, ()) + sums[0]

    whole, update = (_prim(name, [a, b], (), body, start) for start in STARTS)
    return decl_tensor_intrin(c, lambda ins, outs: (whole, None, update), name)


def _axpy(name: str, dtype: str) -> TensorIntrin:
    n = symbol("n")
    a, b = placeholder((1,), dtype, "a"), placeholder((1, n), dtype, "b")
    r = reduce_axis((0, 1), "r")
    c = compute((n,), lambda j: sum_of(a[r] * b[r, j], axis=r), "c")

    def body(start: Start, loops: LoopBuilder, x: Buffer, y: Buffer, out: Buffer) -> None:
        with loops.loop(n, kind="vectorized") as j:
            out[j] = start(out, j) + x[0] * y[0, j]

    whole, update = (_prim(name, [a, b], (n,), body, start) for start in STARTS)
    return decl_tensor_intrin(c, lambda ins, outs: (whole, None, update), name)
