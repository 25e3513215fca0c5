"""Sorting: sort, argsort, topk."""

from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, normalize_axis
from relax_mlir.dialects.cast import dtype_attr, dtype_of
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.number_attributes import bool_attr, int_attr, text_attr
from relax_mlir.dialects.types import StructInfo, Tensor, Tuple
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.mlir import ext, ir

RETURNED = ("both", "values", "indices")
"""The values of `ret_type` of `topk`."""


class SortOp(RelaxOp, name="sort", traits=[ext.Pure]):
    """The elements of `data` along `axis` in ascending or descending order; NaN counts as the maximum.

    Example: ``[3, 1, 2]`` gives ``[1, 2, 3]``.
    """

    data: ext.Operand[Any]
    axis: ir.IntegerAttr
    descending: ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.bool_attr("descending")
        return _sortable(args)


class ArgsortOp(RelaxOp, name="argsort", traits=[ext.Pure]):
    """The indices of the elements of `data` along `axis` in the order of `sort`, as integers of `dtype`.

    The sort is stable. Example: ``[3, 1, 2]`` gives ``[1, 2, 0]``.
    """

    data: ext.Operand[Any]
    axis: ir.IntegerAttr
    descending: ir.IntegerAttr
    dtype: ir.TypeAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.bool_attr("descending")
        return _sortable(args).with_dtype(_integers(args))


class TopkOp(RelaxOp, name="topk", traits=[ext.Pure]):
    """The `k` largest elements of `data` along `axis`, or the smallest with `largest` false, the best first.

    `ret_type` ``both`` gives a tuple of the elements and their indices of `dtype`; ``values`` and ``indices`` give one
    of these. `k` of 0 or less, or above the number of elements, means all. Equal elements keep their order; NaN counts
    as the maximum.

    Example: ``[3, 1, 2]`` with k 2 gives ``[3, 2]`` and ``[0, 2]``.
    """

    data: ext.Operand[Any]
    k: ir.IntegerAttr
    axis: ir.IntegerAttr
    ret_type: ir.StringAttr
    largest: ir.IntegerAttr
    dtype: ir.TypeAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.bool_attr("largest")
        data, k, kind = _sortable(args), args.int_attr("k"), args.str_attr("ret_type")
        if kind not in RETURNED:
            raise ArgumentError(f"{args.op}: ret_type is '{kind}', expected one of {', '.join(RETURNED)}")
        if data.shape is not None and k > 0:
            axis = args.int_attr("axis") % len(data.shape)
            size = data.shape[axis]
            kept = None if size is None else symbolic.minimum(size, k)
            data = Tensor([kept if i == axis else d for i, d in enumerate(data.shape)], data.dtype)
        found: dict[str, StructInfo] = {"values": data, "indices": data.with_dtype(_integers(args))}
        return Tuple(list(found.values())) if kind == "both" else found[kind]


def _sortable(args: OpArgs) -> Tensor:
    """The operand, after checking that it has the axis."""
    data = args.tensor(0)
    if data.ndim == 0:
        raise ShapeError(f"{args.op}: operand 'data' is {data}, expected at least one dimension")
    if data.ndim is not None:
        normalize_axis(args.op, args.int_attr("axis"), data.ndim)
    return data


def _integers(args: OpArgs) -> DType:
    dtype = dtype_of(args, "dtype")
    if not dtype.is_integer:
        raise DTypeError(f"{args.op}: dtype is {dtype}, expected integers for indices")
    return dtype


def sort(data: ValueLike, axis: int = -1, descending: bool = False) -> Value:
    """The elements of `data` sorted along `axis` (see `SortOp`)."""
    require_insertion_point("sort")
    attributes = {
        "axis": int_attr(axis, "sort: 'axis'"),
        "descending": bool_attr(descending, "sort: 'descending'"),
    }
    return create_one(SortOp, [as_value(data)], attributes)


def argsort(data: ValueLike, axis: int = -1, descending: bool = False, dtype: str | DType = "int32") -> Value:
    """The indices that sort `data` along `axis` (see `ArgsortOp`)."""
    require_insertion_point("argsort")
    attributes = {
        "axis": int_attr(axis, "argsort: 'axis'"),
        "descending": bool_attr(descending, "argsort: 'descending'"),
        "dtype": dtype_attr(dtype),
    }
    return create_one(ArgsortOp, [as_value(data)], attributes)


def topk(
    data: ValueLike,
    k: int = 1,
    axis: int = -1,
    ret_type: str = "both",
    largest: bool = True,
    dtype: str | DType = "int32",
) -> Value:
    """The `k` largest or smallest elements of `data` along `axis` (see `TopkOp`)."""
    require_insertion_point("topk")
    attributes = {
        "k": int_attr(k, "topk: 'k'"),
        "axis": int_attr(axis, "topk: 'axis'"),
        "ret_type": text_attr(ret_type, "topk: 'ret_type'"),
        "largest": bool_attr(largest, "topk: 'largest'"),
        "dtype": dtype_attr(dtype),
    }
    return create_one(TopkOp, [as_value(data)], attributes)
