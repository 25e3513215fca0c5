"""Elements selected by tensors of indices: gather_elements, gather_nd, index_tensor.

Negative indices count from the end. An index out of range fails at run time, with the op, its source location and the
index.
"""

from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, broadcast, normalize_axis
from relax_mlir.dialects.number_attributes import int_attr
from relax_mlir.dialects.pattern_kinds import OpPatternKind
from relax_mlir.dialects.structure import make_tuple
from relax_mlir.dialects.types import Tensor, Tuple, shape_text
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim


class GatherElementsOp(RelaxOp, name="gather_elements", traits=[ext.Pure]):
    """The element of `data` at each position of `indices`, except that the index along `axis` is the value there.

    `indices` has the rank of `data`, and outside of `axis` at most its sizes. This is ONNX's GatherElements and torch's
    gather. Negative indices count from the end; an index out of range fails at run time.

    Example: ``[[1, 2], [3, 4]]`` with indices ``[[0, 0], [1, 0]]`` along axis 1 gives ``[[1, 1], [4, 3]]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    data: ext.Operand[Any]
    indices: ext.Operand[Any]
    axis: ir.IntegerAttr
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

    data: ext.Operand[Any]
    indices: ext.Operand[Any]
    batch_dims: ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data, indices, batch = args.tensor(0), index_operand(args, 1), args.int_attr("batch_dims")
        if batch < 0:
            raise ArgumentError(f"{args.op}: batch_dims is {batch}, expected an integer from 0 on")
        if indices.ndim is not None and indices.ndim <= batch:
            raise ShapeError(
                f"{args.op}: operand 'indices' is {indices}, expected more than {batch} dimensions"
            )
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

    data: ext.Operand[Any]
    indices: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data = args.tensor(0)
        common, count = common_shape(args, 1, data)
        if common is None or data.shape is None:
            return Tensor(None, data.dtype)
        return Tensor((*common, *data.shape[count:]), data.dtype)


def index_operand(args: OpArgs, index: int) -> Tensor:
    """Tensor operand `index`, which must hold integers."""
    args.require_dtype(index, lambda d: d.is_integer, "an integer")
    return args.tensor(index)


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
        raise ShapeError(
            f"{args.op}: operand 'indices' is {indices}, expected the {rank} dimensions of 'data', {data}"
        )
    for number, (has, wanted) in enumerate(zip(data.shape, indices.shape, strict=True)):
        if number == axis or has is None or wanted is None:
            continue
        if symbolic.prove_less_equal(has + 1, wanted):
            raise ShapeError(
                f"{args.op}: dimension {number} of 'indices' is {wanted}, more than {has}, that of 'data'"
            )


def check_equal(args: OpArgs, what: str, first: Dim | None, second: Dim | None) -> None:
    """Raise `ShapeError` unless two dimensions that are known are provably equal."""
    if first is None or second is None or symbolic.prove_equal(first, second):
        return
    hint = "" if symbolic.prove_not_equal(first, second) else ", not known to be equal; match_shape one first"
    raise ShapeError(f"{args.op}: {what} are {first} and {second}{hint}")


def check_equal_shapes(
    args: OpArgs, what: str, found: Sequence[Dim | None] | None, expected: Sequence[Dim | None]
) -> None:
    """Raise `ShapeError` unless the shape of operand `what`, if it is known, is provably `expected`."""
    if found is None:
        return
    if len(found) != len(expected):
        raise ShapeError(
            f"{args.op}: operand '{what}' has shape {shape_text(found)}, expected {shape_text(expected)}"
        )
    for axis, (own, wanted) in enumerate(zip(found, expected, strict=True)):
        where = f"dimension {axis} of '{what}' and what is expected, {shape_text(expected)},"
        check_equal(args, where, own, wanted)


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
            raise DTypeError(
                f"{args.op}: operand 'indices[{number}]' has dtype {tensor.dtype}, expected an integer"
            )
    if data.ndim is not None and len(indices) > data.ndim:
        raise ShapeError(f"{args.op}: {len(indices)} tensors of indices for 'data', which is {data}")
    return broadcast(args.op, *(tensor.shape for tensor in indices)), len(indices)


def tuple_of(name: str, tensors: Value | Sequence[ValueLike], what: str) -> Value:
    """A sequence of tensors, a tuple value, or one tensor, as a tuple value."""
    if isinstance(tensors, Value):
        return tensors if isinstance(tensors.struct_info, Tuple) else make_tuple(tensors)
    if not isinstance(tensors, list | tuple):
        raise ArgumentError(f"{name}: '{what}' is {tensors!r:.60}, expected tensors or a tuple of them")
    return make_tuple(*map(as_value, tensors))


def gather_elements(data: ValueLike, indices: ValueLike, axis: int = 0) -> Value:
    """The elements of `data` at `indices` along `axis` (see `GatherElementsOp`)."""
    require_insertion_point("gather_elements")
    attributes = {"axis": int_attr(axis, "gather_elements: 'axis'")}
    return create_one(GatherElementsOp, [as_value(data), as_value(indices)], attributes)


def gather_nd(data: ValueLike, indices: ValueLike, batch_dims: int = 0) -> Value:
    """The elements or sub-tensors of `data` at index vectors (see `GatherNdOp`)."""
    require_insertion_point("gather_nd")
    attributes = {"batch_dims": int_attr(batch_dims, "gather_nd: 'batch_dims'")}
    return create_one(GatherNdOp, [as_value(data), as_value(indices)], attributes)


def index_tensor(data: ValueLike, indices: Value | Sequence[ValueLike]) -> Value:
    """``data[i, j, …]`` for tensors of indices (see `IndexTensorOp`)."""
    require_insertion_point("index_tensor")
    return create_one(IndexTensorOp, [as_value(data), tuple_of("index_tensor", indices, "indices")])
