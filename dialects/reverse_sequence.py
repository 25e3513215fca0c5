"""Reversal of sequences of different lengths in one tensor: reverse_sequence."""

from typing import Any

from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, normalize_axis
from relax_mlir.dialects.gather import check_equal, index_operand
from relax_mlir.dialects.number_attributes import int_attr
from relax_mlir.dialects.pattern_kinds import OpPatternKind
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ShapeError
from relax_mlir.mlir import ext, ir


class ReverseSequenceOp(RelaxOp, name="reverse_sequence", traits=[ext.Pure]):
    """`data` with the first ``seq_lengths[b]`` elements along `seq_axis` reversed, for each index b of `batch_axis`.

    Lengths below 1 reverse nothing, and lengths above the size reverse all elements. Example:
    ``[[1, 2, 3], [4, 5, 6]]`` with lengths ``[2, 3]`` gives ``[[2, 1, 3], [6, 5, 4]]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    data: ext.Operand[Any]
    seq_lengths: ext.Operand[Any]
    seq_axis: ir.IntegerAttr
    batch_axis: ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data, lengths = args.tensor(0), index_operand(args, 1)
        if lengths.ndim not in (None, 1):
            raise ShapeError(f"{args.op}: operand 'seq_lengths' is {lengths}, expected a vector")
        if data.shape is None:
            return data
        along, batch = (
            normalize_axis(args.op, args.int_attr(name), len(data.shape), name)
            for name in ("seq_axis", "batch_axis")
        )
        if along == batch:
            raise ShapeError(f"{args.op}: seq_axis and batch_axis are both {along}")
        if lengths.shape is not None:
            what = f"dimension {batch} of 'data' and the length of 'seq_lengths'"
            check_equal(args, what, data.shape[batch], lengths.shape[0])
        return data


def reverse_sequence(
    data: ValueLike, seq_lengths: ValueLike, seq_axis: int = 1, batch_axis: int = 0
) -> Value:
    """`data` with the first elements of each sequence reversed (see `ReverseSequenceOp`)."""
    require_insertion_point("reverse_sequence")
    attributes = {
        "seq_axis": int_attr(seq_axis, "reverse_sequence: 'seq_axis'"),
        "batch_axis": int_attr(batch_axis, "reverse_sequence: 'batch_axis'"),
    }
    return create_one(ReverseSequenceOp, [as_value(data), as_value(seq_lengths)], attributes)
