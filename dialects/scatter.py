"""Updates of elements selected by tensors of indices: scatter_elements, scatter_nd, index_put.

Negative indices count from the end. An index out of range fails at run time, with the op, its source location and the
index. Updates are applied in row-major order: of several to one position, the last one wins.
"""

from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.gather import (
    check_elements,
    check_equal_shapes,
    common_shape,
    index_operand,
    tuple_of,
    vector_length,
)
from relax_mlir.dialects.number_attributes import bool_attr, int_attr, text_attr
from relax_mlir.dialects.types import Tensor, shape_text
from relax_mlir.dialects.value import (
    Value,
    ValueLike,
    as_value,
    as_values,
    create_one,
    require_insertion_point,
)
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim

REDUCTIONS = ("update", "add", "mul", "min", "max", "mean")
"""The effect of an update on an element: replace it, or combine with it."""


class ScatterElementsOp(RelaxOp, name="scatter_elements", traits=[ext.Pure]):
    """`data` with each of `updates` written at its own position, except that `indices` gives the index along `axis`.

    `indices` has the rank of `data`, and outside of `axis` at most its sizes; `updates` has the shape of `indices`.
    `reduction` ``update`` replaces elements; ``add``, ``mul``, ``min`` and ``max`` combine with them; ``mean`` gives
    the mean of the element and all its updates, rounded down for integers. This is ONNX's ScatterElements.

    Updates are applied in row-major order: of several to one position, the last one wins. Negative indices count from
    the end; an index out of range fails at run time.

    Example: ``[1, 2, 3]`` with indices ``[2, 0]`` and updates ``[8, 9]`` gives ``[9, 2, 8]``, with ``add``
    ``[10, 2, 11]``.
    """

    data: ext.Operand[Any]
    indices: ext.Operand[Any]
    updates: ext.Operand[Any]
    axis: ir.IntegerAttr
    reduction: ir.StringAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data, indices, updates = args.tensor(0), index_operand(args, 1), args.tensor(2)
        _check_reduction(args, data)
        check_elements(args, data, indices)
        if indices.shape is not None:
            check_equal_shapes(args, "updates", updates.shape, indices.shape)
        return updated(args, data, updates)


class ScatterNdOp(RelaxOp, name="scatter_nd", traits=[ext.Pure]):
    """`data` with `updates` at the index vectors in the last dimension of `indices`.

    Each vector indexes the first dimensions of `data`; `updates` has the other dimensions of `indices`, followed by
    those of `data` that are not indexed. `reduction` (without ``mean``), the order of updates and the range of indices
    are as in `scatter_elements`. This is ONNX's ScatterND.

    Example: ``[1, 2, 3]`` with indices ``[[2], [0]]`` and updates ``[8, 9]`` gives ``[9, 2, 8]``.
    """

    data: ext.Operand[Any]
    indices: ext.Operand[Any]
    updates: ext.Operand[Any]
    reduction: ir.StringAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data, indices, updates = args.tensor(0), index_operand(args, 1), args.tensor(2)
        _check_reduction(args, data, REDUCTIONS[:-1])
        if indices.ndim == 0:
            raise ShapeError(f"{args.op}: operand 'indices' is {indices}, expected at least one dimension")
        count = None if indices.shape is None else indices.shape[-1]
        if data.shape is not None and indices.shape is not None and count is not None:
            count = vector_length(args, count, len(data.shape), data)
            check_equal_shapes(args, "updates", updates.shape, (*indices.shape[:-1], *data.shape[count:]))
        return updated(args, data, updates)


class IndexPutOp(RelaxOp, name="index_put", traits=[ext.Pure]):
    """`data` after ``data[i, j, …] = values`` for the tensors of a tuple, which broadcast against each other.

    `values` broadcasts to their common shape, followed by the dimensions of `data` that are not indexed. With
    `accumulate`, values are added to the elements, as ``numpy.add.at`` does. The order of updates and the range of
    indices are as in `scatter_elements`.

    Example: ``[1, 2, 3]`` with indices ``([0, 0],)`` and values ``[7, 8]`` gives ``[8, 2, 3]``, and ``[16, 2, 3]`` with
    `accumulate`.
    """

    data: ext.Operand[Any]
    indices: ext.Operand[Any]
    values: ext.Operand[Any]
    accumulate: ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data, values = args.tensor(0), args.tensor(2)
        if args.bool_attr("accumulate") and data.dtype is not None and data.dtype.kind == "bool":
            raise DTypeError(f"{args.op}: operand 'data' has dtype bool, expected a number to accumulate")
        common, count = common_shape(args, 1, data)
        if common is not None and data.shape is not None and values.shape is not None:
            _check_broadcasts(args, values.shape, (*common, *data.shape[count:]))
        return updated(args, data, values)


