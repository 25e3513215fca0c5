"""Reductions along axes: of all elements, cumulative, and sums that undo a broadcast."""

from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, normalize_axes, normalize_axis
from relax_mlir.dialects.builders import build, exported
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.elementwise import dtype_of
from relax_mlir.dialects.fields import Bool, Int, Ints, Operand, ValueOperand
from relax_mlir.dialects.manipulate import FlipOp
from relax_mlir.dialects.number_attributes import bool_attr, dtype_attr, integers, maybe_int_attr
from relax_mlir.dialects.shapes import FlattenOp, ShapeOperand
from relax_mlir.dialects.traits import OpPatternKind, Order, Reordered, moved_axes, moved_axis
from relax_mlir.dialects.types import Tensor, shape_text
from relax_mlir.dialects.value import Value, create_one, require_insertion_point
from relax_mlir.error import DTypeError, ShapeError, expect
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim


def reduced_axes(args: OpArgs, rank: int) -> list[int]:
    """The axes that a reduction of a tensor of `rank` removes, in ascending order; all if none are given."""
    if args.is_unit("axis"):
        return list(range(rank))
    axis = args.attrs["axis"]
    axes = [args.int_attr("axis")] if isinstance(axis, ir.IntegerAttr) else args.ints_attr("axis")
    return sorted(normalize_axes(args.op, axes, rank))


def reduced_shape(args: OpArgs) -> tuple[Dim | None, ...] | None:
    """Shape rule of reductions: the axes are removed, or 1 with `keepdims`."""
    shape = args.tensor(0).shape
    if shape is None:
        return () if args.is_unit("axis") and not args.bool_attr("keepdims") else None
    axes = reduced_axes(args, len(shape))
    if args.bool_attr("keepdims"):
        return tuple(1 if axis in axes else dim for axis, dim in enumerate(shape))
    return tuple(dim for axis, dim in enumerate(shape) if axis not in axes)


def _order_of_rest(args: OpArgs, order: Order) -> Order:
    """The order of the result of a reduction of permuted data."""
    if args.bool_attr("keepdims"):
        return order
    gone = reduced_axes(args, len(order))
    rest = [axis for axis in range(len(order)) if axis not in gone]
    return tuple(rest.index(axis) for axis in order if axis in rest)


class ReduceOp(RelaxOp):
    """Base of the reductions over any axes: `axis` lists them, ``unit`` means all; the dtype is kept."""

    op_pattern = OpPatternKind.COMM_REDUCE

    x: ValueOperand
    axis: Ints | None = None
    keepdims: Bool = False
    result: ext.Result[Any]

    @classmethod
    def prepare(cls, what: str, given: dict[str, Any]) -> None:
        x, axis = given["x"], given["axis"]
        expect(f"{what}: operand 'x'", x, Value, "a Relax value")
        if axis is not None:
            axes = integers(axis, f"{what}: 'axis'")
            given["axis"] = axes if x.ndim is None else sorted(normalize_axes(what, axes, x.ndim))

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return Tensor(reduced_shape(args), args.tensor(0).dtype)

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        if args.is_unit("axis"):
            return None
        attributes: dict[str, ir.Attribute] = {"axis": moved_axes(args.attrs["axis"], order)}
        return Reordered((0,), (_order_of_rest(args, order),), attributes)


class ReduceNumberOp(ReduceOp):
    """Base of the reductions of numbers (not bool)."""

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        dtype = args.require_dtype(0, lambda d: d.kind != "bool", "a number; use astype")
        return Tensor(reduced_shape(args), dtype)


class ReduceFloatOp(ReduceOp):
    """Base of the reductions of floating-point numbers. float16 and bfloat16 are accumulated in float32."""

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        dtype = args.require_dtype(0, lambda d: d.is_float, "a float; use astype")
        return Tensor(reduced_shape(args), dtype)


class ArgReduceOp(RelaxOp):
    """Base of argmax and argmin (int64): `axis` is one axis; ``unit`` gives the index in the flattened tensor."""

    op_pattern = OpPatternKind.COMM_REDUCE

    x: ValueOperand
    axis: Int | None = None
    keepdims: Bool = False
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return Tensor(reduced_shape(args), "int64")

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        if args.is_unit("axis"):
            return None
        attributes = {"axis": moved_axis(args.attrs["axis"], order)}
        return Reordered((0,), (_order_of_rest(args, order),), attributes)


