"""Legalisation of stack, meshgrid and outer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relax_mlir.dialects.base import normalize_axis
from relax_mlir.dialects.stacking import grid_order
from relax_mlir.dialects.value import Value
from relax_mlir.dialects.views import expand_dims
from relax_mlir.lowering.legalize.elementwise import dtype_of, elementwise_prim
from relax_mlir.lowering.legalize.manipulate import concatenated
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, legalization
from relax_mlir.mlir import ir
from relax_mlir.scalars.arithmetic import multiply, widened
from relax_mlir.scalars.linalg_builders import generic, identity, projection


@legalization("relax.stack")
def legalize_stack(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    """Concatenate views with an added dimension of size 1."""
    axis = normalize_axis(op.args.op, op.args.int_attr("axis"), len(op.results[0].shape or ()))
    return concatenated(lz, replace(op, operands=tuple(_with_axis(x, axis) for x in op.operands)), axis)


@legalization("relax.outer")
def legalize_outer(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    x1, x2 = op.operands
    rule, dtype = widened(multiply), dtype_of(x1)
    column = replace(op, operands=(_with_axis(x1, 1), _with_axis(x2, 0)))
    return elementwise_prim(lz, column, lambda a, b: rule(dtype, a, b))


def _with_axis(x: Arg, axis: int) -> Arg:
    """`x` with an added dimension of size 1; a view."""
    view = expand_dims(Value(x.ssa), axis)
    return Arg(view.ssa, view.tensor_info)


@legalization("relax.meshgrid")
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
