"""Legalisation of eye, tril and triu: elements are selected by their position relative to the diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relax_mlir.dialects.dtypes import DType
from relax_mlir.lowering.legalize.elementwise import elementwise_prim
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, legalization
from relax_mlir.mlir import arith, ir, linalg
from relax_mlir.scalars.arithmetic import Scalar, const, select

_P = arith.CmpIPredicate
RELATIONS = {"eye": _P.eq, "eye_like": _P.eq, "tril": _P.sle, "triu": _P.sge}
"""The predicate of ``column - row`` and `k` for elements that are kept."""


def _is_kept(op: OpCall) -> Scalar:
    rank = len(op.results[0].known_shape or ())
    offset = arith.subi(linalg.IndexOp(rank - 1).result, linalg.IndexOp(rank - 2).result)
    k = arith.constant(ir.IndexType.get(), op.args.int_attr("k"))
    return arith.cmpi(RELATIONS[op.args.op], offset, k)


def _dtype(op: OpCall) -> DType:
    dtype = op.results[0].dtype
    assert dtype is not None
    return dtype


@legalization("relax.eye", "relax.eye_like")
def legalize_eye(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Fill the result by position; no input is read."""
    op, dtype = replace(op, operands=()), _dtype(op)
    key = op.args.int_attr("k")
    return elementwise_prim(
        lz, op, lambda: select(dtype, _is_kept(op), const(dtype, 1), const(dtype, 0)), key=key
    )


@legalization("relax.tril", "relax.triu")
def legalize_triangle(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    dtype = _dtype(op)
    key = op.args.int_attr("k")
    return elementwise_prim(lz, op, lambda x: select(dtype, _is_kept(op), x, const(dtype, 0)), key=key)
