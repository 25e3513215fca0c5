"""Elementwise selection: where, clip."""

import math
from typing import Any

import numpy as np
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, broadcast
from relax_mlir.dialects.binary import common_dtype
from relax_mlir.dialects.dim_orders import Order, Reordered
from relax_mlir.dialects.dtypes import DType, require_held
from relax_mlir.dialects.number_attributes import integer
from relax_mlir.dialects.pattern_kinds import OpPatternKind
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import (
    Scalar,
    Value,
    ValueLike,
    as_value,
    as_values,
    create_one,
    require_insertion_point,
)
from relax_mlir.error import ArgumentError, DTypeError
from relax_mlir.mlir import ext, ir


class WhereOp(RelaxOp, name="where", traits=[ext.Pure]):
    """The element of `x1` where `condition` (bool) is true, else that of `x2`; all three broadcast.

    Example: ``[true, false]``, ``[1, 2]`` and ``[0]`` give ``[1, 0]``.
    """

    op_pattern = OpPatternKind.BROADCAST

    condition: ext.Operand[Any]
    x1: ext.Operand[Any]
    x2: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.require_dtype(0, lambda d: d.kind == "bool", "bool; compare it with 0, or use astype")
        return Tensor(broadcast(args.op, *(x.shape for x in args.tensors())), common_dtype(args, (1, 2)))

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        return Reordered((0, 1, 2), (order,), {})


class ClipOp(RelaxOp, name="clip", traits=[ext.Pure]):
    """Each element clamped to ``min..max``; ``unit`` means no bound. NaN stays NaN.

    Example: ``[-3.0, 0.5, 9.0]`` with min 0.0 and max 6.0 gives ``[0.0, 0.5, 6.0]``. If min is above max, every element
    becomes max.
    """

    op_pattern = OpPatternKind.ELEMWISE

    x: ext.Operand[Any]
    min: ir.FloatAttr | ir.IntegerAttr | ir.UnitAttr
    max: ir.FloatAttr | ir.IntegerAttr | ir.UnitAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        dtype = args.require_dtype(0, lambda d: d.kind != "bool", "a number")
        for name in ("min", "max"):
            bound = clip_bound(args, name)
            if dtype is not None and bound is not None:
                require_bound(args.op, name, bound, dtype)
        return args.tensor(0)


def clip_bound(args: OpArgs, name: str) -> int | float | None:
    """The value of bound `name` of a `clip`, or None."""
    if args.is_unit(name):
        return None
    attribute = args.attrs[name]
    if isinstance(attribute, ir.IntegerAttr):
        return args.int_attr(name)
    return args.float_attr(name)


def require_bound(op: str, name: str, bound: int | float, dtype: DType) -> None:
    """Raise `DTypeError` for a fractional bound of integers, and for a bound that `dtype` cannot hold."""
    if dtype.is_float:
        return
    if isinstance(bound, float):
        raise DTypeError(f"{op}: {name} is {bound}, but the tensor has dtype {dtype}; give an integer")
    require_held(f"{op}: {name}", bound, dtype)


def where(condition: Value, x1: ValueLike, x2: ValueLike) -> Value:
    """`x1` where `condition` is true, else `x2` (see `WhereOp`)."""
    return create_one(WhereOp, [as_value(condition), *as_values(x1, x2, of=WhereOp, names=("x1", "x2"))])


def clip(x: Value, min: Scalar | None = None, max: Scalar | None = None) -> Value:
    """`x` clamped to ``min..max`` (see `ClipOp`). A bound outside the range of the dtype has no effect."""
    require_insertion_point("clip")
    dtype = as_value(x).tensor_info.dtype
    bounds = {"min": bound_attr(dtype, "min", min), "max": bound_attr(dtype, "max", max)}
    return create_one(ClipOp, [x], bounds)


def bound_attr(dtype: DType | None, name: str, bound: Scalar | None) -> ir.Attribute:
    """Bound `name` of a `clip` of a tensor of `dtype` as an attribute: ``unit`` if it has no effect."""
    if isinstance(bound, Value):  # a `prim_value`
        bound = integer(bound, f"clip: {name}")
    if bound is None:
        return ir.UnitAttr.get()
    if isinstance(bound, bool) or not isinstance(bound, int | float):
        raise ArgumentError(f"clip: {name} is {bound!r}, expected a number or None")
    if dtype is None and isinstance(bound, int) and -(2**63) <= bound < 2**64:
        return ir.IntegerAttr.get(_bound_type(bound), bound)
    if dtype is None or dtype.is_float:
        return ir.FloatAttr.get(ir.F64Type.get(), float(bound))
    if dtype.kind == "bool":
        raise DTypeError("clip: operand 'x' has dtype bool, expected a number")
    if math.isinf(bound):
        return ir.UnitAttr.get()
    if isinstance(bound, float) and not bound.is_integer():
        raise DTypeError(f"clip: {name} is {bound}, but the tensor has dtype {dtype}; give an integer")
    least, greatest = dtype.bounds
    useless = bound <= least if name == "min" else bound >= greatest
    if useless:
        return ir.UnitAttr.get()
    require_held(f"clip: {name}", bound, dtype)
    return ir.IntegerAttr.get(_bound_type(int(bound)), int(bound))


def _bound_type(value: int) -> ir.Type:
    """``i64``, or ``ui64`` for values that only uint64 holds."""
    is_wide = value > np.iinfo(np.int64).max
    return ir.IntegerType.get_unsigned(64) if is_wide else ir.IntegerType.get_signless(64)
