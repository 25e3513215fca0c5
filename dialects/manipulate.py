"""Ops that move elements without arithmetic: permutations, slices, joins, repetition, reversal, stacking."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from relax_mlir import symbolic
from relax_mlir.dialects.base import (
    Inferred,
    OpArgs,
    RelaxOp,
    check_equal,
    dims_in,
    index_operand,
    normalize_axes,
    normalize_axis,
)
from relax_mlir.dialects.builders import build, exported
from relax_mlir.dialects.create import OnesLikeOp
from relax_mlir.dialects.dtypes import DType, promote, require_held
from relax_mlir.dialects.elementwise import WhereOp
from relax_mlir.dialects.fields import Int, Ints, Operand, PeerOperand, Text, TupleOperand
from relax_mlir.dialects.number_attributes import (
    bool_attr,
    dimension,
    double_attr,
    int_attr,
    integers,
    ints_attr,
    maybe_int_attr,
    maybe_ints_attr,
    text_attr,
)
from relax_mlir.dialects.shapes import FlattenOp, ShapeOperand
from relax_mlir.dialects.structure import is_integer, make_tuple, prim_to_tensor
from relax_mlir.dialects.traits import OpPatternKind, Order, Reordered, along_axis, moved_axes, moved_axis
from relax_mlir.dialects.types import DimLike, StructInfo, Tensor, Tuple, dim_text, dims_attr, shape_text
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, DTypeError, ShapeError, expect
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim

TO_THE_END = frozenset({2**31 - 1, 2**63 - 1})
"""Bounds by which programs mean "to the end"."""

TO_THE_START = frozenset({-(2**31), -(2**31) + 1, -(2**63), -(2**63) + 1})
"""Bounds by which programs mean "to the start", with negative strides."""

_LONGEST = 2**62
"""Upper limit of dimensions. A longer stride selects one element; dividing by it rounded up would overflow 64 bits."""


@dataclass(frozen=True)
class Slice:
    """The `size` elements ``begin``, ``begin + stride``, … of one dimension."""

    begin: Dim
    stride: int
    size: Dim


def resolve_slice(begin: Dim, end: Dim, stride: int, size: Dim, *, inbound: bool = False) -> Slice:
    """The slice ``[begin:end:stride]`` of a dimension of `size`, as by Python's ``slice.indices``.

    A bound whose sign is not provable gets a formula for both signs. `inbound`: assume that the bounds are in range,
    after adding the size to negative integers.
    """
    low: Dim = 0 if stride > 0 else -1
    high = size if stride > 0 else size - 1

    def resolved(position: Dim) -> Dim:
        if position in TO_THE_END:
            return high
        return low if position in TO_THE_START else _from_end(position, size, inbound=inbound)

    first, last = resolved(begin), resolved(end)
    # Each bound is clamped on the side where it would add elements; beyond the other side there are none.
    if stride > 0:
        first, last = (first, last) if inbound else (symbolic.maximum(first, low), symbolic.minimum(last, high))
        distance = last - first
    else:
        first, last = (first, last) if inbound else (symbolic.minimum(first, high), symbolic.maximum(last, low))
        distance = first - last
    is_short = abs(stride) <= _LONGEST
    count = symbolic.ceildiv(distance, abs(stride)) if is_short else symbolic.minimum(distance, 1)
    return Slice(first, stride, symbolic.maximum(count, 0))


def _from_end(position: Dim, size: Dim, *, inbound: bool) -> Dim:
    """`position`, plus `size` if it is negative."""
    if isinstance(position, int):
        return position + size if position < 0 else position
    if inbound or symbolic.prove_less_equal(0, position):
        return position
    if symbolic.prove_less_equal(position, -1):
        return position + size
    return position + size * symbolic.maximum(symbolic.minimum(-position, 1), 0)


MAX_SECTIONS = 4096
"""Maximum number of sections, each of which is a value; more are surely a mistake."""

TAKE_MODES = ("clip", "wrap", "nan", "check")
TakeMode = Literal["clip", "wrap", "nan", "check", "fast"]


class PermuteDimsOp(RelaxOp, name="permute_dims", traits=[ext.Pure]):
    """`x` with permuted dimensions: dimension i of the result is dimension ``axes[i]`` of `x`.

    ``unit`` for `axes` reverses them. Example: ``(n, 2, m)`` with axes ``[2, 0, 1]`` gives ``(m, n, 2)``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    x: Operand
    axes: Ints | None = None
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
        raise ShapeError(f"{args.op}: axes {given} are no permutation of the dimensions of a tensor of rank {rank}")
    return normalize_axes(args.op, given, rank)


