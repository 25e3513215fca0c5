"""Shapes as values, computed at run time, and views, which change the shape of a tensor without moving elements."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, Parameter, RelaxOp, normalize_axes
from relax_mlir.dialects.builders import build, exported
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.elementwise import AddOp
from relax_mlir.dialects.fields import Operand, ValueOperand
from relax_mlir.dialects.number_attributes import ints_attr, maybe_ints_attr
from relax_mlir.dialects.structure import MatchShapeOp, match_shape, shape_expr, shape_of
from relax_mlir.dialects.symbols import fresh_symbols
from relax_mlir.dialects.traits import (
    EVERY_FORM,
    IsTransparent,
    IsView,
    KeptAtR1,
    KeptInExplicitMemory,
    ReadsTensors,
)
from relax_mlir.dialects.types import DimLike, Shape, Tensor, as_dim, dim_text, shape_text, struct_info
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, ShapeError, expect
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim

# Views: ops that change the shape of a tensor without moving elements.
#
# They are free at run time.


ShapeLike = Value | Sequence[DimLike]


def shape_operand(shape: ShapeLike, what: str = "") -> Value:
    """`shape` as a shape value; unknown entries of a value get symbols."""
    return bind_shape(shape) if isinstance(shape, Value) else shape_expr(shape)


ShapeOperand: TypeAlias = Annotated[ir.Value, Parameter(ext.Operand[Any], shape_operand, ShapeLike, "ShapeLike")]
"""A shape: dimensions, or a shape value."""


class ReshapeOp(RelaxOp, name="reshape", traits=[ext.Pure, IsTransparent, IsView, KeptAtR1, KeptInExplicitMemory]):
    """The elements of `x` in row-major order, in another shape of equal size; a view.

    If the sizes are not provably equal, they are compared at run time (`ShapeError`).

    Example: shapes ``(b, s, 384)`` and ``(b, s, 12, 32)``.
    """

    x: ext.Operand[Any]
    shape: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x, shape = args.tensor(0), args.shape(1)
        result = Tensor(shape.values, x.dtype)
        old, new = x.known_shape, result.known_shape
        if old is None or new is None:
            return result
        counts = symbolic.product(old), symbolic.product(new)
        if symbolic.prove_not_equal(*counts):
            raise ShapeError(
                f"{args.op}: shape {shape_text(old)} has {counts[0]} elements, {shape_text(new)} has {counts[1]}"
            )
        return result


class FlattenOp(RelaxOp, name="flatten", traits=[ext.Pure, IsTransparent, IsView, KeptAtR1, KeptInExplicitMemory]):
    """The elements of `x` in row-major order as a vector; a view. Example: ``(n, 4)`` gives ``(4*n,)``."""

    x: Operand
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x = args.tensor(0)
        known = x.known_shape
        return Tensor((None,) if known is None else (symbolic.product(known),), x.dtype)


class ExpandDimsOp(
    RelaxOp, name="expand_dims", traits=[ext.Pure, IsTransparent, IsView, KeptAtR1, KeptInExplicitMemory]
):
    """`x` with dimensions of size 1 inserted, so that they are `axes` of the result; a view.

    Example: ``(n, m)`` with axes ``[1, 2]`` gives ``(n, 1, 1, m)``.
    """

    x: ext.Operand[Any]
    axes: ir.ArrayAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x, axes = args.tensor(0), args.ints_attr("axes")
        if x.shape is None:
            return x
        rank = len(x.shape) + len(axes)
        inserted = set(normalize_axes(args.op, axes, rank))
        rest = iter(x.shape)
        return Tensor([1 if axis in inserted else next(rest) for axis in range(rank)], x.dtype)


class SqueezeOp(RelaxOp, name="squeeze", traits=[ext.Pure, IsTransparent, IsView, KeptAtR1, KeptInExplicitMemory]):
    """`x` without the dimensions `axes`, which must be provably 1; a view.

    ``unit`` for `axes` removes the dimensions that are the constant 1. Unknown dimensions are checked at run time.
    Example: ``(n, 1, 1)`` gives ``(n,)``.
    """

    x: ext.Operand[Any]
    axes: ir.ArrayAttr | ir.UnitAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x = args.tensor(0)
        if x.shape is None:
            return x
        if args.is_unit("axes"):
            if None in x.shape:
                return Tensor(None, x.dtype)
            return Tensor([d for d in x.shape if d != 1], x.dtype)
        axes = normalize_axes(args.op, args.ints_attr("axes"), len(x.shape))
        for axis in axes:
            dim = x.shape[axis]
            if dim is not None and not symbolic.prove_equal(dim, 1):
                is_other = symbolic.prove_not_equal(dim, 1)
                raise ShapeError(
                    f"{args.op}: dimension {axis} of {shape_text(x.shape)} is {dim_text(dim)}, "
                    + ("not 1" if is_other else "which is not provably 1; match_shape it first")
                )
        return Tensor([d for axis, d in enumerate(x.shape) if axis not in axes], x.dtype)


# -- builders --------------------------------------------------------------------------------------------------


@exported()
def reshape(x: ValueLike, shape: ShapeLike) -> Value:
    """`x` in another shape of equal size (see `ReshapeOp`); one dimension may be -1, which is deduced."""
    value = as_value(x)
    if not isinstance(shape, Value):
        expect("reshape: 'shape'", shape, list | tuple, "a shape: a list or tuple of dimensions")
        shape = shape_expr(_deduced(value.tensor_info, shape))
    return create_one(ReshapeOp, [value, bind_shape(shape)])


def _deduced(x: Tensor, shape: Sequence[DimLike]) -> list[DimLike]:
    """`shape` with -1 replaced by the remaining factor of the number of elements."""
    wild = [i for i, dim in enumerate(shape) if isinstance(dim, int) and dim == -1]
    if not wild:
        return list(shape)
    if len(wild) > 1:
        raise ShapeError(f"reshape: shape {tuple(shape)} has more than one -1")
    rest: Dim = 1
    for i, item in enumerate(shape):
        dim = 1 if i == wild[0] else as_dim(item)
        if dim is None:
            raise ShapeError(f"reshape: dimension {i} is unknown; -1 cannot be deduced from it")
        rest = rest * dim
    if x.known_shape is None:
        raise ShapeError(f"reshape: -1 cannot be deduced from {x}; match_shape it first")
    total = symbolic.product(x.known_shape)
    if rest == 0 or not symbolic.prove_divisible(total, rest):
        raise ShapeError(
            f"reshape: -1 cannot be deduced: {shape_text(x.known_shape)} has {total} elements, "
            f"which is not provably a multiple of {rest}"
        )
    return [total // rest if i == wild[0] else dim for i, dim in enumerate(shape)]


@exported()
def expand_dims(x: ValueLike, axis: int | Sequence[int]) -> Value:
    """`x` with dimensions of size 1 at `axis` of the result (see `ExpandDimsOp`)."""
    require_insertion_point("expand_dims")
    return create_one(ExpandDimsOp, [as_value(x)], {"axes": ints_attr(axis, "expand_dims: 'axis'")})


@exported()
def squeeze(x: ValueLike, axis: int | Sequence[int] | None = None) -> Value:
    """`x` without dimensions of size 1 (see `SqueezeOp`)."""
    require_insertion_point("squeeze")
    return create_one(SqueezeOp, [as_value(x)], {"axes": maybe_ints_attr(axis, "squeeze: 'axis'")})


# Shapes computed at run time: as shapes of results, in comparisons, as tensors, and from tensors.


class ShapeEqualOp(RelaxOp, name="shape_equal", traits=[ext.Pure, KeptAtR1, KeptInExplicitMemory]):
    """True if two shape values have equal rank and dimensions: a rank-0 bool tensor.

    Example: ``(n, 4)`` and ``(n, 5)`` give false.
    """

    a: ValueOperand
    b: ValueOperand
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.shape(0), args.shape(1)
        return Tensor((), "bool")


@exported()
def bind_shape(shape: Value) -> Value:
    """`shape` with fresh symbols for its unknown entries, bound by a `match_shape`; unchanged if there are none.

    A shape of unknown rank is unchanged.
    """
    require_insertion_point("bind_shape")
    expect("bind_shape: 'shape'", shape, Value, "a shape value")
    info = shape.struct_info
    if not isinstance(info, Shape):
        raise ArgumentError(f"bind_shape: operand 'shape' is {info}, expected a shape value")
    if info.values is None or None not in info.values:
        return shape
    bound = _bound_before(shape)
    if bound is not None:
        return bound
    names = fresh_symbols(info.values.count(None))
    return match_shape(shape, [names.pop(0) if value is None else value for value in info.values])


def _bound_before(shape: Value) -> Value | None:
    """The result of a `match_shape` of `shape` that is visible at the insertion point, or None."""
    visible = [require_insertion_point("bind_shape").block]
    while (owner := visible[-1].owner.operation).parent is not None:
        visible.append(owner.block)
    for use in shape.ssa.uses:
        user = use.owner.operation
        if user.name == MatchShapeOp.OPERATION_NAME and user.block in visible:
            info = struct_info(user.results[0].type)
            if isinstance(info, Shape) and None not in (info.values or ()):
                return Value(user.results[0])
    return None


@exported()
def shaped(shape: Value, dtype: str | DType = "float32") -> Tensor:
    """Struct info of a tensor whose shape is the value `shape`, for the results of calls.

    ``R.call_tir("f", [x], R.shaped(shape, "float32"))``, where `shape` may come from a packed function. Its unknown
    entries get symbols (see `bind_shape`). Raises `ShapeError` if the rank is unknown.
    """
    info = bind_shape(shape).struct_info
    assert isinstance(info, Shape)
    if info.values is None:
        raise ShapeError("shaped: the rank of the shape is unknown; declare it, Shape(ndim=…), or match_shape it first")
    return Tensor(info.values, dtype)


@exported()
def ewise_add(x1: Value, x2: Value) -> Value:
    """``x1 + x2`` of two tensors of the same shape, without broadcasting.

    If a dimension is not provably equal in both, the tensor with fewer known dimensions gets the shape of the other by
    a `match_shape`. It raises `ShapeError` at run time if they differ, and the pass ``refine-shapes`` propagates it to
    the producer. The rank of one of them must be known.
    """
    require_insertion_point("ewise_add")
    for name, value in (("x1", x1), ("x2", x2)):
        expect(f"ewise_add: operand '{name}'", value, Value, "a Relax value")
    first, second = x1.tensor_info, x2.tensor_info
    if first.shape is None and second.shape is None:
        raise ShapeError("ewise_add: the ranks of both operands are unknown; match_shape one of them first")
    if _unknowns(second) > _unknowns(first):
        return build(AddOp, x1, _like(x2, x1))
    return build(AddOp, _like(x1, x2), x2)


def _unknowns(info: Tensor) -> float:
    return float("inf") if info.shape is None else info.shape.count(None)


def _like(value: Value, other: Value) -> Value:
    """`value`, matched to the shape and dtype of `other` unless they are known to be equal."""
    info, wanted = value.tensor_info, other.tensor_info
    shape = wanted.shape
    assert shape is not None
    if info.shape is not None and _differ(info.shape, shape):
        raise ShapeError(f"ewise_add: shapes {shape_text(info.shape)} and {shape_text(shape)} differ")
    if None in shape:
        bound = bind_shape(shape_of(other)).struct_info
        assert isinstance(bound, Shape) and bound.values is not None
        shape = bound.values
    is_known = info.shape is not None and all(
        have is not None and want is not None and symbolic.prove_equal(have, want)
        for have, want in zip(info.shape, shape, strict=True)
    )
    if is_known and (info.dtype is not None or wanted.dtype is None):
        return value
    told = wanted.dtype if info.dtype is None else None
    return match_shape(value, shape, None if told is None else told.name)


def _differ(a: Sequence[Dim | None], b: Sequence[Dim | None]) -> bool:
    return len(a) != len(b) or any(
        x is not None and y is not None and symbolic.prove_not_equal(x, y) for x, y in zip(a, b, strict=True)
    )


class ShapeToTensorOp(RelaxOp, name="shape_to_tensor", traits=[ext.Pure, *EVERY_FORM]):
    """The values of a shape as an int64 vector. Example: the shape ``(n, 4)`` gives ``[n, 4]``."""

    shape: ValueOperand
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return Tensor((args.shape(0).ndim,), "int64")


class TensorToShapeOp(RelaxOp, name="tensor_to_shape", traits=[ext.Pure, *EVERY_FORM, ReadsTensors]):
    """The elements of an int64 vector as a shape; a `match_shape` of it binds symbols to them.

    A negative element is a `ShapeError` at run time. Example: ``[2, 3]`` gives the shape ``(2, 3)``.
    """

    tensor: ValueOperand
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        tensor = args.tensor(0)
        args.require_dtype(0, lambda d: d.name == "int64", "int64")
        if tensor.shape is None:
            return Shape(None)
        if len(tensor.shape) != 1:
            raise ShapeError(f"{args.op}: operand 'tensor' is {tensor}, expected a vector")
        length = tensor.shape[0]
        return Shape(ndim=length) if isinstance(length, int) else Shape(None)
