"""Cumulative ops: sums and products of the elements up to each index."""

from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, normalize_axis
from relax_mlir.dialects.cast import dtype_attr, dtype_of
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.number_attributes import bool_attr, maybe_int_attr
from relax_mlir.dialects.repetition import flip
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value, create_one, require_insertion_point
from relax_mlir.dialects.views import flatten
from relax_mlir.error import DTypeError
from relax_mlir.mlir import ext, ir


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

    Example: ``[2, 3, 4]`` gives ``[2, 6, 24]``, with `exclusive` ``[1, 2, 6]``.
    """


class CumsumOp(ScanOp, name="cumsum", traits=[ext.Pure]):
    """The sum of the elements up to each index along `axis`, in `dtype`; integers wrap around.

    Floats narrower than float64 are added in float64 and rounded when they are stored.

    Example: ``[1, 2, 3]`` gives ``[1, 3, 6]``, with `exclusive` ``[0, 1, 3]``.
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
        data, axis = flatten(data), 0
        attributes["axis"] = maybe_int_attr(axis, f"{name}: 'axis'")
    return flip(create_one(cls, [flip(data, axis)], attributes), axis)


def cumprod(
    data: Value,
    axis: int | None = None,
    dtype: str | DType | None = None,
    exclusive: bool = False,
    reverse: bool = False,
) -> Value:
    """Products of the elements up to each index along `axis`, or from it on with `reverse` (see `CumprodOp`)."""
    return _scan(CumprodOp, data, axis, dtype, exclusive, reverse)


def cumsum(
    data: Value,
    axis: int | None = None,
    dtype: str | DType | None = None,
    exclusive: bool = False,
    reverse: bool = False,
) -> Value:
    """Sums of the elements up to each index along `axis`, or from it on with `reverse` (see `CumsumOp`)."""
    return _scan(CumsumOp, data, axis, dtype, exclusive, reverse)
