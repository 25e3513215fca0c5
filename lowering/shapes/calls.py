"""Calls of prim funcs and of Relax functions, in destination-passing style."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.calls import destinations
from relax_mlir.dialects.types import StructInfo, Tensor, Tuple, dims_from_attr, struct_info
from relax_mlir.error import UnsupportedError
from relax_mlir.lowering.shapes.body import BodyLowering, Lowered, cast, handles, unflatten
from relax_mlir.lowering.shapes.buffers import fresh_buffer, owned_tensor, read_buffer
from relax_mlir.mlir import func, ir, memref


@handles("relax.call_tir")
def _call_tir(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
    callee = _callee(body, op, name)
    outs = [body.empty(info) for info in destination_infos(op)]
    arguments = body.flat(op.operands[0])
    extra = [body.symbols.value(d) for d in dims_from_attr(op.attributes["tir_vars"]) if d is not None]
    inputs = list(callee.type.inputs)
    given = [*arguments, *outs, *extra]
    if len(given) != len(inputs):
        raise UnsupportedError(
            f"{location_text(op.location)}: "
            f"call_tir of '{name}': {len(given)} arguments (outputs and tir_vars included), "
            f"the prim func takes {len(inputs)}"
        )
    if any(isinstance(t, ir.MemRefType) for t in inputs):
        return _call_memref_prim(body, op, name, callee, arguments, extra)
    cast_args = [
        cast(v, t) if isinstance(t, ir.RankedTensorType) else v for v, t in zip(given, inputs, strict=True)
    ]
    results = func.CallOp(list(callee.type.results), name, cast_args).results
    return call_result(op, [cast(r, out.type) for r, out in zip(results, outs, strict=True)])


def _call_memref_prim(
    body: BodyLowering,
    op: ir.Operation,
    name: str,
    callee: func.FuncOp,
    arguments: Sequence[ir.Value],
    extra: Sequence[ir.Value],
) -> Sequence[Lowered]:
    """Call of a user's prim func on memrefs: reads its inputs in place, fills fresh buffers."""
    ins = [read_buffer(a) if isinstance(a.type, ir.RankedTensorType) else a for a in arguments]
    infos = destination_infos(op)
    outs = [fresh_buffer(body, info) for info in infos]
    given = [*ins, *outs, *extra]
    args = [
        memref.cast(t, v) if isinstance(t, ir.MemRefType) and v.type != t else v
        for v, t in zip(given, callee.type.inputs, strict=True)
    ]
    func.CallOp([], name, args)
    return call_result(
        op, [owned_tensor(info.storage_type(), out) for info, out in zip(infos, outs, strict=True)]
    )


def destination_infos(op: ir.Operation) -> list[Tensor]:
    """The tensors that a destination-passing call fills."""
    return [info for info in destinations(struct_info(op.results[0].type)) if isinstance(info, Tensor)]


def call_result(op: ir.Operation, tensors: Sequence[ir.Value]) -> Sequence[Lowered]:
    """The result of a call: its tensor, or the tuple of them."""
    return [tuple(tensors)] if isinstance(op.results[0].type, ir.TupleType) else list(tensors)


def _callee(body: BodyLowering, op: ir.Operation, name: str) -> func.FuncOp:
    if name not in body.callees:
        raise UnsupportedError(
            f"{location_text(op.location)}: {op.name}: the module has no function '{name}'"
        )
    return body.callees[name]


@handles("relax.call")
def _call(body: BodyLowering, op: ir.Operation) -> Sequence[Lowered]:
    name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
    callee = _callee(body, op, name)
    info = struct_info(op.results[0].type)
    arguments = body.flat(op.operands[0])
    outs = [body.empty(leaf) for leaf in _result_tensors(op, info)]
    given = [*arguments, *outs]
    inputs = list(callee.type.inputs)
    args = [
        cast(v, t) if isinstance(t, ir.RankedTensorType) else v for v, t in zip(given, inputs, strict=True)
    ]
    results = func.CallOp(list(callee.type.results), name, args).results
    return [unflatten(info, [cast(r, out.type) for r, out in zip(results, outs, strict=True)])]


def _result_tensors(op: ir.Operation, info: StructInfo) -> list[Tensor]:
    if isinstance(info, Tuple):
        return [leaf for item in info.fields for leaf in _result_tensors(op, item)]
    if not isinstance(info, Tensor) or info.known_shape is None:
        raise UnsupportedError(
            f"{location_text(op.location)}: "
            f"{op.name}: its result is {info}; native code returns tensors of known shape"
        )
    return [info]
