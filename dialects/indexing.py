"""Elements read or replaced by index: ``x[i]``, gather, scatter, slices at run-time bounds.

Negative indices count from the end. An index out of range fails at run time, with the op, its source location and the
index. Updates are applied in row-major order: of several to one position, the last one wins.

``x[i]``, ``x[1:3, ::2]`` and ``x[..., None]`` follow NumPy's basic indexing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from relax_mlir import symbolic
from relax_mlir.dialects.base import (
    Inferred,
    OpArgs,
    RelaxOp,
    broadcast,
    check_equal,
    check_equal_shapes,
    dims_in,
    index_operand,
    normalize_axis,
)
from relax_mlir.dialects.builders import exported
from relax_mlir.dialects.fields import Bool, Int, Operand, PeerOperand, Text, TupleOperand
from relax_mlir.dialects.manipulate import TO_THE_END, TO_THE_START, Slice, resolve_slice, strided_slice
from relax_mlir.dialects.number_attributes import (
    dimension,
    int_attr,
    integer,
    known_dimension,
)
from relax_mlir.dialects.shapes import expand_dims, squeeze
from relax_mlir.dialects.structure import match_shape
from relax_mlir.dialects.traits import OpPatternKind, SizedByData
from relax_mlir.dialects.types import DimLike, Prim, Tensor, dims_attr, shape_text
from relax_mlir.dialects.value import (
    Value,
    ValueLike,
    as_values,
    create_one,
    require_insertion_point,
)
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim

END, START = max(TO_THE_END), min(TO_THE_START)


@dataclass
class _Plan:
    """The plan of an index: slices per axis, axes removed by single elements, and new axes."""

    axes: list[int] = field(default_factory=list)
    begin: list[Dim] = field(default_factory=list)
    end: list[Dim] = field(default_factory=list)
    strides: list[int] = field(default_factory=list)
    single: list[int] = field(default_factory=list)
    fresh: list[int] = field(default_factory=list)

    def take(self, axis: int, begin: Dim, end: Dim, stride: int = 1) -> None:
        self.axes.append(axis)
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(stride)


def elements(x: Value, parts: Sequence[object]) -> Value:
    """The elements of tensor `x` at an index of integers, symbolic expressions, slices, ``...`` and None.

    An index out of range is an error, at the latest at run time.

    Raises:
        ShapeError: `x` has an unknown rank, or more indices than dimensions.
        ArgumentError: a part is not an index.
    """
    info = x.tensor_info
    if info.shape is None:
        raise ShapeError(f"the value is {info}; indexing needs its rank: match_shape it first")
    plan = _plan(parts, len(info.shape))
    for axis, begin in zip(plan.axes, plan.begin, strict=True):
        size = info.shape[axis]
        inside = not isinstance(begin, int) or not isinstance(size, int) or -size <= begin < size
        if axis in plan.single and not inside:
            raise ShapeError(f"index {begin} is out of range for dimension {axis} of {info}")
    if plan.axes:
        x = strided_slice(x, plan.axes, plan.begin, plan.end, plan.strides)
    if plan.single:
        x = squeeze(_one_each(x, plan.single), plan.single)
    return expand_dims(x, plan.fresh) if plan.fresh else x


def _plan(parts: Sequence[object], rank: int) -> _Plan:
    plan, axis, position = _Plan(), 0, 0
    taken = sum(part is not None and part is not ... for part in parts)
    if taken > rank:
        raise ShapeError(f"{taken} indices for a tensor of rank {rank}")
    if sum(part is ... for part in parts) > 1:
        raise ArgumentError("an index has one `...`")
    for part in parts:
        if part is None:
            plan.fresh.append(position)
            position += 1
        elif part is ...:
            axis += rank - taken
            position += rank - taken
        elif isinstance(part, slice):
            _slice(part, plan, axis)
            axis, position = axis + 1, position + 1
        else:
            where = _position(part)
            plan.take(axis, where, END if where == -1 else where + 1)
            plan.single.append(axis)
            axis += 1
    return plan


def _slice(part: slice, plan: _Plan, axis: int) -> None:
    step = 1 if part.step is None else integer(part.step, "the step of a slice")
    if step == 0:
        raise ArgumentError("the step of a slice is an int other than 0")
    if part.start is None and part.stop is None and step == 1:
        return
    begin: Dim = (0 if step > 0 else END) if part.start is None else _position(part.start)
    end: Dim = (END if step > 0 else START) if part.stop is None else _position(part.stop)
    plan.take(axis, begin, end, step)


def _position(part: object) -> Dim:
    if isinstance(part, Value) and not isinstance(part.struct_info, Prim):
        raise ArgumentError(
            f"an index is an integer, this is {part.struct_info}; op.take takes the elements that a tensor of "
            "indices says"
        )
    if isinstance(part, Value) and known_dimension(part) is None:
        raise ArgumentError(
            'an index is known at run time only: after match_shape(i, ("k",)) the symbol k stands for it, as in x["k"]'
        )
    if isinstance(part, list | tuple | dict) or (isinstance(part, np.ndarray) and part.ndim):
        raise ArgumentError(
            f"{part!r} is no index: an integer, a symbol, a slice, `...` or None; op.take takes several elements"
        )
    return dimension(part, "an index")


def _one_each(x: Value, axes: list[int]) -> Value:
    """`x` with size 1 along `axes`; sizes that are not proved are checked at run time."""
    shape = x.shape
    if all(shape[axis] == 1 for axis in axes):
        return x
    return match_shape(x, [1 if axis in axes else dim for axis, dim in enumerate(shape)])


class GatherElementsOp(RelaxOp, name="gather_elements", traits=[ext.Pure]):
    """The element of `data` at each position of `indices`, except that the index along `axis` is the value there.

    `indices` has the rank of `data`, and outside of `axis` at most its sizes. This is ONNX's GatherElements and torch's
    gather. Negative indices count from the end; an index out of range fails at run time.

    Example: ``[[1, 2], [3, 4]]`` with indices ``[[0, 0], [1, 0]]`` along axis 1 gives ``[[1, 1], [4, 3]]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    data: Operand
    indices: Operand
    axis: Int = 0
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data, indices = args.tensor(0), index_operand(args, 1)
        check_elements(args, data, indices)
        if indices.shape is None and data.ndim is not None:
            return Tensor((None,) * data.ndim, data.dtype)
        return Tensor(indices.shape, data.dtype)


