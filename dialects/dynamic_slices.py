"""Slices whose bounds are tensors: dynamic_strided_slice."""

from typing import Any

from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.gather import check_equal, index_operand
from relax_mlir.dialects.traits import SizedByData
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one
from relax_mlir.error import ShapeError
from relax_mlir.mlir import ext


class DynamicStridedSliceOp(RelaxOp, name="dynamic_strided_slice", traits=[ext.Pure, SizedByData]):
    """``x[begin:end:strides]`` along each dimension, where all three are vectors of integers, one per dimension.

    Negative and large bounds work as in Python. A stride of 0 fails at run time. The size of the result is known only
    at run time. For bounds that are integers or symbolic expressions, use `strided_slice`.

    Example: ``[1, 2, 3, 4, 5]`` with begin ``[-1]``, end ``[0]``, strides ``[-2]`` gives ``[5, 3]``.
    """

    x: ext.Operand[Any]
    begin: ext.Operand[Any]
    end: ext.Operand[Any]
    strides: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x = args.tensor(0)
        rank = x.ndim
        for index in (1, 2, 3):
            vector = index_operand(args, index)
            if vector.ndim not in (None, 1):
                raise ShapeError(f"{args.op}: operand '{args.name_of(index)}' is {vector}, expected a vector")
            if vector.shape is not None and rank is not None:
                what = f"the length of '{args.name_of(index)}' and the rank of 'x'"
                check_equal(args, what, vector.shape[0], rank)
            elif vector.shape is not None and isinstance(vector.shape[0], int):
                rank = vector.shape[0]
        return Tensor(None if rank is None else (None,) * rank, x.dtype)


def dynamic_strided_slice(x: ValueLike, begin: ValueLike, end: ValueLike, strides: ValueLike) -> Value:
    """``x[begin:end:strides]`` with bounds in vectors (see `DynamicStridedSliceOp`)."""
    return create_one(DynamicStridedSliceOp, [as_value(item) for item in (x, begin, end, strides)])
