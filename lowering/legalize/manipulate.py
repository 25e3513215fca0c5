"""Legalisation of the ops that move elements. Views (``reshape`` and the like) are unchanged at level R1."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import Pattern
from relax_mlir.dialects.base import dims_in, normalize_axis
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.manipulate import (
    BroadcastToOp,
    ConcatOp,
    FlipOp,
    MeshgridOp,
    OuterOp,
    PadOp,
    PermuteDimsOp,
    RepeatOp,
    ReverseSequenceOp,
    RollOp,
    Slice,
    SplitOp,
    StackOp,
    StridedSliceOp,
    TakeOp,
    TileOp,
    filling,
    grid_order,
    permutation,
    split_slices,
    strided_slices,
    take_axis,
)
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.lowering.legalize.prim_bodies import (
    Index,
    Window,
    dtype_of,
    elementwise,
    elementwise_prim,
    is_empty,
    sizes_of,
)
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, expression, lower
from relax_mlir.mlir import arith, cf, ir, linalg, scf, tensor
from relax_mlir.op import expand_dims, flatten, reshape
from relax_mlir.scalars.arithmetic import Scalar, compute_dtype, const, convert, multiply, widened
from relax_mlir.scalars.linalg_builders import generic, identity, projection
from relax_mlir.symbolic import Dim

if TYPE_CHECKING:
    from relax_mlir.dialects.types import StructInfo
    from relax_mlir.expr import Attrs
    from relax_mlir.te import Tensor as TETensor


JOINED = 64
"""The maximum number of operands of a prim func that concatenates."""


@lower(PermuteDimsOp)
def legalize_permute_dims(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    axes = permutation(op.args, len(op.operands[0].shape))

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        rank = len(axes)
        source = projection(rank, [axes.index(axis) for axis in range(rank)])
        parallel = ["parallel"] * rank
        return generic(prim.ins, [source], prim.outs, [identity(rank)], parallel, lambda x, _: x)

    return lz.prim(op.args.op, op.operands, op.results, body, pattern="injective", key=tuple(axes))


@lower(BroadcastToOp)
def legalize_broadcast_to(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    return lz.prim(op.args.op, op.operands, op.results, elementwise(lambda x: x), pattern="broadcast")


@lower(ConcatOp)
def legalize_concat(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    axis = normalize_axis(op.args.op, op.args.int_attr("axis"), len(op.results[0].shape or ()))
    return concatenated(lz, op, axis)


def concatenated(lz: Legalizer, op: OpCall, axis: int) -> Sequence[Arg]:
    """Concatenate the operands along `axis`; more than `JOINED` of them in groups, whose results are concatenated.

    The analysis time of bufferisation is cubic in the operands of a prim func. Groups copy elements once more.
    """
    if len(op.operands) > JOINED:
        groups = [op.operands[start : start + JOINED] for start in range(0, len(op.operands), JOINED)]
        results = [replace(op, operands=group, results=(_joined(group, axis),)) for group in groups]
        return concatenated(lz, replace(op, operands=tuple(concatenated(lz, each, axis)[0] for each in results)), axis)

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        result, offset = prim.outs[0], prim.index(0)
        for source, info in zip(prim.ins, prim.in_infos, strict=True):
            if is_empty(info):
                continue
            sizes = sizes_of(prim, source)
            window = Window.along(axis, offset, 1, sizes)
            copied = linalg.copy(source, outs=[window.extract(result, source.type)])
            result = window.insert(copied, result)
            offset = arith.addi(offset, prim.dim(source, axis))
        return [result]

    return lz.prim(op.args.op, op.operands, op.results, body, pattern="injective", key=axis)


def _joined(operands: Sequence[Arg], axis: int) -> Tensor:
    """The type of operands joined along `axis`."""
    total: Dim = 0
    for operand in operands:
        total = total + operand.shape[axis]
    first = operands[0]
    return Tensor((*first.shape[:axis], total, *first.shape[axis + 1 :]), first.info.dtype)


@lower(SplitOp)
def legalize_split(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    x = op.operands[0]
    axis = normalize_axis(op.args.op, op.args.int_attr("axis"), len(x.shape))
    parts = split_slices(op.args, x.shape[axis])
    found = []
    for part, result in zip(parts, op.results, strict=True):
        assert part is not None
        found.append(_slice(lz, "split", x, result, {axis: part}))
    return found


@lower(StridedSliceOp)
def legalize_strided_slice(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    x, result = op.operands[0], op.results[0]
    slices: dict[int, Slice] = {}
    for axis, part in strided_slices(op.args, x.shape).items():
        assert part is not None
        slices[axis] = part
    if op.args.bool_attr("assume_inbound") or any(part.stride < 0 for part in slices.values()):
        return [_gathered_slice(lz, x, result, slices)]
    return [_slice(lz, "strided_slice", x, result, slices)]


def _slice(lz: Legalizer, name: str, x: Arg, result: Tensor, slices: dict[int, Slice]) -> Arg:
    """Copy slices with positive strides that are known to be in bounds of `x`."""

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        if is_empty(prim.out_infos[0]):
            return list(prim.outs)  # upstream refuses a slice that begins at the end
        window = Window(sizes_of(prim, prim.outs[0]))
        for axis, part in slices.items():
            window.offsets[axis] = part.begin if isinstance(part.begin, int) else prim.index(part.begin)
            window.strides[axis] = part.stride
        source = window.extract(prim.ins[0], prim.outs[0].type)
        return [linalg.copy(source, outs=[prim.outs[0]])]

    return lz.prim(name, [x], [result], body, pattern="injective", key=_key(slices))[0]


def _gathered_slice(lz: Legalizer, x: Arg, result: Tensor, slices: dict[int, Slice]) -> Arg:
    """Read slices element by element, with positions clamped to `x`; zeros if `x` is empty along a sliced axis."""

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        begins = {axis: prim.index(part.begin) for axis, part in slices.items()}
        last = {axis: _last(prim, prim.ins[0], axis) for axis in slices}

        def element(_: ir.Value) -> ir.Value:
            place: list[Index] = [linalg.IndexOp(i).result for i in range(len(x.shape))]
            for axis, part in slices.items():
                step = arith.muli(place[axis], prim.index(part.stride))
                place[axis] = _clamped(arith.addi(begins[axis], step), last[axis])
            return _element(prim, place, _is_full(prim, list(slices)), 0)

        rank = len(x.shape)
        return generic([], [], prim.outs, [identity(rank)], ["parallel"] * rank, element)

    return lz.prim("strided_slice", [x], [result], body, pattern="opaque", key=("gathered", _key(slices)))[0]


def _key(slices: dict[int, Slice]) -> tuple[tuple[int, str, int], ...]:
    return tuple((axis, str(part.begin), part.stride) for axis, part in slices.items())


@lower(TakeOp)
def legalize_take(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    x, indices = op.operands
    axis, mode = take_axis(op.args, len(x.shape)), op.args.str_attr("mode")
    dtype, known = dtype_of(indices), dtype_of(x)
    index_rank, rank = len(indices.shape), len(op.results[0].shape or ())
    if mode == "check" or (0 < axis == len(x.shape) - 1 and mode in ("clip", "wrap")):
        indices, mode = _places(lz, x, indices, axis, mode), "known"
        dtype = dtypes.dtype("int64")

    may_be_empty = _may_be_empty(x.shape[axis])
    default = float("nan") if mode == "nan" and known.is_float else 0

    def taken(prim: PrimBody, given: ir.Value, result: ir.Value) -> ir.Value:
        last = _last(prim, prim.ins[0], axis)
        before, after = range(axis), range(axis + index_rank, rank)

        def element(position: ir.Value, _: ir.Value) -> ir.Value:
            found, valid = _resolve(position, dtype, last, mode)
            place: list[ir.Value] = [linalg.IndexOp(i).result for i in before]
            place += [found, *(linalg.IndexOp(i).result for i in after)]
            is_full = _is_full(prim, [axis]) if rank == 0 else None
            tests = [test for test in (is_full, valid) if test is not None]
            return _element(prim, place, functools.reduce(arith.andi, tests) if tests else None, default)

        map_ = projection(rank, range(axis, axis + index_rank))
        return generic([given], [map_], [result], [identity(rank)], ["parallel"] * rank, element)[0]

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        """Take all elements; or, from an empty axis, take none and fill the result."""
        given, result = prim.ins[1], prim.outs[0]
        if not may_be_empty or rank == 0 or is_empty(prim.out_infos[0]):
            return [taken(prim, given, result)]
        whole = prim.dim(result, 0)
        is_full = _is_full(prim, [axis])
        assert is_full is not None
        count = arith.select(is_full, whole, prim.index(0))
        rest, missing = Window(sizes_of(prim, result)), Window(sizes_of(prim, result))
        rest.sizes[0] = count
        missing.offsets[0], missing.sizes[0] = count, arith.subi(whole, count)
        if axis == 0 and index_rank:
            asked = Window(sizes_of(prim, given))
            asked.sizes[0] = count
            given = asked.extract(given, _longer(given))
        result = rest.insert(taken(prim, given, rest.extract(result, _longer(result))), result)
        filled = linalg.fill(const(known, default), outs=[missing.extract(result, _longer(result))])
        return [missing.insert(filled, result)]

    pattern: Pattern = "opaque" if may_be_empty else "injective"
    return lz.prim(op.args.op, [x, indices], op.results, body, pattern=pattern, key=(axis, mode))


def _longer(value: ir.Value) -> ir.Type:
    """The type of a tensor with a dynamic first dimension."""
    type_ = ir.RankedTensorType(value.type)
    return ir.RankedTensorType.get([ir.ShapedType.get_dynamic_size(), *type_.shape[1:]], type_.element_type)


def _places(lz: Legalizer, x: Arg, indices: Arg, axis: int, mode: str) -> Arg:
    """The positions along an axis that indices refer to, computed once for all rows."""
    dtype, info = dtype_of(indices), Tensor(indices.info.shape, "int64")

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        last, rank = _last(prim, prim.ins[1], axis), len(indices.shape)
        if mode == "check":
            _require_in_range(prim, dtype, last, axis)

        def place(position: ir.Value, _: ir.Value) -> ir.Value:
            found, _valid = _resolve(position, dtype, last, mode)
            return arith.index_cast(ir.IntegerType.get_signless(64), found)

        maps = [identity(rank)], [identity(rank)]
        return generic(prim.ins[:1], maps[0], prim.outs, maps[1], ["parallel"] * rank, place)

    return lz.prim("take_places", [indices, x], [info], body, key=(axis, mode))[0]


def _require_in_range(prim: PrimBody, dtype: DType, last: Index, axis: int) -> None:
    """Assert at run time that all indices, the first input, are in range."""
    number, rank = dtypes.dtype("int64"), ir.RankedTensorType(prim.ins[0].type).rank
    none = linalg.fill(const(number, 0), outs=[tensor.empty([], number.storage_type())])

    def wrong(position: ir.Value, total: ir.Value) -> ir.Value:
        is_right = _resolve(position, dtype, last, "check")[1]
        assert is_right is not None
        return arith.addi(total, arith.select(is_right, const(number, 0), const(number, 1)))

    scalar = ir.AffineMap.get(rank, 0, [])
    (total,) = generic(prim.ins[:1], [identity(rank)], [none], [scalar], ["reduction"] * rank, wrong)
    fine = arith.cmpi(arith.CmpIPredicate.eq, tensor.extract(total, []), const(number, 0))
    cf.assert_(fine, f"take: an index is out of range for dimension {axis}", loc=ir.Location.unknown())


def _resolve(position: ir.Value, dtype: DType, last: Index, mode: str) -> tuple[Index, ir.Value | None]:
    """Resolve an index to a position in [0, last]; for ``"nan"`` and ``"check"`` also test if the index is in range.

    For ``"check"`` the position is in that range only if the index is.
    """
    index_type = ir.IndexType.get()
    if mode == "known":
        return arith.index_cast(index_type, position), None
    if mode == "check":
        size = arith.addi(last, arith.constant(index_type, 1))
        if dtype.kind == "uint":
            place = arith.index_castui(index_type, position)
        else:
            index = arith.index_cast(index_type, position)
            negative = arith.cmpi(arith.CmpIPredicate.slt, index, arith.constant(index_type, 0))
            place = arith.select(negative, arith.addi(index, size), index)
        return place, arith.cmpi(arith.CmpIPredicate.ult, place, size)
    if dtype.kind == "uint":
        index = arith.index_castui(index_type, position)
        clipped: ir.Value = arith.minui(index, last)
    else:
        index = arith.index_cast(index_type, position)
        clipped = _clamped(index, last)
    if mode == "clip":
        return clipped, None
    if mode == "nan":
        return clipped, arith.cmpi(arith.CmpIPredicate.eq, index, clipped)
    one = arith.constant(index_type, 1)
    size = arith.maxsi(arith.addi(last, one), one)  # avoid a division by zero, though nothing is read then
    if dtype.kind == "uint":
        return arith.remui(index, size), None
    rest = arith.remsi(index, size)
    negative = arith.cmpi(arith.CmpIPredicate.slt, rest, arith.constant(index_type, 0))
    return arith.select(negative, arith.addi(rest, size), rest), None


def _clamped(index: Index, last: Index) -> Index:
    return arith.maxsi(arith.minsi(index, last), arith.constant(ir.IndexType.get(), 0))


def _last(prim: PrimBody, source: ir.Value, axis: int) -> Index:
    return arith.subi(prim.dim(source, axis), prim.index(1))


def _may_be_empty(size: Dim | None) -> bool:
    return not isinstance(size, int) or size == 0


def _is_full(prim: PrimBody, axes: Sequence[int]) -> ir.Value | None:
    """Test that the first input is not empty along any of `axes`; None if its type guarantees it."""
    source, shape = prim.ins[0], prim.in_infos[0].shape or ()
    zero = prim.index(0)
    tests = [
        arith.cmpi(arith.CmpIPredicate.ne, prim.dim(source, axis), zero) for axis in axes if _may_be_empty(shape[axis])
    ]
    return functools.reduce(arith.andi, tests) if tests else None


def _element(prim: PrimBody, place: Sequence[Index], valid: ir.Value | None, default: float) -> ir.Value:
    """Load the first input's element at `place`; `default` unless `valid`.

    16-bit floats pass through the branch as float32: targets without them call library functions for values that cross
    a branch.
    """
    source, dtype = prim.ins[0], prim.in_infos[0].element
    if valid is None:
        return tensor.extract(source, list(place))
    wide = compute_dtype(dtype)
    branch = scf.IfOp(valid, [wide.storage_type()], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        scf.YieldOp([convert(dtype, wide, tensor.extract(source, list(place)))])
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp([const(wide, default)])
    return convert(wide, dtype, branch.results[0])


# Legalisation of flip, roll, tile and repeat: each element of the result is read from its source position.


Places = Callable[[Sequence[Index]], Sequence[Index]]
"""Maps indices of the result to those of the input."""


@lower(FlipOp)
def legalize_flip(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    x = op.operands[0]
    axis = normalize_axis(op.args.op, op.args.int_attr("axis"), len(x.shape))

    def places(prim: PrimBody) -> Places:
        last = arith.subi(prim.dim(prim.ins[0], axis), prim.index(1))
        return lambda at: [arith.subi(last, index) if i == axis else index for i, index in enumerate(at)]

    return [_gathered(lz, op, x, places, axis)]


@lower(RollOp)
def legalize_roll(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    x, shape = op.operands[0], op.operands[0].shape
    shifts = op.args.ints_attr("shift")
    if op.args.is_unit("axis"):
        flat = flatten(Value(x.ssa))
        x = Arg(flat.ssa, flat.tensor_info)
        axes = [0]
    else:
        axes = [normalize_axis(op.args.op, axis, len(shape)) for axis in op.args.ints_attr("axis")]
    totals: dict[int, int] = {}
    for axis, shift in zip(axes, shifts, strict=True):
        totals[axis] = totals.get(axis, 0) + shift
    for axis, shift in totals.items():
        x = _rolled(lz, x, axis, shift)
    if not op.args.is_unit("axis"):
        return [x]
    view = reshape(Value(x.ssa), shape)
    return [Arg(view.ssa, op.results[0])]


def _rolled(lz: Legalizer, x: Arg, axis: int, shift: int) -> Arg:
    """Copy the last elements along an axis, then the first ones."""
    size = x.shape[axis]
    moved = symbolic.floormod(shift, symbolic.maximum(size, 1))
    if moved == 0 or is_empty(x.info):
        return x

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        given, result = prim.ins[0], prim.outs[0]
        for count, begin, to in ((size - moved, 0, moved), (moved, size - moved, 0)):
            sizes = sizes_of(prim, given)
            sizes[axis] = _number(prim, count)
            source, target = Window(sizes), Window(sizes)
            source.offsets[axis], target.offsets[axis] = _number(prim, begin), _number(prim, to)
            shape = [d if isinstance(d, int) else ir.ShapedType.get_dynamic_size() for d in sizes]
            part = ir.RankedTensorType.get(shape, ir.RankedTensorType(given.type).element_type)
            copied = linalg.copy(source.extract(given, part), outs=[target.extract(result, part)])
            result = target.insert(copied, result)
        return [result]

    return lz.prim("roll", [x], [x.info], body, pattern="opaque", key=(axis, shift))[0]


def _number(prim: PrimBody, dim: Dim) -> int | Index:
    return dim if isinstance(dim, int) else prim.index(dim)


@lower(TileOp)
def legalize_tile(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Repeat each dimension as a whole: a dimension of copies precedes it."""
    x, repeats = op.operands[0], op.args.ints_attr("repeats")
    rank = max(len(x.shape), len(repeats))
    sizes: list[Dim] = [*[1] * (rank - len(x.shape)), *x.shape]
    counts = [*[1] * (rank - len(repeats)), *repeats]
    shape: list[Dim] = []
    kept: list[int] = []
    for number, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        shape += [count] if count != 1 else []
        if number >= rank - len(x.shape):
            kept.append(len(shape))
            shape.append(size)
    return [_spread(lz, op, x, shape, kept)]