def updated(args: OpArgs, data: Tensor, new: Tensor, index: int = 2) -> Tensor:
    """Struct info of `data`, the first operand, updated with operand `index`, which must have its dtype."""
    if data.dtype is not None and new.dtype is not None and data.dtype != new.dtype:
        raise DTypeError(
            f"{args.op}: operand '{args.name_of(index)}' has dtype {new.dtype}, '{args.name_of(0)}' has {data.dtype}; "
            "use astype"
        )
    return data.with_dtype(new.dtype) if data.dtype is None and new.dtype is not None else data


def _check_reduction(args: OpArgs, data: Tensor, known: Sequence[str] = REDUCTIONS) -> None:
    reduction = args.str_attr("reduction")
    if reduction not in known:
        raise ArgumentError(f"{args.op}: reduction is '{reduction}', expected one of {', '.join(known)}")
    if data.dtype is not None and data.dtype.kind == "bool" and reduction in ("add", "mul", "mean"):
        raise DTypeError(
            f"{args.op}: operand 'data' has dtype bool, which the reduction '{reduction}' does not take"
        )


def _check_broadcasts(args: OpArgs, values: Sequence[Dim | None], whole: Sequence[Dim | None]) -> None:
    """Raise `ShapeError` unless `values` broadcasts to `whole`, as far as both are known."""
    shapes = (
        f"operand 'values' has shape {shape_text(values)}, which does not broadcast to {shape_text(whole)}"
    )
    if len(values) > len(whole):
        raise ShapeError(f"{args.op}: {shapes}")
    for own, wanted in zip(values, whole[len(whole) - len(values) :], strict=True):
        if own is None or wanted is None or own == 1 or symbolic.prove_equal(own, wanted):
            continue
        sure = isinstance(own, int) and symbolic.prove_not_equal(own, wanted)
        hint = "" if sure else f": cannot tell whether {own} equals {wanted}; match_shape one first"
        raise ShapeError(f"{args.op}: {shapes}{hint}")


def scatter_elements(
    data: ValueLike, indices: ValueLike, updates: ValueLike, axis: int = 0, reduction: str = "update"
) -> Value:
    """`data` with `updates` at `indices` along `axis` (see `ScatterElementsOp`)."""
    require_insertion_point("scatter_elements")
    attributes = {
        "axis": int_attr(axis, "scatter_elements: 'axis'"),
        "reduction": text_attr(reduction, "scatter_elements: 'reduction'"),
    }
    return create_one(ScatterElementsOp, _operands(ScatterElementsOp, data, indices, updates), attributes)


def scatter_nd(data: ValueLike, indices: ValueLike, updates: ValueLike, reduction: str = "update") -> Value:
    """`data` with `updates` at index vectors (see `ScatterNdOp`)."""
    require_insertion_point("scatter_nd")
    attributes = {"reduction": text_attr(reduction, "scatter_nd: 'reduction'")}
    return create_one(ScatterNdOp, _operands(ScatterNdOp, data, indices, updates), attributes)


def index_put(
    data: ValueLike, indices: Value | Sequence[ValueLike], values: ValueLike, accumulate: bool = False
) -> Value:
    """`data` after ``data[i, j, …] = values`` (see `IndexPutOp`)."""
    require_insertion_point("index_put")
    old, new = as_values(data, values, of=IndexPutOp, names=("data", "values"))
    places = tuple_of("index_put", indices, "indices")
    attributes = {"accumulate": bool_attr(accumulate, "index_put: 'accumulate'")}
    return create_one(IndexPutOp, [old, places, new], attributes)


def _operands(op: type[RelaxOp], data: ValueLike, indices: ValueLike, updates: ValueLike) -> list[Value]:
    """The operands; a number among `updates` and `data` takes the dtype of the other."""
    old, new = as_values(data, updates, of=op, names=("data", "updates"))
    return [old, as_value(indices), new]
