"""Conditionals."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.diagnostics import where
from relax_mlir.dialects.types import Prim, Shape, StructInfo, Tensor, Tuple, struct_info
from relax_mlir.error import UnsupportedError
from relax_mlir.lowering.shapes.body import (
    BodyLowering,
    Lowered,
    cast,
    flatten,
    handles,
    is_handle,
    memory_of,
    unflatten,
)
from relax_mlir.lowering.shapes.leaves import handle_types
from relax_mlir.mlir import bufferization, ir, scf


@handles("scf.if")
def _if(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    infos = [struct_info(result.type) for result in op.results]
    condition = body.tensor(op.operands[0])
    probe = [t for info in infos for t in leaf_types(op, info)]
    new = scf.IfOp(condition, probe, has_else=True)
    for old_region, block in zip(op.regions, (new.then_block, new.else_block), strict=True):
        with ir.InsertionPoint(block):
            inner = body.nested()
            blocks = list(old_region.blocks)
            yielded = [
                leaf for item in (inner.lower_block(blocks[0]) if blocks else []) for leaf in flatten(item)
            ]
            values = [
                _own(cast(v, t)) if isinstance(t, ir.RankedTensorType) else v
                for v, t in zip(yielded, probe, strict=True)
            ]
            scf.YieldOp(values)
    body.checked.update(new.results)
    flat: list[ir.Value] = list(new.results)
    return [unflatten(info, flat) for info in infos]


@handles("arith.select")
def _select(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    """Lower a conditional that canonicalisation has replaced by a select, because its branches are empty."""
    info = struct_info(op.results[0].type)
    new = scf.IfOp(body.tensor(op.operands[0]), leaf_types(op, info), has_else=True)
    for value, block in zip(list(op.operands)[1:], (new.then_block, new.else_block), strict=True):
        with ir.InsertionPoint(block):
            leaves = body.flat(value)
            scf.YieldOp([_own(v) if isinstance(v.type, ir.RankedTensorType) else v for v in leaves])
    body.checked.update(new.results)
    flat: list[ir.Value] = list(new.results)
    return [unflatten(info, flat)]


@handles("arith.index_cast")
def _index_cast(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    """An ``i64`` is an ``index`` at level T; raise `VerifyError` for integers that are not Relax values."""
    for value in (op.operands[0], op.results[0]):
        struct_info(value.type)
    return [body.values[op.operands[0]]]


def _own(value: ir.Value) -> ir.Value:
    """Return `value`, or a copy of it if a loop carries it: the same iteration writes its memory.

    Bufferisation uses one memory for all values that a conditional may yield.
    """
    base = memory_of(value)
    if isinstance(base, ir.BlockArgument) and base.owner.owner.operation.name in ("scf.for", "scf.while"):
        return bufferization.alloc_tensor(value.type, [], copy=value)
    return value


def leaf_types(op: ir.Operation, info: StructInfo) -> list[ir.Type]:
    """The types at level T of a control-flow result that `info` describes."""
    if isinstance(info, Tuple):
        return [t for item in info.fields for t in leaf_types(op, item)]
    if is_handle(info):
        return handle_types()
    if isinstance(info, Tensor):
        return [info.storage_type()]
    if isinstance(info, Shape) and info.values is not None:
        return [ir.IndexType.get()] * len(info.values)
    if isinstance(info, Prim):
        return [ir.IndexType.get()]
    raise UnsupportedError(f"{where(op)}: {op.name}: its result is {info}, which native code cannot yield")
