"""Arithmetic ops of two operands, with NumPy's broadcasting on symbolic shapes."""

from typing import Any

from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, broadcast
from relax_mlir.dialects.dtypes import DType, promote
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value, ValueLike, as_values, create_one
from relax_mlir.mlir import ext


def infer_binary(args: OpArgs) -> Tensor:
    """Shape rule of binary ops: broadcast shapes, one dtype."""
    x1, x2 = args.tensor(0), args.tensor(1)
    dtype: DType | None = None
    if x1.dtype is not None and x2.dtype is not None:
        dtype = promote(x1.dtype, x2.dtype, args.op)
    return Tensor(broadcast(args.op, x1.shape, x2.shape), dtype)


class BinaryArithmeticOp(RelaxOp):
    """Base of the arithmetic ops on numbers (not bool)."""

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        for index in (0, 1):
            args.require_dtype(index, lambda d: d.kind != "bool", "a number")
        return infer_binary(args)


class AddOp(BinaryArithmeticOp, name="add", traits=[ext.Pure]):  # type: ignore[call-arg]  # untyped DSL
    """Sum of two tensors, element by element.

    Integers wrap around. Example: shapes ``(n, 1, m)`` and ``(2, m)`` give ``(n, 2, m)``.
    """

    x1: ext.Operand[Any]
    x2: ext.Operand[Any]
    result: ext.Result[Any]


def add(x1: ValueLike, x2: ValueLike) -> Value:
    """``x1 + x2`` (see `AddOp`)."""
    return create_one(AddOp, as_values(x1, x2))
