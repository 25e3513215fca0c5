"""The project's intrinsics for `Stage.tensorize`: GEMM micro-kernels, dot products, axpy.

Their names contain the dtype and the size: ``gemm_float32_8x32``, ``dot_float64``, ``axpy_float32``.
"""

from __future__ import annotations

import re
from functools import lru_cache

from relax_mlir.dialects import dtypes
from relax_mlir.error import ArgumentError, DTypeError
from relax_mlir.script.parser import parse
from relax_mlir.symbolic import symbol
from relax_mlir.target import Target, register_tile
from relax_mlir.te.reductions import reduce_axis
from relax_mlir.te.reductions import sum as sum_of
from relax_mlir.te.schedule.tensor_intrin import TensorIntrin, decl_tensor_intrin
from relax_mlir.te.tensors import compute, placeholder

__all__ = ["axpy", "dot", "gemm"]

FILE = "<intrinsic>"
PRODUCTS = ("float32", "float64")
"""Dtypes of GEMM intrinsics."""
OTHERS = ("float32", "float64", "int32", "int64")
"""Dtypes of the other intrinsics."""
MAX_ROWS, MAX_COLUMNS = 64, 4096
"""Loops over rows are unrolled."""
DOT_LANES = 64
"""Number of parallel accumulators of a dot product."""

_GEMM = """
@T.prim_func
def {name}(
    A: T.Buffer(({rows}, "k"), "{dtype}"),
    B: T.Buffer(("k", {columns}), "{dtype}"),
    C: T.Buffer(({rows}, {columns}), "{dtype}"),
):
    sums = T.alloc_buffer(({rows}, {columns}), "{dtype}", scope="local")
    for i in T.unroll({rows}):
        for j in T.vectorized({columns}):
            sums[i, j] = {start}
    for r in range(k):
        for i in T.unroll({rows}):
            for j in T.vectorized({columns}):
                sums[i, j] = sums[i, j] + A[i, r] * B[r, j]
    for i in T.unroll({rows}):
        for j in T.vectorized({columns}):
            C[i, j] = sums[i, j]
"""
_DOT = """
@T.prim_func
def {name}(A: T.Buffer(("k",), "{dtype}"), B: T.Buffer(("k",), "{dtype}"), C: T.Buffer((), "{dtype}")):
    sums = T.alloc_buffer(({lanes},), "{dtype}", scope="local")
    for l in T.vectorized({lanes}):
        sums[l] = T.{dtype}(0)
    for t in range((k + {last}) // {lanes}):
        for l in T.vectorized(T.min({lanes}, k - t * {lanes})):
            sums[l] = sums[l] + A[t * {lanes} + l] * B[t * {lanes} + l]
{halves}
    C[()] = {start} + sums[0]
"""
_AXPY = """
@T.prim_func
def {name}(A: T.Buffer((1,), "{dtype}"), B: T.Buffer((1, "n"), "{dtype}"), C: T.Buffer(("n",), "{dtype}")):
    for j in T.vectorized(n):
        C[j] = {start} + A[0] * B[0, j]
"""


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


@lru_cache(maxsize=256)
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


def _gemm(name: str, dtype: str, rows: int, columns: int) -> TensorIntrin:
    k = symbol("k")
    a, b = placeholder((rows, k), dtype, "a"), placeholder((k, columns), dtype, "b")
    r = reduce_axis((0, k), "r")
    c = compute((rows, columns), lambda i, j: sum_of(a[i, r] * b[r, j], axis=r), "c")
    body, update = (
        parse(_GEMM.format(name=name, dtype=dtype, rows=rows, columns=columns, start=start), name=FILE)
        for start in (f"T.{dtype}(0)", "C[i, j]")
    )
    return decl_tensor_intrin(c, lambda ins, outs: (body, None, update), name)


def _dot(name: str, dtype: str) -> TensorIntrin:
    k = symbol("k")
    a, b = placeholder((k,), dtype, "a"), placeholder((k,), dtype, "b")
    r = reduce_axis((0, k), "r")
    c = compute((), lambda: sum_of(a[r] * b[r], axis=r), "c")
    halves, width = [], DOT_LANES // 2
    while width:
        halves += [f"    for l in T.vectorized({width}):", f"        sums[l] = sums[l] + sums[l + {width}]"]
        width //= 2
    body, update = (
        parse(
            _DOT.format(
                name=name,
                dtype=dtype,
                lanes=DOT_LANES,
                last=DOT_LANES - 1,
                halves="\n".join(halves),
                start=start,
            ),
            name=FILE,
        )
        for start in (f"T.{dtype}(0)", "C[()]")
    )
    return decl_tensor_intrin(c, lambda ins, outs: (body, None, update), name)


def _axpy(name: str, dtype: str) -> TensorIntrin:
    n = symbol("n")
    a, b = placeholder((1,), dtype, "a"), placeholder((1, n), dtype, "b")
    r = reduce_axis((0, 1), "r")
    c = compute((n,), lambda j: sum_of(a[r] * b[r, j], axis=r), "c")
    body, update = (
        parse(_AXPY.format(name=name, dtype=dtype, start=start), name=FILE)
        for start in (f"T.{dtype}(0)", "C[j]")
    )
    return decl_tensor_intrin(c, lambda ins, outs: (body, None, update), name)
