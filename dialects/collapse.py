"""Sums that undo a broadcast: collapse_sum_like, collapse_sum_to."""

from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.pattern_kinds import OpPatternKind
from relax_mlir.dialects.shape_functions import bind_shape
from relax_mlir.dialects.structure import shape_expr
from relax_mlir.dialects.types import Tensor, shape_text
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one
from relax_mlir.dialects.views import ShapeLike
from relax_mlir.error import ShapeError
from relax_mlir.mlir import ext
from relax_mlir.symbolic import Dim


class CollapseSumLikeOp(RelaxOp, name="collapse_sum_like", traits=[ext.Pure]):
    """`data` summed to the shape of `collapse_target`, which broadcasts to that of `data`.

    It sums over the dimensions that the target lacks, and those where the target has size 1. Example: shape
    ``(2, n, 3)`` to ``(n, 1)`` sums over the first and the last dimension.
    """

    op_pattern = OpPatternKind.COMM_REDUCE

    data: ext.Operand[Any]
    collapse_target: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return _collapsed(args, args.tensor(1).shape)


class CollapseSumToOp(RelaxOp, name="collapse_sum_to", traits=[ext.Pure]):
    """`data` summed to `shape`, a shape value, which broadcasts to that of `data`; see `collapse_sum_like`.

    Example: shape ``(2, n)`` to ``(n,)`` sums over the first dimension.
    """

    op_pattern = OpPatternKind.COMM_REDUCE

    data: ext.Operand[Any]
    shape: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return _collapsed(args, args.shape(1).values)


def _collapsed(args: OpArgs, target: Sequence[Dim | None] | None) -> Tensor:
    dtype = args.require_dtype(0, lambda d: d.kind != "bool", "a number; use astype")
    shape = args.tensor(0).shape
    if target is not None and shape is not None:
        _check(args, shape, target)
    return Tensor(target, dtype)


def _check(args: OpArgs, shape: Sequence[Dim | None], target: Sequence[Dim | None]) -> None:
    more = len(shape) - len(target)
    where = f"{args.op}: shape {shape_text(shape)} to {shape_text(target)}"
    if more < 0:
        raise ShapeError(f"{where}: the target has more dimensions")
    for axis, (dim, wanted) in enumerate(zip(shape[more:], target, strict=True)):
        if dim is None or wanted is None or wanted == 1 or symbolic.prove_equal(dim, wanted):
            continue
        if symbolic.prove_not_equal(dim, wanted) and isinstance(wanted, int):
            raise ShapeError(f"{where}: dimension {axis} of the target is {wanted}, neither 1 nor {dim}")
        raise ShapeError(f"{where}: cannot tell whether {dim} equals {wanted}; match_shape the tensor first")


def summed_axes(shape: Sequence[Dim], target: Sequence[Dim]) -> list[int]:
    """The axes of a tensor of `shape` that are summed over."""
    more = len(shape) - len(target)
    ones = [
        more + axis
        for axis, (dim, wanted) in enumerate(zip(shape[more:], target, strict=True))
        if wanted == 1 != dim
    ]
    return [*range(more), *ones]


def collapse_sum_like(data: ValueLike, collapse_target: Value) -> Value:
    """`data` summed to the shape of another tensor (see `CollapseSumLikeOp`)."""
    return create_one(CollapseSumLikeOp, [as_value(data), collapse_target])


def collapse_sum_to(data: ValueLike, shape: ShapeLike) -> Value:
    """`data` summed to a shape (see `CollapseSumToOp`)."""
    value = as_value(data)
    target = bind_shape(shape) if isinstance(shape, Value) else shape_expr(shape)
    return create_one(CollapseSumToOp, [value, target])
