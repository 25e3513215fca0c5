"""Legalisation of ops that keep the order of elements: batch_flatten, dropout, and gradient markers."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.lowering.legalize.convolution import reshaped
from relax_mlir.lowering.legalize.elementwise import dtype_of, elementwise_prim
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, legalization
from relax_mlir.scalars.arithmetic import const


@legalization("relax.nn_batch_flatten")
def legalize_batch_flatten(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    return [reshaped(op.operands[0], op.results[0].known_shape or ())]


@legalization("relax.grad_no_grad", "relax.grad_start_checkpoint", "relax.grad_end_checkpoint")
def legalize_mark(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    return op.operands


@legalization("relax.nn_dropout")
def legalize_dropout(lz: Legalizer, op: OpCall) -> Sequence[Arg]:
    data = op.operands[0]
    dtype = dtype_of(data)
    ones = elementwise_prim(lz, OpCall(op.args, (data,), (data.info,)), lambda x: const(dtype, 1))
    return [data, *ones]