class BroadcastToOp(RelaxOp, name="broadcast_to", traits=[ext.Pure]):
    """`x` repeated to `shape` by NumPy's rules: its dimensions, aligned at the end, are 1 or provably equal.

    Example: ``(n, 1)`` to ``(2, n, m)``.
    """

    op_pattern = OpPatternKind.BROADCAST

    x: Operand
    shape: ShapeOperand
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
            raise ShapeError(f"{where}: cannot tell whether {dim} equals {wanted}; match_shape the tensor first")
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
            hint = "" if symbolic.prove_not_equal(known[0], dim) else "provably equal; match_shape one of them first"
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


@exported()
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


@exported()
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


@exported()
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
        value = build(FlattenOp, value)
    attributes = {
        "axis": maybe_int_attr(axis, "take: 'axis'"),
        "mode": text_attr("clip" if mode == "fast" else mode, "take: 'mode'"),
    }
    return create_one(TakeOp, [value, positions], attributes)


@exported()
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


class FlipOp(RelaxOp, name="flip", traits=[ext.Pure]):
    """`x` reversed along `axis`. Example: ``[1, 2, 3]`` gives ``[3, 2, 1]``."""

    op_pattern = OpPatternKind.INJECTIVE

    x: Operand
    axis: Int
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x = args.tensor(0)
        if x.shape is not None:
            normalize_axis(args.op, args.int_attr("axis"), len(x.shape))
        return x


class RollOp(RelaxOp, name="roll", traits=[ext.Pure]):
    """`x` rotated by `shift` along each of `axis`: elements that leave at one end enter at the other.

    ``unit`` for `axis` rotates the flattened elements, in row-major order. Shifts of an axis that occurs several times
    add up. Example: ``[1, 2, 3]`` with shift 1 gives ``[3, 1, 2]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    x: ext.Operand[Any]
    shift: ir.ArrayAttr
    axis: ir.ArrayAttr | ir.UnitAttr
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x = args.tensor(0)
        shifts = args.ints_attr("shift")
        axes = [0] if args.is_unit("axis") else args.ints_attr("axis")
        if len(shifts) != len(axes):
            raise ArgumentError(f"{args.op}: {len(shifts)} shifts for {len(axes)} axes, expected as many")
        if x.shape is not None and not args.is_unit("axis"):
            for axis in axes:
                normalize_axis(args.op, axis, len(x.shape))
        return x


class TileOp(RelaxOp, name="tile", traits=[ext.Pure]):
    """`x` repeated as a whole `repeats` times along its dimensions, as ``numpy.tile``.

    The shorter of shape and `repeats` is extended with ones in front. Example: ``[1, 2]`` with repeats ``[2, 2]`` gives
    ``[[1, 2, 1, 2], [1, 2, 1, 2]]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    x: Operand
    repeats: Ints
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x, repeats = args.tensor(0), args.ints_attr("repeats")
        if any(number < 0 for number in repeats):
            raise ArgumentError(f"{args.op}: repeats is {repeats}, expected integers that are not negative")
        if x.shape is None:
            return Tensor(None, x.dtype)
        rank = max(len(x.shape), len(repeats))
        shape: list[Dim | None] = [*([1] * (rank - len(x.shape))), *x.shape]
        times = [*([1] * (rank - len(repeats))), *repeats]
        return Tensor([None if d is None else d * n for d, n in zip(shape, times, strict=True)], x.dtype)


