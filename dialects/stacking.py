"""Tensors combined along new dimensions: stack, meshgrid, outer."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, normalize_axis
from relax_mlir.dialects.dtypes import DType, promote
from relax_mlir.dialects.gather import check_equal, tuple_of
from relax_mlir.dialects.number_attributes import int_attr, text_attr
from relax_mlir.dialects.pattern_kinds import OpPatternKind
from relax_mlir.dialects.types import StructInfo, Tensor, Tuple
from relax_mlir.dialects.value import Value, ValueLike, as_values, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim


class StackOp(RelaxOp, name="stack", traits=[ext.Pure]):
    """Tensors of equal shape, in a tuple, joined along a new dimension, which is `axis` of the result.

    Example: ``[1, 2]`` and ``[3, 4]`` along axis 1 give ``[[1, 3], [2, 4]]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    tensors: ext.Operand[Any]
    axis: ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        tensors = args.tuple_of_tensors(0)
        if not tensors:
            raise ArgumentError(f"{args.op}: no tensors given")
        dtype = _common_dtype(args, tensors)
        known = [tensor.shape for tensor in tensors if tensor.shape is not None]
        if not known:
            return Tensor(None, dtype)
        rank = len(known[0])
        axis = normalize_axis(args.op, args.int_attr("axis"), rank + 1)
        dims: list[Dim | None] = list(known[0])
        for number, tensor in enumerate(tensors):
            if tensor.shape is None:
                continue
            if len(tensor.shape) != rank:
                raise ShapeError(f"{args.op}: operand 'tensors[{number}]' is {tensor}, expected rank {rank}")
            for place, (first, other) in enumerate(zip(dims, tensor.shape, strict=True)):
                check_equal(
                    args, f"dimension {place} of the first tensor and of 'tensors[{number}]'", first, other
                )
                dims[place] = other if first is None else first
        return Tensor((*dims[:axis], len(tensors), *dims[axis:]), dtype)


class MeshgridOp(RelaxOp, name="meshgrid", traits=[ext.Pure]):
    """For each tensor of a tuple, of rank 1 or 0, its elements along its dimension of the common grid.

    `indexing` ``ij`` orders the dimensions like the tensors; ``xy`` swaps the first two, as NumPy's default.
    Example: ``[1, 2]`` and ``[3, 4, 5]`` give ``[[1, 1, 1], [2, 2, 2]]`` and ``[[3, 4, 5], [3, 4, 5]]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    tensors: ext.Operand[Any]
    indexing: ir.StringAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        tensors = args.tuple_of_tensors(0)
        if not tensors:
            raise ArgumentError(f"{args.op}: no tensors given")
        sizes: list[Dim | None] = []
        for number, tensor in enumerate(tensors):
            if tensor.ndim is not None and tensor.ndim > 1:
                raise ShapeError(f"{args.op}: operand 'tensors[{number}]' is {tensor}, expected rank 1 or 0")
            sizes.append(None if tensor.shape is None else tensor.shape[0] if tensor.shape else 1)
        shape = [sizes[number] for number in grid_order(args, len(tensors))]
        found: list[StructInfo] = [Tensor(shape, tensor.dtype) for tensor in tensors]
        return Tuple(found)


def grid_order(args: OpArgs, count: int) -> list[int]:
    """The index of the tensor of each grid dimension."""
    indexing = args.str_attr("indexing")
    if indexing not in ("ij", "xy"):
        raise ArgumentError(f"{args.op}: indexing is '{indexing}', expected ij or xy")
    order = list(range(count))
    if indexing == "xy" and count > 1:
        order[:2] = [1, 0]
    return order


class OuterOp(RelaxOp, name="outer", traits=[ext.Pure]):
    """The outer product: all products of an element of the vector `x1` and one of the vector `x2`.

    Example: ``[1, 2]`` and ``[3, 4]`` give ``[[3, 4], [6, 8]]``.
    """

    op_pattern = OpPatternKind.BROADCAST

    x1: ext.Operand[Any]
    x2: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        tensors = args.tensors()
        for index, tensor in enumerate(tensors):
            args.require_dtype(index, lambda d: d.kind != "bool", "a number; use astype")
            if tensor.ndim not in (None, 1):
                raise ShapeError(f"{args.op}: operand '{args.name_of(index)}' is {tensor}, expected a vector")
        return Tensor([t.shape[0] if t.shape else None for t in tensors], _common_dtype(args, tensors))


def _common_dtype(args: OpArgs, tensors: Sequence[Tensor]) -> DType | None:
    """The common dtype of all tensors of known dtype."""
    dtype: DType | None = None
    for tensor in tensors:
        if dtype is not None and tensor.dtype is not None:
            promote(dtype, tensor.dtype, args.op)
        dtype = dtype or tensor.dtype
    return dtype


def stack(tensors: Value | Sequence[ValueLike], axis: int = 0) -> Value:
    """`tensors` (a sequence, or a tuple value) joined along a new dimension (see `StackOp`)."""
    require_insertion_point("stack")
    return create_one(
        StackOp, [tuple_of("stack", tensors, "tensors")], {"axis": int_attr(axis, "stack: 'axis'")}
    )


def meshgrid(tensors: Value | Sequence[ValueLike], indexing: str = "ij") -> Value:
    """A tuple of grids of the elements of vectors (see `MeshgridOp`)."""
    require_insertion_point("meshgrid")
    attributes = {"indexing": text_attr(indexing, "meshgrid: 'indexing'")}
    return create_one(MeshgridOp, [tuple_of("meshgrid", tensors, "tensors")], attributes)


def outer(x1: ValueLike, x2: ValueLike) -> Value:
    """The outer product of two vectors (see `OuterOp`)."""
    return create_one(OuterOp, as_values(x1, x2, of=OuterOp))
