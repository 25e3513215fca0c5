"""Legalisation of flip, roll, tile and repeat: each element of the result is read from its source position."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from relax_mlir import symbolic
from relax_mlir.dialects.base import normalize_axis
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.dialects.views import flatten, reshape
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, legalization
from relax_mlir.lowering.legalize.window import Index, Window, is_empty, sizes_of
from relax_mlir.mlir import arith, ir, linalg, tensor
from relax_mlir.scalars.arithmetic import Scalar
from relax_mlir.scalars.linalg_builders import generic, identity, projection
from relax_mlir.symbolic import Dim

Places = Callable[[Sequence[Index]], Sequence[Index]]
"""Maps indices of the result to those of the input."""


@legalization("relax.flip")
def legalize_flip(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    x = op.operands[0]
    axis = normalize_axis(op.args.op, op.args.int_attr("axis"), len(x.shape))

    def places(prim: PrimBody) -> Places:
        last = arith.subi(prim.dim(prim.ins[0], axis), prim.index(1))
        return lambda at: [arith.subi(last, index) if i == axis else index for i, index in enumerate(at)]

    return [_gathered(lz, op, x, places, axis)]


@legalization("relax.roll")
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


@legalization("relax.tile")
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


@legalization("relax.repeat")
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
    assert result.known_shape is not None
    view = reshape(Value(found.ssa), result.known_shape)
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
