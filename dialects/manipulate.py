"""Ops that move elements without arithmetic: permutations, slices, joins, gathers."""

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, normalize_axes, normalize_axis
from relax_mlir.dialects.dim_orders import Order, Reordered, along_axis, moved_axes, moved_axis
from relax_mlir.dialects.dtypes import promote
from relax_mlir.dialects.integers import is_integer, prim_to_tensor
from relax_mlir.dialects.number_attributes import (
    bool_attr,
    dimension,
    int_attr,
    ints_attr,
    maybe_int_attr,
    maybe_ints_attr,
    text_attr,
)
from relax_mlir.dialects.pattern_kinds import OpPatternKind
from relax_mlir.dialects.shape_functions import bind_shape
from relax_mlir.dialects.slicing import Slice, resolve_slice
from relax_mlir.dialects.structure import make_tuple, shape_expr
from relax_mlir.dialects.types import DimLike, Tensor, Tuple, dims_attr, shape_text
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.dialects.views import ShapeLike, flatten
from relax_mlir.error import ArgumentError, ShapeError, expect
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim

MAX_SECTIONS = 4096
"""Maximum number of sections, each of which is a value; more are surely a mistake."""

TAKE_MODES = ("clip", "wrap", "nan", "check")
TakeMode = Literal["clip", "wrap", "nan", "check", "fast"]


class PermuteDimsOp(RelaxOp, name="permute_dims", traits=[ext.Pure]):
    """`x` with permuted dimensions: dimension i of the result is dimension ``axes[i]`` of `x`.

    ``unit`` for `axes` reverses them. Example: ``(n, 2, m)`` with axes ``[2, 0, 1]`` gives ``(m, n, 2)``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    x: ext.Operand[Any]
    axes: ir.ArrayAttr | ir.UnitAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x = args.tensor(0)
        if x.shape is None:
            return x if args.is_unit("axes") else Tensor((None,) * len(args.ints_attr("axes")), x.dtype)
        return Tensor([x.shape[axis] for axis in permutation(args, len(x.shape))], x.dtype)


def permutation(args: OpArgs, rank: int) -> list[int]:
    """The axes of `PermuteDimsOp` as non-negative integers; raises `ShapeError` if they are no permutation."""
    if args.is_unit("axes"):
        return list(reversed(range(rank)))
    given = args.ints_attr("axes")
    if len(given) != rank:
        raise ShapeError(
            f"{args.op}: axes {given} are no permutation of the dimensions of a tensor of rank {rank}"
        )
    return normalize_axes(args.op, given, rank)


class BroadcastToOp(RelaxOp, name="broadcast_to", traits=[ext.Pure]):
    """`x` repeated to `shape` by NumPy's rules: its dimensions, aligned at the end, are 1 or provably equal.

    Example: ``(n, 1)`` to ``(2, n, m)``.
    """

    op_pattern = OpPatternKind.BROADCAST

    x: ext.Operand[Any]
    shape: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x, target = args.tensor(0), args.shape(1).values
        if x.shape is None or target is None:
            return Tensor(target, x.dtype)
        lead = len(target) - len(x.shape)
        where = f"{args.op}: shape {shape_text(x.shape)} to {shape_text(target)}"
        if lead < 0:
            raise ShapeError(f"{where}: the target has fewer dimensions")
        for axis, (dim, wanted) in enumerate(zip(x.shape, target[lead:], strict=True)):
            if dim is None or wanted is None or dim == 1 or symbolic.prove_equal(dim, wanted):
                continue
            if symbolic.prove_not_equal(dim, wanted) and isinstance(dim, int):
                raise ShapeError(f"{where}: dimension {axis} is {dim}, neither 1 nor {wanted}")
            raise ShapeError(
                f"{where}: cannot tell whether {dim} equals {wanted}; match_shape the tensor first"
            )
        return Tensor(target, x.dtype)


class ConcatOp(RelaxOp, name="concat", traits=[ext.Pure]):
    """A tuple of tensors joined along `axis`; their other dimensions are equal.

    Example: shapes ``(n, 4)`` and ``(m, 4)`` along axis 0 give ``(m + n, 4)``.
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
        dtype = tensors[0].dtype
        for tensor in tensors[1:]:
            if dtype is not None and tensor.dtype is not None:
                promote(dtype, tensor.dtype, args.op)
            dtype = dtype or tensor.dtype
        known = [t.shape for t in tensors if t.shape is not None]
        if not known:
            return Tensor(None, dtype)
        rank = len(known[0])
        shapes = [(None,) * rank if t.shape is None else t.shape for t in tensors]
        axis = normalize_axis(args.op, args.int_attr("axis"), rank)
        for shape in shapes[1:]:
            if len(shape) != rank:
                raise ShapeError(f"{args.op}: shapes {_texts(shapes)} differ in rank")
        dims = [_joined(args.op, i, axis, [shape[i] for shape in shapes], shapes) for i in range(rank)]
        return Tensor(dims, dtype)

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        return along_axis(args.attrs, order)


