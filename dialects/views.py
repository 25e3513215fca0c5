"""Views: ops that change the shape of a tensor without moving elements.

They are free at run time.
"""

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, Parameter, RelaxOp, normalize_axes
from relax_mlir.dialects.builders import exported
from relax_mlir.dialects.fields import Operand
from relax_mlir.dialects.number_attributes import ints_attr, maybe_ints_attr
from relax_mlir.dialects.shapes import bind_shape
from relax_mlir.dialects.structure import shape_expr
from relax_mlir.dialects.traits import IsTransparent, IsView, KeptAtR1, KeptInExplicitMemory
from relax_mlir.dialects.types import DimLike, Tensor, as_dim, dim_text, shape_text
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ShapeError, expect
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim

ShapeLike = Value | Sequence[DimLike]


def shape_operand(shape: ShapeLike, what: str = "") -> Value:
    """`shape` as a shape value; unknown entries of a value get symbols."""
    return bind_shape(shape) if isinstance(shape, Value) else shape_expr(shape)


ShapeOperand: TypeAlias = Annotated[
    ir.Value, Parameter(ext.Operand[Any], shape_operand, ShapeLike, "ShapeLike")
]
"""A shape: dimensions, or a shape value."""


class ReshapeOp(
    RelaxOp, name="reshape", traits=[ext.Pure, IsTransparent, IsView, KeptAtR1, KeptInExplicitMemory]
):
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


class FlattenOp(
    RelaxOp, name="flatten", traits=[ext.Pure, IsTransparent, IsView, KeptAtR1, KeptInExplicitMemory]
):
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


class SqueezeOp(
    RelaxOp, name="squeeze", traits=[ext.Pure, IsTransparent, IsView, KeptAtR1, KeptInExplicitMemory]
):
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