class RepeatOp(RelaxOp, name="repeat", traits=[ext.Pure]):
    """Each element of `x` repeated `repeats` times along `axis`, as ``numpy.repeat``; ``unit`` flattens `x` first.

    Example: ``[1, 2]`` with repeats 2 gives ``[1, 1, 2, 2]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    x: Operand
    repeats: Int
    axis: Int | None = None
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        x, repeats = args.tensor(0), args.int_attr("repeats")
        if repeats < 0:
            raise ArgumentError(f"{args.op}: repeats is {repeats}, expected an integer that is not negative")
        if args.is_unit("axis"):
            known = x.known_shape
            return Tensor((None,) if known is None else (symbolic.product(known) * repeats,), x.dtype)
        if x.shape is None:
            return x
        axis = normalize_axis(args.op, args.int_attr("axis"), len(x.shape))
        return Tensor([d if i != axis or d is None else d * repeats for i, d in enumerate(x.shape)], x.dtype)


@exported()
def roll(x: ValueLike, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Value:
    """`x` rotated along `axis` (see `RollOp`); a single shift applies to all axes."""
    require_insertion_point("roll")
    shifts = integers(shift, "roll: 'shift'")
    axes = None if axis is None else integers(axis, "roll: 'axis'")
    if axes is not None and len(shifts) == 1:
        shifts = shifts * len(axes)
    attributes = {"shift": ints_attr(shifts, "roll: 'shift'"), "axis": maybe_ints_attr(axes, "roll: 'axis'")}
    return create_one(RollOp, [as_value(x)], attributes)


class StackOp(RelaxOp, name="stack", traits=[ext.Pure]):
    """Tensors of equal shape, in a tuple, joined along a new dimension, which is `axis` of the result.

    Example: ``[1, 2]`` and ``[3, 4]`` along axis 1 give ``[[1, 3], [2, 4]]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    tensors: TupleOperand
    axis: Int = 0
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
                check_equal(args, f"dimension {place} of the first tensor and of 'tensors[{number}]'", first, other)
                dims[place] = other if first is None else first
        return Tensor((*dims[:axis], len(tensors), *dims[axis:]), dtype)


class MeshgridOp(RelaxOp, name="meshgrid", traits=[ext.Pure]):
    """For each tensor of a tuple, of rank 1 or 0, its elements along its dimension of the common grid.

    `indexing` ``ij`` orders the dimensions like the tensors; ``xy`` swaps the first two, as NumPy's default.
    Example: ``[1, 2]`` and ``[3, 4, 5]`` give ``[[1, 1, 1], [2, 2, 2]]`` and ``[[3, 4, 5], [3, 4, 5]]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    tensors: TupleOperand
    indexing: Text = "ij"
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

    x1: PeerOperand
    x2: PeerOperand
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


class ReverseSequenceOp(RelaxOp, name="reverse_sequence", traits=[ext.Pure]):
    """`data` with the first ``seq_lengths[b]`` elements along `seq_axis` reversed, for each index b of `batch_axis`.

    Lengths below 1 reverse nothing, and lengths above the size reverse all elements. Example:
    ``[[1, 2, 3], [4, 5, 6]]`` with lengths ``[2, 3]`` gives ``[[2, 1, 3], [6, 5, 4]]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    data: Operand
    seq_lengths: Operand
    seq_axis: Int = 1
    batch_axis: Int = 0
    result: ext.Result[Any]

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data, lengths = args.tensor(0), index_operand(args, 1)
        if lengths.ndim not in (None, 1):
            raise ShapeError(f"{args.op}: operand 'seq_lengths' is {lengths}, expected a vector")
        if data.shape is None:
            return data
        along, batch = (
            normalize_axis(args.op, args.int_attr(name), len(data.shape), name) for name in ("seq_axis", "batch_axis")
        )
        if along == batch:
            raise ShapeError(f"{args.op}: seq_axis and batch_axis are both {along}")
        if lengths.shape is not None:
            what = f"dimension {batch} of 'data' and the length of 'seq_lengths'"
            check_equal(args, what, data.shape[batch], lengths.shape[0])
        return data


# Padding: pad.


MODES = ("constant", "reflect", "symmetric", "replicate", "circular")
ALIASES = {"edge": "replicate", "wrap": "circular"}
"""Mode names of NumPy and ONNX."""


