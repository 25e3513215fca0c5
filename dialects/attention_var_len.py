"""Attention over concatenated sequences of different lengths."""

from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.dtypes import promote
from relax_mlir.dialects.nn import CAUSAL_MASKS, attention_shape, check_attention, float_tensor
from relax_mlir.dialects.number_attributes import double_attr, text_attr
from relax_mlir.dialects.types import Tensor, dim_text
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.mlir import ext, ir


class AttentionVarLenOp(RelaxOp, name="nn_attention_var_len", traits=[ext.Pure]):
    """`AttentionOp` of each of several sequences, which are concatenated in a batch of one.

    `query` is ``(1, s, h, d)``, `key` ``(1, t, g, d)``, `value` ``(1, t, g, e)``, the result ``(1, s, h, e)``. The
    queries of sequence ``i`` are ``seqstart_q[i]`` to ``seqstart_q[i + 1]``, exclusive, and its keys ``seqstart_k[i]``
    to ``seqstart_k[i + 1]``; both are vectors of integers, clamped to the range. `scale` and `causal_mask` are those of
    `AttentionOp`, within each sequence. `max_seqlen_q` and `max_seqlen_k`, one integer each, are hints without effect
    on the result. A query that sees no key, or is in no sequence, gives 0. 16-bit floats are computed in float32.

    Example: lengths 2 and 3 are the starts ``[0, 2, 5]``; shapes ``(1, 5, 8, 32)`` three times give
    ``(1, 5, 8, 32)``.
    """

    query: ext.Operand[Any]
    key: ext.Operand[Any]
    value: ext.Operand[Any]
    seqstart_q: ext.Operand[Any]
    seqstart_k: ext.Operand[Any]
    max_seqlen_q: ext.Operand[Any]
    max_seqlen_k: ext.Operand[Any]
    scale: ir.FloatAttr | ir.UnitAttr
    causal_mask: ir.StringAttr | ir.UnitAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        known = [dtype for dtype in (float_tensor(args, i).dtype for i in range(3)) if dtype is not None]
        for other in known[1:]:
            promote(known[0], other, args.op)
        if not args.is_unit("scale"):
            args.float_attr("scale")
        if not args.is_unit("causal_mask") and args.str_attr("causal_mask") not in CAUSAL_MASKS:
            raise ArgumentError(
                f"{args.op}: causal_mask is {args.str_attr('causal_mask')!r}, expected one of {CAUSAL_MASKS}"
            )
        for index in range(3, 7):
            _check_integers(args, index, 1 if index < 5 else 0)
        first, second = ((args.tensor(i).shape or (None,))[0] for i in (3, 4))
        if first is not None and second is not None and not symbolic.prove_equal(first, second):
            raise ShapeError(
                f"{args.op}: operand 'seqstart_k' has {dim_text(second)} elements, expected those of 'seqstart_q', "
                f"{dim_text(first)}"
            )
        dtype = known[0] if known else None
        shapes = [attention_shape(args, i) for i in range(3)]
        if any(shape is None for shape in shapes):
            return Tensor((None,) * 4, dtype)
        query, key, value = (shape for shape in shapes if shape is not None)
        check_attention(args, query, key, value)
        if query[0] is not None and not symbolic.prove_equal(query[0], 1):
            raise ShapeError(f"{args.op}: the batch of 'query' is {dim_text(query[0])}, expected 1")
        return Tensor((*query[:3], value[3]), dtype)


def _check_integers(args: OpArgs, index: int, rank: int) -> None:
    args.require_dtype(index, lambda d: d.is_integer, "integers")
    given = args.tensor(index)
    if given.ndim is not None and given.ndim != rank:
        raise ShapeError(f"{args.op}: operand '{args.name_of(index)}' is {given}, expected {rank} dimensions")
    if rank and given.shape and given.shape[0] == 0:
        raise ShapeError(f"{args.op}: operand '{args.name_of(index)}' is {given}, expected a start and ends")


def attention_var_len(
    queries: ValueLike,
    keys: ValueLike,
    values: ValueLike,
    seqstart_q: ValueLike,
    max_seqlen_q: ValueLike,
    seqstart_k: ValueLike | None = None,
    max_seqlen_k: ValueLike | None = None,
    scale: float | None = None,
    causal_mask: str | None = None,
) -> Value:
    """Attention of concatenated sequences (see `AttentionVarLenOp`); `seqstart_k` defaults to `seqstart_q`."""
    what = "attention_var_len"
    require_insertion_point(f"nn.{what}")
    unit, integer = ir.UnitAttr.get(), Tensor((), "int32")
    attributes = {
        "scale": unit if scale is None else double_attr(scale, f"{what}: 'scale'"),
        "causal_mask": unit if causal_mask is None else text_attr(causal_mask, f"{what}: 'causal_mask'"),
    }
    starts, longest = as_value(seqstart_q), as_value(max_seqlen_q, integer)
    operands = [
        *(as_value(v) for v in (queries, keys, values)),
        starts,
        starts if seqstart_k is None else as_value(seqstart_k),
        longest,
        longest if max_seqlen_k is None else as_value(max_seqlen_k, integer),
    ]
    return create_one(AttentionVarLenOp, operands, attributes)
