"""Calls of `te.extern` operations, between calls of the prim funcs before and after them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects import calls, types
from relax_mlir.dialects.value import Value
from relax_mlir.ir_module import IRModule
from relax_mlir.te.extern import ExternOp
from relax_mlir.te.graph import operations_of
from relax_mlir.te.tensors import Tensor

Known = list[tuple[Tensor, Value]]
"""Tensors with known values."""


def with_externs(
    builder: BlockBuilder,
    inputs: Sequence[tuple[Tensor, Value]],
    outputs: Sequence[Tensor],
    compute: Callable[[Known, Sequence[Tensor]], list[Value]],
) -> Known:
    """Emit the calls of all extern operations that `outputs` need; return the inputs together with their results.

    `compute` emits the call that computes tensors from known ones.
    """
    known = list(inputs)
    for op in operations_of(outputs, [tensor for tensor, _ in inputs]):
        if isinstance(op, ExternOp):
            known += zip(op.outputs, _call(builder, op, known, compute), strict=True)
    return known


def _call(
    builder: BlockBuilder,
    op: ExternOp,
    known: Known,
    compute: Callable[[Known, Sequence[Tensor]], list[Value]],
) -> list[Value]:
    there = {id(tensor) for tensor, _ in known}
    missing = [tensor for tensor in op.input_tensors if id(tensor) not in there]
    if missing:
        known += zip(missing, compute(known, missing), strict=True)
    values = {id(tensor): value for tensor, value in known}
    assert op.call is not None
    args = [values[id(item)] if isinstance(item, Tensor) else item for item in op.call.args]
    infos = [types.Tensor(output.shape, output.dtype) for output in op.outputs]
    out = infos if len(infos) > 1 else infos[0]
    if isinstance(op.call.callee, str):
        found = calls.call_dps_packed(op.call.callee, args, out)
    else:
        callee = op.call.callee
        own = str(next(iter(callee))) if isinstance(callee, IRModule) else str(callee.name.value)
        found = calls.call_tir(builder.add_func(callee, own), args, out)
    return list(found) if len(infos) > 1 else [found]
