"""Repetition, reversal and rotation of elements: tile, repeat, flip, roll."""

from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, normalize_axis
from relax_mlir.dialects.number_attributes import (
    int_attr,
    integers,
    ints_attr,
    maybe_int_attr,
    maybe_ints_attr,
)
from relax_mlir.dialects.pattern_kinds import OpPatternKind
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim


class FlipOp(RelaxOp, name="flip", traits=[ext.Pure]):
    """`x` reversed along `axis`. Example: ``[1, 2, 3]`` gives ``[3, 2, 1]``."""

    op_pattern = OpPatternKind.INJECTIVE

    x: ext.Operand[Any]
    axis: ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x = args.tensor(0)
        if x.shape is not None:
            normalize_axis(args.op, args.int_attr("axis"), len(x.shape))
        return x


class RollOp(RelaxOp, name="roll", traits=[ext.Pure]):
    """`x` rotated by `shift` along each of `axis`: elements that leave at one end enter at the other.

    ``unit`` for `axis` rotates the flattened elements, in row-major order. Shifts of an axis that occurs several times
    add up. Example: ``[1, 2, 3]`` with shift 1 gives ``[3, 1, 2]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    x: ext.Operand[Any]
    shift: ir.ArrayAttr
    axis: ir.ArrayAttr | ir.UnitAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x = args.tensor(0)
        shifts = args.ints_attr("shift")
        axes = [0] if args.is_unit("axis") else args.ints_attr("axis")
        if len(shifts) != len(axes):
            raise ArgumentError(f"{args.op}: {len(shifts)} shifts for {len(axes)} axes, expected as many")
        if x.shape is not None and not args.is_unit("axis"):
            for axis in axes:
                normalize_axis(args.op, axis, len(x.shape))
        return x


class TileOp(RelaxOp, name="tile", traits=[ext.Pure]):
    """`x` repeated as a whole `repeats` times along its dimensions, as ``numpy.tile``.

    The shorter of shape and `repeats` is extended with ones in front. Example: ``[1, 2]`` with repeats ``[2, 2]`` gives
    ``[[1, 2, 1, 2], [1, 2, 1, 2]]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    x: ext.Operand[Any]
    repeats: ir.ArrayAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x, repeats = args.tensor(0), args.ints_attr("repeats")
        if any(number < 0 for number in repeats):
            raise ArgumentError(f"{args.op}: repeats is {repeats}, expected integers that are not negative")
        if x.shape is None:
            return Tensor(None, x.dtype)
        rank = max(len(x.shape), len(repeats))
        shape: list[Dim | None] = [*([1] * (rank - len(x.shape))), *x.shape]
        times = [*([1] * (rank - len(repeats))), *repeats]
        return Tensor([None if d is None else d * n for d, n in zip(shape, times, strict=True)], x.dtype)


class RepeatOp(RelaxOp, name="repeat", traits=[ext.Pure]):
    """Each element of `x` repeated `repeats` times along `axis`, as ``numpy.repeat``; ``unit`` flattens `x` first.

    Example: ``[1, 2]`` with repeats 2 gives ``[1, 1, 2, 2]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    x: ext.Operand[Any]
    repeats: ir.IntegerAttr
    axis: ir.IntegerAttr | ir.UnitAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x, repeats = args.tensor(0), args.int_attr("repeats")
        if repeats < 0:
            raise ArgumentError(f"{args.op}: repeats is {repeats}, expected an integer that is not negative")
        if args.is_unit("axis"):
            known = x.known_shape
            return Tensor((None,) if known is None else (symbolic.product(known) * repeats,), x.dtype)
        if x.shape is None:
            return x
        axis = normalize_axis(args.op, args.int_attr("axis"), len(x.shape))
        return Tensor([d if i != axis or d is None else d * repeats for i, d in enumerate(x.shape)], x.dtype)


def flip(x: ValueLike, axis: int) -> Value:
    """`x` reversed along `axis` (see `FlipOp`)."""
    require_insertion_point("flip")
    return create_one(FlipOp, [as_value(x)], {"axis": int_attr(axis, "flip: 'axis'")})


def roll(x: ValueLike, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Value:
    """`x` rotated along `axis` (see `RollOp`); a single shift applies to all axes."""
    require_insertion_point("roll")
    shifts = integers(shift, "roll: 'shift'")
    axes = None if axis is None else integers(axis, "roll: 'axis'")
    if axes is not None and len(shifts) == 1:
        shifts = shifts * len(axes)
    attributes = {"shift": ints_attr(shifts, "roll: 'shift'"), "axis": maybe_ints_attr(axes, "roll: 'axis'")}
    return create_one(RollOp, [as_value(x)], attributes)


def tile(x: ValueLike, repeats: int | Sequence[int]) -> Value:
    """`x` repeated as a whole `repeats` times (see `TileOp`)."""
    require_insertion_point("tile")
    return create_one(TileOp, [as_value(x)], {"repeats": ints_attr(repeats, "tile: 'repeats'")})


def repeat(x: ValueLike, repeats: int, axis: int | None = None) -> Value:
    """Each element of `x` repeated `repeats` times (see `RepeatOp`)."""
    require_insertion_point("repeat")
    attributes = {
        "repeats": int_attr(repeats, "repeat: 'repeats'"),
        "axis": maybe_int_attr(axis, "repeat: 'axis'"),
    }
    return create_one(RepeatOp, [as_value(x)], attributes)
