"""Legalisation of flip, roll, tile and repeat: each element of the result is read from its place."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from relax_mlir import symbolic
from relax_mlir.dialects.base import normalize_axis
from relax_mlir.dialects.value import Value
from relax_mlir.dialects.views import flatten, reshape
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, legalization
from relax_mlir.lowering.legalize.window import Index, Window, is_empty, sizes_of
from relax_mlir.mlir import arith, ir, linalg, tensor
from relax_mlir.scalars.arithmetic import Scalar
from relax_mlir.scalars.linalg_builders import generic, identity
from relax_mlir.symbolic import Dim

Places = Callable[[PrimBody, Sequence[Index]], Sequence[Index]]
"""Where the element at some indices of the result lies in the input."""


@legalization("relax.flip")
def legalize_flip(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    x = op.operands[0]
    axis = normalize_axis(op.args.op, op.args.int_attr("axis"), len(x.shape))

    def places(prim: PrimBody, at: Sequence[Index]) -> Sequence[Index]:
        last = arith.subi(prim.dim(prim.ins[0], axis), prim.index(1))
        return [arith.subi(last, index) if i == axis else index for i, index in enumerate(at)]

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
    """The last elements along an axis, then the first ones: two copies."""
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
    x = op.operands[0]
    rank = len(x.shape)

    def places(prim: PrimBody, at: Sequence[Index]) -> Sequence[Index]:
        inner = at[len(at) - rank :]
        return [arith.remui(index, prim.dim(prim.ins[0], i)) for i, index in enumerate(inner)]

    return [_gathered(lz, op, x, places, tuple(op.args.ints_attr("repeats")))]


@legalization("relax.repeat")
def legalize_repeat(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    x, repeats, axis = op.operands[0], op.args.int_attr("repeats"), 0
    if op.args.is_unit("axis"):
        flat = flatten(Value(x.ssa))
        x = Arg(flat.ssa, flat.tensor_info)
    else:
        axis = normalize_axis(op.args.op, op.args.int_attr("axis"), len(x.shape))

    def places(prim: PrimBody, at: Sequence[Index]) -> Sequence[Index]:
        times = prim.index(repeats)
        return [arith.divui(index, times) if i == axis else index for i, index in enumerate(at)]

    return [_gathered(lz, op, x, places, (repeats, axis))]


def _gathered(lz: Legalizer, op: OpCall, x: Arg, places: Places, key: Hashable) -> Arg:
    """The elements of `x` at `places`."""
    result = op.results[0]

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        rank = len(result.shape or ())
        if is_empty(result):
            return list(prim.outs)

        def element(_: Scalar) -> Scalar:
            at = [linalg.IndexOp(axis).result for axis in range(rank)]
            return tensor.extract(prim.ins[0], list(places(prim, at)))

        return generic([], [], prim.outs, [identity(rank)], ["parallel"] * rank, element)

    return lz.prim(op.args.op, [x], [result], body, pattern="opaque", key=key)[0]