class ReduceTruthOp(ReduceOp):
    """Base of logical_any and logical_all, whose result is bool: an element is true unless it is zero; NaN is true."""

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.tensor(0)
        return Tensor(reduced_shape(args), "bool")


class LogicalAllOp(ReduceTruthOp, name="logical_all", traits=[ext.Pure]):
    """True if every element is true, or there are none. Example: ``[[1, 0], [4, 2]]`` with axis ``[1]`` gives
    ``[false, true]``.
    """


class LogicalAnyOp(ReduceTruthOp, name="logical_any", traits=[ext.Pure]):
    """True if any element is true. Example: ``[[1, 0], [0, 0]]`` with axis ``[1]`` gives
    ``[true, false]``.
    """


class ArgmaxOp(ArgReduceOp, name="argmax", traits=[ext.Pure]):
    """Index of the maximum, the first one of several; the first NaN counts as the maximum.

    No elements are an error at run time. Example: ``[3, 7, 7]`` gives ``1``.
    """


class ArgminOp(ArgReduceOp, name="argmin", traits=[ext.Pure]):
    """Index of the minimum, the first one of several; the first NaN counts as the minimum.

    No elements are an error at run time. Example: ``[3, 7, 3]`` gives ``0``.
    """


class LogsumexpOp(ReduceFloatOp, name="logsumexp", traits=[ext.Pure]):
    """``log(sum(exp(x)))`` without overflow; -inf for no elements, NaN if an element is NaN.

    Example: ``[1000.0, 1000.0]`` gives ``1000.6931``.
    """


class MaxOp(ReduceOp, name="max", traits=[ext.Pure]):
    """The maximum; NaN if an element is NaN. No elements are an error at run time.

    Example: ``[[1, 5], [4, 2]]`` with axis ``[1]`` gives ``[5, 4]``.
    """


class MeanOp(ReduceFloatOp, name="mean", traits=[ext.Pure]):
    """The arithmetic mean; NaN for no elements.

    Integers are refused, because their mean is not an integer: use `astype`.

    Example: ``[1.0, 2.0]`` gives ``1.5``.
    """


class MinOp(ReduceOp, name="min", traits=[ext.Pure]):
    """The minimum; NaN if an element is NaN. No elements are an error at run time.

    Example: ``[[1, 5], [4, 2]]`` with axis ``[1]`` gives ``[1, 2]``.
    """


class ProdOp(ReduceNumberOp, name="prod", traits=[ext.Pure]):
    """The product in the tensor's dtype (integers wrap around); 1 for no elements.

    Example: ``[2, 3, 4]`` gives ``24``.
    """


class StdOp(ReduceFloatOp, name="std", traits=[ext.Pure]):
    """The population standard deviation, the square root of `variance`; NaN for no elements.

    Example: ``[1.0, 3.0]`` gives ``1.0``.
    """


class SumOp(ReduceNumberOp, name="sum", traits=[ext.Pure]):
    """The sum in the tensor's dtype (integers wrap around, whereas NumPy widens them); 0 for no elements.

    Example: ``[[1, 5], [4, 2]]`` with axis ``[0]`` gives ``[5, 7]``.
    """


class VarianceOp(ReduceFloatOp, name="variance", traits=[ext.Pure]):
    """The population variance, computed in two passes; NaN for no elements.

    Example: ``[1.0, 3.0]`` gives ``1.0``.
    """


class ScanOp(RelaxOp):
    """Base of cumsum and cumprod.

    `axis` is one axis; ``unit`` flattens the tensor. The elements are first converted to `dtype` (``unit``: that of
    `data`). With `exclusive` the element at the index itself is left out.
    """

    data: ext.Operand[Any]
    axis: ir.IntegerAttr | ir.UnitAttr
    dtype: ir.TypeAttr | ir.UnitAttr
    exclusive: ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data = args.tensor(0)
        args.bool_attr("exclusive")
        return Tensor(_shape(args, data), _dtype(args, data))