def _texts(shapes: Sequence[Sequence[Dim | None]]) -> str:
    return ", ".join(map(shape_text, shapes))


def _joined(
    op: str, index: int, axis: int, dims: Sequence[Dim | None], shapes: Sequence[Sequence[Dim | None]]
) -> Dim | None:
    known = [d for d in dims if d is not None]
    if index == axis:
        total: Dim = 0
        for dim in known:
            total = total + dim
        return total if len(known) == len(dims) else None
    for dim in known[1:]:
        if not symbolic.prove_equal(known[0], dim):
            hint = (
                ""
                if symbolic.prove_not_equal(known[0], dim)
                else "provably equal; match_shape one of them first"
            )
            raise ShapeError(
                f"{op}: shapes {_texts(shapes)}: dimension {index} is {known[0]} and {dim}, which are not "
                + (hint or "equal")
            )
    return known[0] if known else None


class SplitOp(RelaxOp, name="split", traits=[ext.Pure]):
    """`x` split into parts along `axis`; the result is the tuple of the parts.

    `sections`: an integer k gives k parts of ``ceil(size / k)`` elements, of which the last may be shorter or empty. A
    list of ascending indices gives the parts between them, as slices in NumPy (indices beyond the end give empty
    parts).

    Example: ``(n, 6)`` in 3 sections along axis 1 gives three of ``(n, 2)``; at ``[1, 4]`` it gives
    ``(n, 1)``, ``(n, 3)``, ``(n, 2)``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    x: ext.Operand[Any]
    sections: ir.IntegerAttr | ir.ArrayAttr
    axis: ir.IntegerAttr
    parts: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x = args.tensor(0)
        if x.shape is None:
            return Tuple([x] * _part_count(args))
        axis = normalize_axis(args.op, args.int_attr("axis"), len(x.shape))
        results = []
        for part in split_slices(args, x.shape[axis]):
            dims = list(x.shape)
            dims[axis] = None if part is None else part.size
            results.append(Tensor(dims, x.dtype))
        return Tuple(results)

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        attributes = {"axis": moved_axis(args.attrs["axis"], order)}
        return Reordered((0,), (order,) * _part_count(args), attributes)


def _part_count(args: OpArgs) -> int:
    if not isinstance(args.attrs["sections"], ir.IntegerAttr):
        return len(args.ints_attr("sections")) + 1
    count = args.int_attr("sections")
    if not 1 <= count <= MAX_SECTIONS:
        raise ArgumentError(f"{args.op}: sections is {count}, expected at least 1 and at most {MAX_SECTIONS}")
    return count


def split_slices(args: OpArgs, size: Dim | None) -> list[Slice | None]:
    """The slice of each part of `SplitOp`; None if the size of the dimension is unknown."""
    count = _part_count(args)
    if size is None:
        return [None] * count
    if isinstance(args.attrs["sections"], ir.IntegerAttr):
        length = symbolic.ceildiv(size, count)
        if symbolic.prove_divisible(size, count):
            return [Slice(length * i, 1, length) for i in range(count)]
        return [resolve_slice(length * i, length * (i + 1), 1, size) for i in range(count)]
    positions: list[Dim] = [0, *args.ints_attr("sections"), size]
    return [resolve_slice(begin, end, 1, size) for begin, end in itertools.pairwise(positions)]


class TakeOp(RelaxOp, name="take", traits=[ext.Pure]):
    """The elements of `x` at `indices` of dimension `axis`, which becomes the dimensions of `indices`.

    `mode` defines an index out of range: ``"clip"`` is the nearest index in range (0 for a negative one), ``"wrap"``
    the remainder by the size, ``"nan"`` NaN (floats only), and ``"check"`` an error of the call; with ``"check"``
    negative indices count from the end, as in ONNX. Nothing is read out of bounds; if dimension `axis` has size 0, the
    elements are zeros (NaN with ``"nan"``). ``unit`` for `axis` requires that `x` is a vector.

    Example: shapes ``(v, 384)`` and ``(b, s)`` along axis 0 give ``(b, s, 384)``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    x: ext.Operand[Any]
    indices: ext.Operand[Any]
    axis: ir.IntegerAttr | ir.UnitAttr
    mode: ir.StringAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x, indices = args.tensor(0), args.tensor(1)
        args.require_dtype(1, lambda d: d.is_integer, "an integer")
        mode = args.str_attr("mode")
        if mode not in TAKE_MODES:
            raise ArgumentError(f"{args.op}: mode is {mode!r}, expected one of {TAKE_MODES}")
        if mode == "nan":
            args.require_dtype(0, lambda d: d.is_float, "a float (mode 'nan')")
        if x.shape is None:
            return Tensor(indices.shape if args.is_unit("axis") else None, x.dtype)
        axis = take_axis(args, len(x.shape))
        if indices.shape is None:
            return Tensor(None, x.dtype)
        return Tensor((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype)


def take_axis(args: OpArgs, rank: int) -> int:
    """The axis of `TakeOp`, as a non-negative integer."""
    if not args.is_unit("axis"):
        return normalize_axis(args.op, args.int_attr("axis"), rank)
    if rank != 1:
        raise ShapeError(f"{args.op}: without an axis 'x' must be a vector, but its rank is {rank}")
    return 0


class StridedSliceOp(RelaxOp, name="strided_slice", traits=[ext.Pure]):
    """``x[begin:end:stride]`` along each of `axes`, with negative and large bounds as in NumPy.

    `begin` and `end` hold integers or symbolic expressions, `strides` nonzero integers (``unit``: 1). `assume_inbound`
    promises that the bounds are in range, which simplifies the expression of the result's shape; if they are not, the
    nearest element in range is read.

    Example: ``(n, 8)`` with axes ``[1]``, begin ``[1]``, end ``[-1]``, strides ``[2]`` gives ``(n, 3)``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    x: ext.Operand[Any]
    axes: ir.ArrayAttr
    begin: ir.ArrayAttr
    end: ir.ArrayAttr
    strides: ir.ArrayAttr | ir.UnitAttr
    assume_inbound: ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("begin", "end", "strides")

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x = args.tensor(0)
        if x.shape is None:
            return x
        dims = list(x.shape)
        for axis, part in strided_slices(args, x.shape).items():
            dims[axis] = None if part is None else part.size
        return Tensor(dims, x.dtype)

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        return Reordered((0,), (order,), {"axes": moved_axes(args.attrs["axes"], order)})


def strided_slices(args: OpArgs, shape: Sequence[Dim | None]) -> dict[int, Slice | None]:
    """The slice of `StridedSliceOp` along each of its axes; None if the size of the dimension is unknown."""
    axes = normalize_axes(args.op, args.ints_attr("axes"), len(shape))
    begins, ends = _positions(args, "begin"), _positions(args, "end")
    strides = [1] * len(axes) if args.is_unit("strides") else args.ints_attr("strides")
    if not len(axes) == len(begins) == len(ends) == len(strides):
        raise ArgumentError(
            f"{args.op}: {len(axes)} axes, {len(begins)} begins, {len(ends)} ends and {len(strides)} strides given"
        )
    if 0 in strides:
        raise ArgumentError(f"{args.op}: stride 0")
    inbound = args.bool_attr("assume_inbound")
    slices: dict[int, Slice | None] = {}
    for axis, begin, end, stride in zip(axes, begins, ends, strides, strict=True):
        size = shape[axis]
        slices[axis] = None if size is None else resolve_slice(begin, end, stride, size, inbound=inbound)
    return slices


def _positions(args: OpArgs, name: str) -> list[Dim]:
    positions: list[Dim] = []
    for item in ir.ArrayAttr(args.attrs[name]):
        if isinstance(item, ir.IntegerAttr):
            positions.append(int(item.value))
        elif isinstance(item, ir.StringAttr):
            positions.append(symbolic.to_dim(item.value))
        else:
            raise ArgumentError(f"{args.op}: {name} entry {item} is neither an integer nor an expression")
    return positions


# -- builders --------------------------------------------------------------------------------------------------


def permute_dims(x: ValueLike, axes: Sequence[int] | None = None) -> Value:
    """`x` with permuted dimensions (see `PermuteDimsOp`)."""
    require_insertion_point("permute_dims")
    return create_one(PermuteDimsOp, [as_value(x)], {"axes": maybe_ints_attr(axes, "permute_dims: 'axes'")})


def broadcast_to(x: ValueLike, shape: ShapeLike) -> Value:
    """`x` repeated to `shape` (see `BroadcastToOp`)."""
    value = as_value(x)
    return create_one(
        BroadcastToOp, [value, bind_shape(shape) if isinstance(shape, Value) else shape_expr(shape)]
    )


def concat(tensors: Value | Sequence[ValueLike], axis: int = 0) -> Value:
    """`tensors` (a sequence, or a tuple value) joined along `axis` (see `ConcatOp`)."""
    require_insertion_point("concat")
    if isinstance(tensors, Value):
        if not isinstance(tensors.struct_info, Tuple):
            raise ArgumentError(f"concat: expected tensors or a tuple of them, got {tensors.struct_info}")
    else:
        expect("concat: 'tensors'", tensors, Iterable, "tensors or a tuple of them")
        tensors = make_tuple(*map(as_value, tensors))
    return create_one(ConcatOp, [tensors], {"axis": int_attr(axis, "concat: 'axis'")})


def split(x: ValueLike, indices_or_sections: int | Sequence[int], axis: int = 0) -> Value:
    """The parts of `x` along `axis` as a tuple (see `SplitOp`)."""
    require_insertion_point("split")
    sections = indices_or_sections
    number = ints_attr if isinstance(sections, list | tuple) else int_attr
    attributes = {
        "sections": number(sections, "split: 'indices_or_sections'"),
        "axis": int_attr(axis, "split: 'axis'"),
    }
    return create_one(SplitOp, [as_value(x)], attributes)


def take(x: ValueLike, indices: ValueLike, axis: int | None = None, mode: TakeMode = "clip") -> Value:
    """The elements of `x` at `indices` (see `TakeOp`), or at one integer. Without `axis`, `x` is flattened.

    ``"fast"``, by which Relax callers promise indices in range, means ``"clip"`` here.
    """
    require_insertion_point("take")
    value = as_value(x)
    positions = as_value(indices)
    if is_integer(positions):
        positions = prim_to_tensor(positions)
    if axis is None and value.ndim != 1:
        value = flatten(value)
    attributes = {
        "axis": maybe_int_attr(axis, "take: 'axis'"),
        "mode": text_attr("clip" if mode == "fast" else mode, "take: 'mode'"),
    }
    return create_one(TakeOp, [value, positions], attributes)


def strided_slice(
    x: ValueLike,
    axes: Sequence[int],
    begin: Sequence[DimLike],
    end: Sequence[DimLike],
    strides: Sequence[int] | None = None,
    assume_inbound: bool = False,
) -> Value:
    """``x[begin:end:stride]`` along `axes` (see `StridedSliceOp`)."""
    require_insertion_point("strided_slice")
    attributes = {
        "axes": ints_attr(axes, "strided_slice: 'axes'"),
        "begin": _expressions("begin", begin),
        "end": _expressions("end", end),
        "strides": maybe_ints_attr(strides, "strided_slice: 'strides'"),
        "assume_inbound": bool_attr(assume_inbound, "strided_slice: 'assume_inbound'"),
    }
    return create_one(StridedSliceOp, [as_value(x)], attributes)


def _expressions(name: str, values: Sequence[DimLike]) -> ir.Attribute:
    what = f"strided_slice: '{name}'"
    listed = [values] if isinstance(values, int | str | symbolic.Expr | Value) else values
    expect(what, listed, list | tuple, "a list of integers and expressions")
    dims = [dimension(value, f"{what}[{index}]") for index, value in enumerate(listed)]
    return dims_attr(dims)
