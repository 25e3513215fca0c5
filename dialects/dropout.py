"""Dropout in inference mode."""

from typing import Any

from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.nn import float_tensor
from relax_mlir.dialects.number_attributes import double_attr
from relax_mlir.dialects.types import Tuple
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError
from relax_mlir.mlir import ext, ir


class DropoutOp(RelaxOp, name="nn_dropout", traits=[ext.Pure]):
    """`data` unchanged, and a mask of ones: inference drops nothing. `rate`, from 0 to 1, is used only by training.

    Example: ``[1.5, 2.0]`` gives the tuple of ``[1.5, 2.0]`` and ``[1.0, 1.0]``.
    """

    data: ext.Operand[Any]
    rate: ir.FloatAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        rate = args.float_attr("rate")
        if not 0 <= rate <= 1:
            raise ArgumentError(f"{args.op}: rate is {rate}, expected a number from 0 to 1")
        data = float_tensor(args)
        return Tuple([data, data])


def dropout(data: ValueLike, rate: float = 0.5) -> Value:
    """`data` and a mask of ones (see `DropoutOp`): a tuple of two."""
    require_insertion_point("nn.dropout")
    return create_one(DropoutOp, [as_value(data)], {"rate": double_attr(rate, "dropout: 'rate'")})
