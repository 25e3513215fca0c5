"""Legalisation of matmul: ``linalg.matmul`` for matrices, else one contraction."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.types import Tensor
from relax_mlir.lowering.legalize.contraction import cast, contraction, zeroed
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, legalization
from relax_mlir.mlir import ir, linalg
from relax_mlir.scalars.arithmetic import compute_dtype


@legalization("relax.matmul")
def legalize_matmul(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    result = op.results[0]
    assert result.dtype is not None
    wide = result.with_dtype(compute_dtype(result.dtype))
    body = matrices if _is_plain(op.operands, wide) else _batched
    products = lz.prim("matmul", op.operands, [wide], body, pattern="out_fusable")
    return [cast(lz, products[0], result.dtype)]


def _is_plain(operands: Sequence[Arg], out: Tensor) -> bool:
    """True for two matrices of the accumulator's dtype, which is not bool: what ``linalg.matmul`` computes."""
    assert out.dtype is not None
    return out.dtype.kind != "bool" and all(len(a.shape) == 2 and a.info.dtype == out.dtype for a in operands)


def matrices(prim: PrimBody) -> Sequence[ir.Value]:
    """The body of a GEMM of two matrices of the accumulator's dtype."""
    return [linalg.matmul(*prim.ins, outs=[zeroed(prim)])]


def _batched(prim: PrimBody) -> Sequence[ir.Value]:
    rank1, rank2 = (len(info.shape or ()) for info in prim.in_infos)
    rank = len(prim.out_infos[0].shape or ())
    rows, columns, total = int(rank1 > 1), int(rank2 > 1), rank
    batch = rank - rows - columns
    axes1 = [*range(batch - max(rank1 - 2, 0), batch), *([batch] if rows else []), total]
    axes2 = [*range(batch - max(rank2 - 2, 0), batch), total, *([batch + rows] if columns else [])]
    return [contraction(prim, axes1, axes2, zeroed(prim))]
