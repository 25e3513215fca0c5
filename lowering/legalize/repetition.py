"""Legalisation of flip, roll, tile and repeat: each element of the result is read from its place."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from relax_mlir import symbolic
from relax_mlir.dialects.base import normalize_axis
from relax_mlir.dialects.value import Value
from relax_mlir.dialects.views import flatten, reshape
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, legalization
from relax_mlir.lowering.legalize.window import Index, is_empty
from relax_mlir.mlir import arith, ir, linalg, tensor
from relax_mlir.scalars.arithmetic import Scalar
from relax_mlir.scalars.linalg_builders import generic, identity

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

    def places(prim: PrimBody, at: Sequence[Index]) -> Sequence[Index]:
        found = list(at)
        for axis, shift in totals.items():
            size = x.shape[axis]
            moved = arith.subi(at[axis], prim.index(symbolic.floormod(shift, symbolic.maximum(size, 1))))
            behind = arith.addi(moved, prim.dim(prim.ins[0], axis))
            is_before = arith.cmpi(arith.CmpIPredicate.slt, moved, prim.index(0))
            found[axis] = arith.select(is_before, behind, moved)
        return found

    flat_result = replace(op, results=(x.info,))
    found = _gathered(lz, flat_result, x, places, tuple(totals.items()))
    if not op.args.is_unit("axis"):
        return [found]
    view = reshape(Value(found.ssa), shape)
    return [Arg(view.ssa, op.results[0])]


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
