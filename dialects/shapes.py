"""Shapes computed at run time: as shapes of results, in comparisons, as tensors, and from tensors."""

from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.binary import AddOp
from relax_mlir.dialects.builders import build, exported
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.fields import ValueOperand
from relax_mlir.dialects.structure import MatchShapeOp, match_shape, shape_of
from relax_mlir.dialects.symbols import fresh_symbols
from relax_mlir.dialects.traits import EVERY_FORM, KeptAtR1, KeptInExplicitMemory, ReadsTensors
from relax_mlir.dialects.types import Shape, Tensor, shape_text, struct_info
from relax_mlir.dialects.value import Value, require_insertion_point
from relax_mlir.error import ArgumentError, ShapeError, expect
from relax_mlir.mlir import ext
from relax_mlir.symbolic import Dim


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
        raise ShapeError(
            "shaped: the rank of the shape is unknown; declare it, Shape(ndim=…), or match_shape it first"
        )
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


class SizeOp(RelaxOp, name="size", traits=[ext.Pure]):
    """The number of elements of `input`, an int64 tensor of rank 0. Example: shape ``(n, 4)`` gives ``4*n``."""

    input: ValueOperand
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.tensor(0)
        return Tensor((), "int64")


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