class GatherNdOp(RelaxOp, name="gather_nd", traits=[ext.Pure]):
    """The elements or sub-tensors of `data` at the index vectors in the last dimension of `indices`.

    Each vector indexes the first dimensions of `data` after `batch_dims` shared batch dimensions. This is ONNX's
    GatherND. Negative indices count from the end; an index out of range fails at run time.

    Example: ``[[1, 2], [3, 4]]`` with indices ``[[0, 1], [1, 0]]`` gives
    ``[2, 3]``, with ``[[1]]`` it gives ``[[3, 4]]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    data: Operand
    indices: Operand
    batch_dims: Int = 0
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data, indices, batch = args.tensor(0), index_operand(args, 1), args.int_attr("batch_dims")
        if batch < 0:
            raise ArgumentError(f"{args.op}: batch_dims is {batch}, expected an integer from 0 on")
        if indices.ndim is not None and indices.ndim <= batch:
            raise ShapeError(f"{args.op}: operand 'indices' is {indices}, expected more than {batch} dimensions")
        count = None if indices.shape is None else indices.shape[-1]
        if data.shape is None or indices.shape is None or count is None:
            return Tensor(None, data.dtype)
        count = vector_length(args, count, len(data.shape) - batch, data)
        for axis, (own, other) in enumerate(zip(data.shape[:batch], indices.shape[:batch], strict=True)):
            check_equal(args, f"batch dimension {axis} of 'data' and 'indices'", own, other)
        return Tensor((*indices.shape[:-1], *data.shape[batch + count :]), data.dtype)


class IndexTensorOp(RelaxOp, name="index_tensor", traits=[ext.Pure]):
    """``data[i, j, …]`` for the tensors of a tuple, which broadcast against each other, as in NumPy.

    The result has their common shape, followed by the dimensions of `data` that are not indexed. Negative indices count
    from the end; an index out of range fails at run time.

    Example: ``[[1, 2], [3, 4]]`` with indices ``([0, 1], [1, 0])`` gives ``[2, 3]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    data: Operand
    indices: TupleOperand
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data = args.tensor(0)
        common, count = common_shape(args, 1, data)
        if common is None or data.shape is None:
            return Tensor(None, data.dtype)
        return Tensor((*common, *data.shape[count:]), data.dtype)


