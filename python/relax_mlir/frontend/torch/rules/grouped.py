"""Grouped matrix products, one matrix per group of rows: mixtures of experts."""

from __future__ import annotations

from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.frontend.torch.op_call import OpCall
from relax_mlir.frontend.torch.registry import rule
from relax_mlir.frontend.torch.torch_types import Argument
from relax_mlir.ir_module import IRModule

_NARROW = ("float16", "bfloat16")


@rule("transformers::grouped_mm_fallback.default")
def grouped_fallback(call: OpCall, x: Value, matrices: Value, ends: Value) -> Value:
    return _grouped(call, x, matrices, ends)


@rule("_grouped_mm.default")
def grouped(
    call: OpCall,
    x: Value,
    matrices: Value,
    ends: Value | None = None,
    bias: Value | None = None,
    dtype: Argument = None,
) -> Value:
    if ends is None or x.ndim != 2 or matrices.ndim != 3 or bias is not None or call.dtype != x.dtype:
        raise call.unsupported("grouped products of others than rows by one matrix for each group")
    return _grouped(call, x, matrices, ends)


def _grouped(call: OpCall, x: Value, matrices: Value, ends: Value) -> Value:
    """Multiply rows ``ends[i - 1]`` to ``ends[i]`` of `x`, ``(s, k)``, by matrix i of `matrices`, ``(g, k, n)``.

    Rows after the last group are zeros. Ends that decrease, or exceed the number of rows, are errors at run time.
    """
    name = f"grouped_matmul_{call.dtype}_{ends.dtype}"
    if name not in call.builder.symbol_names():
        call.builder.add_func(IRModule.parse(_text(name, call.dtype, str(ends.dtype)), trusted=True), name)
    return R.call_tir(name, [x, matrices, ends], Tensor(call.shape, call.dtype))


def _text(name: str, dtype: str, places: str) -> str:
    """Return the prim func: one matrix product per group, in float32 for 16-bit floats."""
    element, place = (str(dtypes.dtype(kind).storage_type()) for kind in (dtype, places))
    total = "f32" if dtype in _NARROW else element
    own, rounded = ("%sums", _ROUNDED) if dtype in _NARROW else ("%out", "")
    rows = "memref<?x?x{}, strided<[?, 1], offset: ?>>".format
    return f"""
func.func private @{name}(%x: memref<?x?x{element}>, %w: memref<?x?x?x{element}>, %ends: memref<?x{place}>,
    %out: memref<?x?x{element}>) attributes {{relax.prim_func, relax.params = [
    {{name = "x", shape = ["s", "k"], dtype = "{dtype}"}}, {{name = "w", shape = ["g", "k", "n"], dtype = "{dtype}"}},
    {{name = "ends", shape = ["g"], dtype = "{places}"}}, {{name = "out", shape = ["s", "n"], dtype = "{dtype}"}}]}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : {total}
  %s = memref.dim %x, %c0 : memref<?x?x{element}>
  %k = memref.dim %x, %c1 : memref<?x?x{element}>
  %g = memref.dim %w, %c0 : memref<?x?x?x{element}>
  %n = memref.dim %w, %c2 : memref<?x?x?x{element}>
  {"%sums = memref.alloc(%s, %n) : memref<?x?xf32>" if rounded else ""}
  linalg.fill ins(%zero : {total}) outs({own} : memref<?x?x{total}>)
  %last = scf.for %i = %c0 to %g step %c1 iter_args(%begin = %c0) -> (index) {{
    %e = memref.load %ends[%i] : memref<?x{place}>
    %end = arith.index_cast %e : {place} to index
    %rises = arith.cmpi sge, %end, %begin : index
    cf.assert %rises, "grouped_mm: the ends of the groups decrease"
    %fits = arith.cmpi sle, %end, %s : index
    cf.assert %fits, "grouped_mm: a group ends behind the last row"
    %m = arith.subi %end, %begin : index
    %xs = memref.subview %x[%begin, 0][%m, %k][1, 1] : memref<?x?x{element}> to {rows(element)}
    %ws = memref.subview %w[%i, 0, 0][1, %k, %n][1, 1, 1] : memref<?x?x?x{element}> to {rows(element)}
    %os = memref.subview {own}[%begin, 0][%m, %n][1, 1] : memref<?x?x{total}> to {rows(total)}
    linalg.matmul ins(%xs, %ws : {rows(element)}, {rows(element)}) outs(%os : {rows(total)})
    scf.yield %end : index
  }}
  {rounded.format(element=element)}
  return
}}
"""


_ROUNDED = """linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}} ins(%sums : memref<?x?xf32>) outs(%out : memref<?x?x{element}>) {{
  ^bb0(%sum: f32, %old: {element}):
    %short = arith.truncf %sum : f32 to {element}
    linalg.yield %short : {element}
  }}"""