@lower(RepeatOp)
def legalize_repeat(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Repeat each element: along the last axis by gathering, else by copying rows."""
    x, repeats, axis = op.operands[0], op.args.int_attr("repeats"), 0
    if op.args.is_unit("axis"):
        flat = flatten(Value(x.ssa))
        x = Arg(flat.ssa, flat.tensor_info)
    else:
        axis = normalize_axis(op.args.op, op.args.int_attr("axis"), len(x.shape))
    rank = len(x.shape)
    if axis + 1 < rank:
        shape = [*x.shape[: axis + 1], repeats, *x.shape[axis + 1 :]]
        return [_spread(lz, op, x, shape, [n for n in range(rank + 1) if n != axis + 1])]

    def places(prim: PrimBody) -> Places:
        times = prim.index(repeats)
        return lambda at: [arith.divui(index, times) if i == axis else index for i, index in enumerate(at)]

    return [_gathered(lz, op, x, places, (repeats, axis))]


def _spread(lz: Legalizer, op: OpCall, x: Arg, shape: Sequence[Dim], kept: Sequence[int]) -> Arg:
    """Broadcast `x` over the dimensions of `shape` that are not `kept`, and reshape to the result."""
    result = op.results[0]
    made = Tensor(tuple(shape), result.dtype)
    rank = len(shape)

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        if is_empty(made):
            return list(prim.outs)
        maps = [projection(rank, kept)], [identity(rank)]
        return generic(prim.ins, maps[0], prim.outs, maps[1], ["parallel"] * rank, lambda item, _: item)

    found = lz.prim(op.args.op, [x], [made], body, pattern="opaque", key=tuple(kept))[0]
    view = reshape(Value(found.ssa), result.dims)
    return Arg(view.ssa, result)


def _gathered(lz: Legalizer, op: OpCall, x: Arg, places: Callable[[PrimBody], Places], key: Hashable) -> Arg:
    """Gather the elements of `x` at `places`."""
    result = op.results[0]

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        rank = len(result.shape or ())
        if is_empty(result):
            return list(prim.outs)
        place = places(prim)

        def element(_: Scalar) -> Scalar:
            at = [linalg.IndexOp(axis).result for axis in range(rank)]
            return tensor.extract(prim.ins[0], list(place(at)))

        return generic([], [], prim.outs, [identity(rank)], ["parallel"] * rank, element)

    return lz.prim(op.args.op, [x], [result], body, pattern="opaque", key=key)[0]


# Legalisation of stack, meshgrid and outer.


@lower(StackOp)
def legalize_stack(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Concatenate views with an added dimension of size 1."""
    axis = normalize_axis(op.args.op, op.args.int_attr("axis"), len(op.results[0].shape or ()))
    return concatenated(lz, replace(op, operands=tuple(_with_axis(x, axis) for x in op.operands)), axis)


@lower(OuterOp)
def legalize_outer(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    x1, x2 = op.operands
    rule, dtype = widened(multiply), dtype_of(x1)
    column = replace(op, operands=(_with_axis(x1, 1), _with_axis(x2, 0)))
    return elementwise_prim(lz, column, lambda a, b: rule(dtype, a, b))


def _with_axis(x: Arg, axis: int) -> Arg:
    """`x` with an added dimension of size 1; a view."""
    view = expand_dims(Value(x.ssa), axis)
    return Arg(view.ssa, view.tensor_info)


@lower(MeshgridOp)
def legalize_meshgrid(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    order = grid_order(op.args, len(op.operands))
    rank = len(order)
    found: list[Arg] = []
    for number, (x, result) in enumerate(zip(op.operands, op.results, strict=True)):
        place = [order.index(number)] if x.shape else []

        def body(prim: PrimBody, place: list[int] = place) -> Sequence[ir.Value]:
            source, parallel = projection(rank, place), ["parallel"] * rank
            return generic(prim.ins, [source], prim.outs, [identity(rank)], parallel, lambda item, _: item)

        found += lz.prim(op.args.op, [x], [result], body, pattern="broadcast", key=(rank, *place))
    return found


@expression(ReverseSequenceOp)
def reverse_sequence(attrs: Attrs, inputs: Sequence[TETensor], out_type: StructInfo) -> TETensor:
    """Reverse the first elements along an axis, as many as the length of each sequence."""
    from relax_mlir import topi  # most modules have no tensor expressions

    return topi.reverse_sequence(inputs[0], inputs[1], attrs.seq_axis, attrs.batch_axis)


@expression(PadOp)
def pad(attrs: Attrs, inputs: Sequence[TETensor], out_type: StructInfo) -> TETensor:
    """A padded tensor; the mode determines the padding values."""
    from relax_mlir import topi  # most modules have no tensor expressions

    widths = [dim for dim in dims_in(attrs.raw["pad_width"]) if dim is not None]
    before, after, mode = widths[::2], widths[1::2], attrs.pad_mode
    if mode == "constant":
        return topi.nn.pad(inputs[0], before, after, filling(attrs.raw["pad_value"]))
    if mode in ("reflect", "symmetric"):
        return topi.nn.mirror_pad(inputs[0], before, after, mode.upper())
    return (topi.nn.edge_pad if mode == "replicate" else topi.nn.wrap_pad)(inputs[0], before, after)
