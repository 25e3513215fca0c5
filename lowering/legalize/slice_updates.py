"""Legalisation of slice_scatter: a prim func that writes the slice in place.

The call gets a copy of the tensor if its old elements are still needed: for a parameter, or a value that is used later.
"""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.base import normalize_axis
from relax_mlir.dialects.slice_updates import replaced_slice
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, PrimBody, legalization
from relax_mlir.lowering.legalize.window import Window, is_empty, sizes_of
from relax_mlir.mlir import ir, linalg


@legalization("relax.slice_scatter")
def legalize_slice_scatter(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    whole, src = op.operands
    axis = normalize_axis(op.args.op, op.args.int_attr("axis"), len(whole.shape))
    part = replaced_slice(op.args, whole.shape[axis])
    assert part is not None

    def body(prim: PrimBody) -> Sequence[ir.Value]:
        result, new = prim.ins
        window = Window(sizes_of(prim, new))
        window.offsets[axis] = part.begin if isinstance(part.begin, int) else prim.index(part.begin)
        window.strides[axis] = part.stride
        copied = linalg.copy(new, outs=[window.extract(result, new.type)])
        return [window.insert(copied, result)]

    if is_empty(src.info):
        return [whole]  # upstream refuses a slice that begins at the end
    return [lz.prim_inplace(op.args.op, op.operands, body, key=(axis, str(part.begin), part.stride))]
