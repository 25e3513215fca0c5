"""The arguments that a prim func on memrefs stores into, and calls that do not allow it."""

from __future__ import annotations

from collections.abc import Iterator

from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.prim_entries import entry_of
from relax_mlir.dialects.prim_params import prim_params
from relax_mlir.error import Diagnostic
from relax_mlir.ir_queries import callee_of, defining_op, ops_of
from relax_mlir.lowering.legalize.prim_call_sites import CallSites, Site
from relax_mlir.mlir import func, ir

TARGETS = {"memref.store": 1, "affine.store": 1, "memref.copy": 1}
"""Ops that store, and the index of the operand that is the buffer."""


def written_inputs(prims: dict[str, func.FuncOp], sites: CallSites) -> Iterator[Diagnostic]:
    """Report stores into arguments that a call passes as inputs."""
    known: dict[str, dict[int, ir.Operation]] = {}
    for name, calls in sites.sites.items():
        if name not in prims:
            continue
        places = stores(name, prims, known)
        for site in calls:
            for number, op in places.items():
                if number < site.inputs and number not in site.destinations:
                    yield _problem(prims[name], number, op, site)


def stores(
    name: str, prims: dict[str, func.FuncOp], known: dict[str, dict[int, ir.Operation]]
) -> dict[int, ir.Operation]:
    """The indices of the arguments that a prim func stores into, each with an op that does so."""
    if name in known:
        return known[name]
    found: dict[int, ir.Operation] = {}
    known[name] = found
    arguments = list(prims[name].arguments)
    entry = entry_of(prims[name])
    if entry is not None:
        found.update(dict.fromkeys(entry.written, prims[name].operation))
    for op in ops_of(prims[name].operation):
        for value in _targets(op, prims, known):
            root = _root(value)
            if root in arguments:
                found.setdefault(arguments.index(root), op)
    return found


def _targets(
    op: ir.Operation, prims: dict[str, func.FuncOp], known: dict[str, dict[int, ir.Operation]]
) -> Iterator[ir.Value]:
    """The buffers that an op stores into."""
    if op.name in TARGETS:
        yield op.operands[TARGETS[op.name]]
    elif op.name.startswith("linalg.") and "operandSegmentSizes" in op.attributes:
        outs = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))[1]
        yield from _memrefs(list(op.operands)[len(op.operands) - outs :])
    elif op.name.startswith("linalg.") and len(op.regions):
        yield from _memrefs(list(op.operands))  # linalg.map and others do not mark their output
    elif op.name == "func.call":
        written = stores(callee_of(op), prims, known)
        yield from _memrefs([value for number, value in enumerate(op.operands) if number in written])


def _memrefs(values: list[ir.Value]) -> Iterator[ir.Value]:
    yield from (value for value in values if isinstance(value.type, ir.MemRefType))


def _root(value: ir.Value) -> ir.Value:
    """The root buffer of a view."""
    op = defining_op(value)
    while (
        op is not None and op.name.startswith("memref.") and op.name not in ("memref.alloc", "memref.alloca")
    ):
        value = op.operands[0]
        op = defining_op(value)
    return value


def _problem(prim: func.FuncOp, number: int, op: ir.Operation, site: Site) -> Diagnostic:
    declared = prim_params(prim)
    name = f"'{declared[number].name}'" if declared is not None else f"argument {number}"
    call = site.op.name.removeprefix("relax.")
    message = (
        f"prim func '{prim.name.value}' stores into {name} by {op.name}, but {call} at "
        f"{location_text(site.op.location)} gives it as an input, whose elements stay: pass {name} by "
        f"call_tir_inplace with its number, {number}, in inplace_indices, or store into a copy of it in a buffer of "
        "its own"
    )
    return Diagnostic("error", location_text(op.location), message)
