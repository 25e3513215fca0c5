"""Legalisation of attention: two contractions around a softmax, reading every operand where it lies."""

from __future__ import annotations

import math as pymath
from collections.abc import Sequence

from relax_mlir.dialects.types import Tensor
from relax_mlir.lowering.legalize.contraction import cast, contraction, zeroed
from relax_mlir.lowering.legalize.emit import broadcast_map, generic, identity
from relax_mlir.lowering.legalize.nn import softmax
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, legalization
from relax_mlir.lowering.legalize.scalars import compute_dtype, const, convert
from relax_mlir.mlir import arith, ir, linalg, math
from relax_mlir.symbolic import Dim


@legalization("relax.nn_attention", "relax.nn_attention_bias")
def legalize_attention(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    query, key, value = op.operands[:3]
    dtype = query.info.dtype
    assert dtype is not None
    wide = compute_dtype(dtype)
    batch, queries, heads, _ = query.shape
    scores = _scores(lz, query, key, Tensor((batch, heads, queries, key.shape[1]), wide))
    weights = softmax(lz, _masked(lz, op, scores, query.shape[3]), axis=3)
    result = lz.prim(
        "attention_values",
        [weights, value],
        [op.results[0].with_dtype(wide)],
        lambda prim: [contraction(prim, (0, 2, 1, 4), (0, 4, 2, 3), zeroed(prim))],
        pattern="out_fusable",
    )
    return [cast(lz, result[0], dtype)]


def _scores(lz: Legalizer, query: Arg, key: Arg, scores: Tensor) -> Arg:
    """``scores[b, h, s, t]``: the sum over d of ``query[b, s, h, d] * key[b, t, h, d]``."""
    return lz.prim(
        "attention_scores",
        [query, key],
        [scores],
        lambda prim: [contraction(prim, (0, 2, 1, 4), (0, 3, 1, 4), zeroed(prim))],
        pattern="out_fusable",
    )[0]


def _masked(lz: Legalizer, op: OpCall, scores: Arg, head_size: Dim) -> Arg:
    """The scores scaled, with the bias added and the keys that a query must not see at -inf."""
    scale = None if op.args.is_unit("scale") else op.args.float_attr("scale")
    causal = None if op.args.is_unit("causal_mask") else op.args.str_attr("causal_mask")
    return lz.prim(
        "attention_mask",
        [scores, *op.operands[3:]],
        [scores.info],
        lambda prim: _mask(prim, scale, causal, head_size),
        pattern="broadcast",
        key=(scale, causal, str(head_size) if scale is None else None),
    )[0]


def _mask(prim: PrimBody, scale: float | None, causal: str | None, head_size: Dim) -> Sequence[ir.Value]:
    scores = prim.out_infos[0]
    shape, dtype = scores.known_shape, scores.dtype
    assert shape is not None and dtype is not None
    element = dtype.storage_type()
    factor = _default_scale(prim, head_size, element) if scale is None else arith.constant(element, scale)
    shift = _causal_shift(prim, causal)

    def body(score: ir.Value, *rest: ir.Value) -> ir.Value:
        value = arith.mulf(score, factor)
        if len(rest) > 1:
            bias = prim.in_infos[1].dtype
            assert bias is not None
            value = arith.addf(value, convert(bias, dtype, rest[0]))
        if shift is None:
            return value
        last = arith.addi(linalg.IndexOp(2).result, shift)
        visible = arith.cmpi(arith.CmpIPredicate.sle, linalg.IndexOp(3).result, last)
        return arith.select(visible, value, const(dtype, -pymath.inf))

    maps = [broadcast_map(info.known_shape or (), shape) for info in prim.in_infos]
    return generic(prim.ins, maps, prim.outs, [identity(4)], ["parallel"] * 4, body)


def _default_scale(prim: PrimBody, head_size: Dim, element: ir.Type) -> ir.Value:
    if isinstance(head_size, int):
        return arith.constant(element, 1.0 / pymath.sqrt(head_size) if head_size else 0.0)
    size = arith.index_cast(ir.IntegerType.get_signless(64), prim.index(head_size))
    return arith.divf(arith.constant(element, 1.0), math.sqrt(arith.sitofp(element, size)))


def _causal_shift(prim: PrimBody, causal: str | None) -> ir.Value | None:
    """How many keys more than its own number a query sees."""
    if causal is None:
        return None
    if causal == "TopLeft":
        return prim.index(0)
    return arith.subi(prim.dim(prim.outs[0], 3), prim.dim(prim.outs[0], 2))