def check_elements(args: OpArgs, data: Tensor, indices: Tensor) -> None:
    """Raise `ShapeError` unless the shape of `indices` for single elements along an axis matches `data`."""
    rank = indices.ndim if data.ndim is None else data.ndim
    if rank is None:
        return
    if rank == 0:
        raise ShapeError(f"{args.op}: operand 'data' is {data}, expected at least one dimension")
    axis = normalize_axis(args.op, args.int_attr("axis"), rank)
    if data.shape is None or indices.shape is None:
        return
    if len(indices.shape) != rank:
        raise ShapeError(f"{args.op}: operand 'indices' is {indices}, expected the {rank} dimensions of 'data', {data}")
    for number, (has, wanted) in enumerate(zip(data.shape, indices.shape, strict=True)):
        if number == axis or has is None or wanted is None:
            continue
        if symbolic.prove_less_equal(has + 1, wanted):
            raise ShapeError(f"{args.op}: dimension {number} of 'indices' is {wanted}, more than {has}, that of 'data'")


def vector_length(args: OpArgs, count: Dim, most: int, data: Tensor) -> int:
    """The last dimension of the indices: the number of dimensions of `data` that they index."""
    if not isinstance(count, int):
        raise ShapeError(
            f"{args.op}: the last dimension of 'indices' is {count}, expected a number: it says how many dimensions of "
            "'data' are indexed; match_shape the indices first"
        )
    if count > most:
        raise ShapeError(f"{args.op}: the vectors of 'indices' have {count} places, 'data' is {data}")
    return count


def common_shape(args: OpArgs, index: int, data: Tensor) -> tuple[tuple[Dim | None, ...] | None, int]:
    """The broadcast shape of the tensors of tuple operand `index` (None: unknown), and their number."""
    indices = args.tuple_of_tensors(index)
    if not indices:
        raise ArgumentError(f"{args.op}: operand 'indices' is an empty tuple, expected tensors of indices")
    for number, tensor in enumerate(indices):
        if tensor.dtype is not None and not tensor.dtype.is_integer:
            raise DTypeError(f"{args.op}: operand 'indices[{number}]' has dtype {tensor.dtype}, expected an integer")
    if data.ndim is not None and len(indices) > data.ndim:
        raise ShapeError(f"{args.op}: {len(indices)} tensors of indices for 'data', which is {data}")
    return broadcast(args.op, *(tensor.shape for tensor in indices)), len(indices)


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

    data: PeerOperand
    indices: Operand
    updates: PeerOperand
    axis: Int = 0
    reduction: Text = "update"
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

    data: PeerOperand
    indices: Operand
    updates: PeerOperand
    reduction: Text = "update"
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

    data: PeerOperand
    indices: TupleOperand
    values: PeerOperand
    accumulate: Bool = False
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
        raise DTypeError(f"{args.op}: operand 'data' has dtype bool, which the reduction '{reduction}' does not take")


def _check_broadcasts(args: OpArgs, values: Sequence[Dim | None], whole: Sequence[Dim | None]) -> None:
    """Raise `ShapeError` unless `values` broadcasts to `whole`, as far as both are known."""
    shapes = f"operand 'values' has shape {shape_text(values)}, which does not broadcast to {shape_text(whole)}"
    if len(values) > len(whole):
        raise ShapeError(f"{args.op}: {shapes}")
    for own, wanted in zip(values, whole[len(whole) - len(values) :], strict=True):
        if own is None or wanted is None or own == 1 or symbolic.prove_equal(own, wanted):
            continue
        sure = isinstance(own, int) and symbolic.prove_not_equal(own, wanted)
        hint = "" if sure else f": cannot tell whether {own} equals {wanted}; match_shape one first"
        raise ShapeError(f"{args.op}: {shapes}{hint}")


class DynamicStridedSliceOp(RelaxOp, name="dynamic_strided_slice", traits=[ext.Pure, SizedByData]):
    """``x[begin:end:strides]`` along each dimension, where all three are vectors of integers, one per dimension.

    Negative and large bounds work as in Python. A stride of 0 fails at run time. The size of the result is known only
    at run time. For bounds that are integers or symbolic expressions, use `strided_slice`.

    Example: ``[1, 2, 3, 4, 5]`` with begin ``[-1]``, end ``[0]``, strides ``[-2]`` gives ``[5, 3]``.
    """

    x: Operand
    begin: Operand
    end: Operand
    strides: Operand
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x = args.tensor(0)
        rank = x.ndim
        for index in (1, 2, 3):
            vector = index_operand(args, index)
            if vector.ndim not in (None, 1):
                raise ShapeError(f"{args.op}: operand '{args.name_of(index)}' is {vector}, expected a vector")
            if vector.shape is not None and rank is not None:
                what = f"the length of '{args.name_of(index)}' and the rank of 'x'"
                check_equal(args, what, vector.shape[0], rank)
            elif vector.shape is not None and isinstance(vector.shape[0], int):
                rank = vector.shape[0]
        return Tensor(None if rank is None else (None,) * rank, x.dtype)