def _dtype(args: OpArgs, data: Tensor) -> DType | None:
    if args.is_unit("dtype"):
        return args.require_dtype(0, lambda d: d.kind != "bool", "a number; give a dtype, or use astype")
    dtype = dtype_of(args, "dtype")
    if dtype.kind == "bool":
        raise DTypeError(f"{args.op}: dtype is bool, expected a number")
    return dtype


def _shape(args: OpArgs, data: Tensor) -> tuple[symbolic.Dim | None, ...] | None:
    if args.is_unit("axis"):
        known = data.known_shape
        return (None,) if known is None else (symbolic.product(known),)
    axis = args.int_attr("axis")
    if data.shape is not None:
        normalize_axis(args.op, axis, len(data.shape))
    return data.shape


class CumprodOp(ScanOp, name="cumprod", traits=[ext.Pure]):
    """The product of the elements up to each index along `axis`, in `dtype`; integers wrap around.

    Floats narrower than float64 are multiplied in float64 and rounded when they are stored.

    Example: ``[2, 3, 4]`` gives ``[2, 6, 24]``, with ``exclusive`` ``[1, 2, 6]``.
    """


class CumsumOp(ScanOp, name="cumsum", traits=[ext.Pure]):
    """The sum of the elements up to each index along `axis`, in `dtype`; integers wrap around.

    Floats narrower than float64 are added in float64 and rounded when they are stored.

    Example: ``[1, 2, 3]`` gives ``[1, 3, 6]``, with ``exclusive`` ``[0, 1, 3]``.
    """


def _scan(
    cls: type[ScanOp],
    data: Value,
    axis: int | None,
    dtype: str | DType | None,
    exclusive: bool,
    reverse: bool,
) -> Value:
    name = cls.OPERATION_NAME.removeprefix("relax.")
    require_insertion_point(name)
    attributes = {
        "axis": maybe_int_attr(axis, f"{name}: 'axis'"),
        "dtype": ir.UnitAttr.get() if dtype is None else dtype_attr(dtype),
        "exclusive": bool_attr(exclusive, f"{name}: 'exclusive'"),
    }
    if not bool_attr(reverse, f"{name}: 'reverse'").value:
        return create_one(cls, [data], attributes)
    if axis is None:
        data, axis = build(FlattenOp, data), 0
        attributes["axis"] = maybe_int_attr(axis, f"{name}: 'axis'")
    return build(FlipOp, create_one(cls, [build(FlipOp, data, axis)], attributes), axis)


@exported()
def cumprod(
    data: Value,
    axis: int | None = None,
    dtype: str | DType | None = None,
    exclusive: bool = False,
    reverse: bool = False,
) -> Value:
    """Products of the elements up to each index along `axis`, or from it on with `reverse` (see `CumprodOp`)."""
    return _scan(CumprodOp, data, axis, dtype, exclusive, reverse)


@exported()
def cumsum(
    data: Value,
    axis: int | None = None,
    dtype: str | DType | None = None,
    exclusive: bool = False,
    reverse: bool = False,
) -> Value:
    """Sums of the elements up to each index along `axis`, or from it on with `reverse` (see `CumsumOp`)."""
    return _scan(CumsumOp, data, axis, dtype, exclusive, reverse)


class CollapseSumLikeOp(RelaxOp, name="collapse_sum_like", traits=[ext.Pure]):
    """`data` summed to the shape of `collapse_target`, which broadcasts to that of `data`.

    It sums over the dimensions that the target lacks, and those where the target has size 1. Example: shape
    ``(2, n, 3)`` to ``(n, 1)`` sums over the first and the last dimension.
    """

    op_pattern = OpPatternKind.COMM_REDUCE

    data: Operand
    collapse_target: ValueOperand
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        return _collapsed(args, args.tensor(1).shape)


class CollapseSumToOp(RelaxOp, name="collapse_sum_to", traits=[ext.Pure]):
    """`data` summed to `shape`, a shape value, which broadcasts to that of `data`; see `CollapseSumLikeOp`.

    Example: shape ``(2, n)`` to ``(n,)`` sums over the first dimension.
    """

    op_pattern = OpPatternKind.COMM_REDUCE

    data: Operand
    shape: ShapeOperand
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
        more + axis for axis, (dim, wanted) in enumerate(zip(shape[more:], target, strict=True)) if wanted == 1 != dim
    ]
    return [*range(more), *ones]