class PadOp(RelaxOp, name="nn_pad", traits=[ext.Pure]):
    """`data` with elements added before and after each dimension.

    `pad_width` has two integers or expressions per dimension: the number of elements added before and after it;
    negative integers remove elements. `pad_mode` defines the added elements: ``constant``, `pad_value`; ``reflect``,
    `data` mirrored without the edge elements; ``symmetric``, mirrored with them; ``replicate``, the edge elements;
    ``circular``, `data` repeated. Widths may exceed the size. In modes other than ``constant``, an empty dimension is
    an error of the call.

    Example: ``[1, 2, 3]`` with pad_width ``[2, 1]`` gives ``[0, 0, 1, 2, 3, 0]``, reflected ``[3, 2, 1, 2, 3, 2]``.
    """

    op_pattern = OpPatternKind.INJECTIVE

    data: ext.Operand[Any]
    pad_width: ir.ArrayAttr
    pad_mode: ir.StringAttr
    pad_value: ir.FloatAttr | ir.IntegerAttr
    result: ext.Result[Any]

    @classmethod
    def dim_attributes(cls) -> tuple[str, ...]:
        return ("pad_width",)

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        data, mode = args.tensor(0), args.str_attr("pad_mode")
        if mode not in MODES:
            raise ArgumentError(f"{args.op}: pad_mode is '{mode}', expected one of {', '.join(MODES)}")
        _check_value(args, data.dtype)
        widths = list(dims_in(args.attrs["pad_width"]))
        if len(widths) % 2 or None in widths:
            raise ArgumentError(
                f"{args.op}: pad_width is {shape_text(widths)}, expected two numbers for each dimension"
            )
        if data.ndim is not None and len(widths) != 2 * data.ndim:
            raise ShapeError(
                f"{args.op}: pad_width has {len(widths)} numbers, expected {2 * data.ndim}: two for each dimension "
                f"of 'data', {data}"
            )
        if data.shape is None:
            return Tensor(None, data.dtype, ndim=len(widths) // 2)
        before, after = widths[::2], widths[1::2]
        sizes = zip(data.shape, before, after, strict=True)
        return Tensor([_padded(args.op, axis, *dims) for axis, dims in enumerate(sizes)], data.dtype)

    @classmethod
    def reordered(cls, args: OpArgs, order: Order) -> Reordered | None:
        widths = list(ir.ArrayAttr(args.attrs["pad_width"]))
        moved = [width for axis in order for width in widths[2 * axis : 2 * axis + 2]]
        return Reordered((0,), (order,), {"pad_width": ir.ArrayAttr.get(moved)})


def _padded(op: str, axis: int, dim: Dim | None, before: Dim | None, after: Dim | None) -> Dim | None:
    if dim is None or before is None or after is None:
        return None
    size = dim + before + after
    if symbolic.prove_less_equal(size, -1):
        raise ShapeError(
            f"{op}: dimension {axis} of size {dim_text(dim)} with {dim_text(before)} and {dim_text(after)} more "
            f"elements would have {dim_text(size)}"
        )
    return size


def _check_value(args: OpArgs, dtype: DType | None) -> None:
    """Raise `DTypeError` unless the padding value fits the dtype of the data."""
    value = filling(args.attrs["pad_value"])
    if dtype is None or dtype.is_float:
        return
    require_held(f"{args.op}: pad_value", value, dtype)
    if int(value) != value or (dtype.kind == "bool" and value not in (0, 1)):
        raise DTypeError(f"{args.op}: pad_value is {value}, which does not fit dtype {dtype} of 'data'")


def filling(attribute: ir.Attribute) -> float | int:
    """The number in ``pad_value``."""
    if isinstance(attribute, ir.BoolAttr):
        return int(attribute.value)
    return attribute.value if isinstance(attribute, ir.FloatAttr) else int(ir.IntegerAttr(attribute).value)


# -- builders --------------------------------------------------------------------------------------------------


@exported("nn")
def pad(
    data: ValueLike,
    pad_width: Sequence[DimLike] | Sequence[Sequence[DimLike]],
    pad_mode: str = "constant",
    pad_value: float | Value = 0.0,
) -> Value:
    """`data` with padding (see `PadOp`).

    `pad_width` is one list, or pairs of before and after; `pad_mode` may also be ``edge`` or ``wrap``. `pad_value` may
    be a one-element tensor, which a `where` inserts.
    """
    require_insertion_point("nn.pad")
    value = as_value(data)
    expect("pad: 'pad_width'", pad_width, list | tuple, "two numbers for each dimension")
    flat = [item for pair in pad_width for item in (pair if isinstance(pair, list | tuple) else [pair])]
    expect("pad: 'pad_mode'", pad_mode, str, "the name of a mode")
    mode = ALIASES.get(pad_mode, pad_mode)
    widths = dims_attr([dimension(item, f"pad: 'pad_width'[{i}]") for i, item in enumerate(flat)])
    attributes = {"pad_width": widths, "pad_mode": text_attr(mode, "pad: 'pad_mode'")}

    def padded(given: Value, filled: object) -> Value:
        return create_one(PadOp, [given], {**attributes, "pad_value": _filling_attr(filled)})

    if not isinstance(pad_value, Value):
        return padded(value, pad_value)
    if mode != "constant":
        return padded(value, 0.0)
    return build(WhereOp, padded(build(OnesLikeOp, value, "bool"), 0), padded(value, 0.0), pad_value)


def _filling_attr(value: object) -> ir.Attribute:
    if isinstance(value, bool | np.bool_):
        return bool_attr(value, "pad: 'pad_value'")
    if isinstance(value, int | np.integer):
        return int_attr(value, "pad: 'pad_value'")
    return double_attr(value, "pad: 'pad_value'")