class SliceScatterOp(RelaxOp, name="slice_scatter", traits=[ext.Pure]):
    """`input` with the slice ``start:end:step`` along `axis` replaced by `src`.

    `start` and `end` are integers or symbolic expressions, with negative and large bounds as in Python; `step` is 1 or
    more. `src` has the shape of the slice.

    Example: ``[1, 2, 3, 4]`` with src ``[8, 9]``, start 0, end 4, step 2 gives ``[8, 2, 9, 4]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    input: ext.Operand[Any]
    src: ext.Operand[Any]
    start: ir.StringAttr | ir.IntegerAttr
    end: ir.StringAttr | ir.IntegerAttr
    step: ir.IntegerAttr
    axis: ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("start", "end")

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        whole, src, step = args.tensor(0), args.tensor(1), args.int_attr("step")
        if step < 1:
            raise ArgumentError(f"{args.op}: step is {step}, expected an integer from 1 on")
        if whole.ndim == 0:
            raise ShapeError(f"{args.op}: operand 'input' is {whole}, expected at least one dimension")
        if whole.shape is not None:
            axis = normalize_axis(args.op, args.int_attr("axis"), len(whole.shape))
            part = replaced_slice(args, whole.shape[axis])
            shape = list(whole.shape)
            shape[axis] = None if part is None else part.size
            check_equal_shapes(args, "src", src.shape, shape)
        return updated(args, whole, src, 1)


def replaced_slice(args: OpArgs, size: Dim | None) -> Slice | None:
    """The slice of a dimension of `size` that is replaced; None if the size is unknown."""
    ends: list[Dim] = []
    for name in ("start", "end"):
        found = list(dims_in(args.attrs[name]))
        if len(found) != 1 or found[0] is None:
            raise ArgumentError(f"{args.op}: {name} {args.attrs[name]} is not one integer or expression")
        ends.append(found[0])
    start, end = ends
    return None if size is None else resolve_slice(start, end, args.int_attr("step"), size)


@exported()
def slice_scatter(
    input_tensor: ValueLike, src: ValueLike, start: DimLike, end: DimLike, step: int = 1, axis: int = 0
) -> Value:
    """`input_tensor` with a slice along `axis` replaced by `src` (see `SliceScatterOp`).

    If the size of `src` is not known to be that of the slice, a `match_shape` checks it at run time.
    """
    require_insertion_point("slice_scatter")
    whole, new = as_values(input_tensor, src, of=SliceScatterOp)
    attributes = {
        "start": dims_attr([dimension(start, "slice_scatter: 'start'")])[0],
        "end": dims_attr([dimension(end, "slice_scatter: 'end'")])[0],
        "step": int_attr(step, "slice_scatter: 'step'"),
        "axis": int_attr(axis, "slice_scatter: 'axis'"),
    }
    return create_one(SliceScatterOp, [whole, _matched(whole, new, attributes)], attributes)


def _matched(whole: Value, src: Value, attributes: dict[str, ir.Attribute]) -> Value:
    """`src`, matched with the size of the slice unless that is known to differ."""
    infos = [whole.struct_info, src.struct_info]
    if not all(isinstance(info, Tensor) and info.shape for info in infos):
        return src
    shape, dims = whole.tensor_info.shape, src.tensor_info.shape
    args = OpArgs("slice_scatter", SliceScatterOp.operand_names(), infos, attributes)
    assert shape is not None and dims is not None
    if len(shape) != len(dims) or args.int_attr("step") < 1:
        return src
    axis = normalize_axis(args.op, args.int_attr("axis"), len(shape))
    part, has = replaced_slice(args, shape[axis]), dims[axis]
    if part is None or has is None or symbolic.prove_equal(part.size, has):
        return src
    if symbolic.prove_not_equal(part.size, has):
        return src
    return match_shape(src, [part.size if number == axis else dim for number, dim in enumerate(dims)])
