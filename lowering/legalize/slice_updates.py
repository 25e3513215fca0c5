"""Legalisation of slice_scatter: a copy, and a copy into a slice of it.

Bufferisation leaves the first copy out where nobody else reads the tensor.
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
        given, new = prim.ins
        result = linalg.copy(given, outs=[prim.outs[0]])
        if is_empty(src.info):
            return [result]  # upstream refuses a slice that begins at the end
        window = Window(sizes_of(prim, new))
        window.offsets[axis] = part.begin if isinstance(part.begin, int) else prim.index(part.begin)
        window.strides[axis] = part.stride
        copied = linalg.copy(new, outs=[window.extract(result, new.type)])
        return [window.insert(copied, result)]

    key = (axis, str(part.begin), part.stride)
    return lz.prim(op.args.op, op.operands, op.results, body, pattern="opaque", key=key)
