"""Buffer-level entries of tensor-level prim funcs, by which prim funcs on buffers call them until bufferisation.

An entry is a prim func with the attribute `EXPOSES`, which names a tensor-level prim func and the arguments that it
writes. It has no body before level M, where `call-exposed-prim-funcs` adds a call of the prim func.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.attributes import EXPOSES, PRIM_FUNC
from relax_mlir.ir_queries import callee_of, ops_of
from relax_mlir.mlir import func, ir

SUFFIX = ".memory"


@dataclass(frozen=True)
class PrimEntry:
    """The prim func `callee`, and the positions of the arguments that it writes."""

    callee: str
    written: tuple[int, ...]


def entry_of(function: func.FuncOp) -> PrimEntry | None:
    """The prim func of an entry; None for other functions."""
    if PRIM_FUNC not in function.attributes or EXPOSES not in function.attributes:
        return None
    return _entry(function) or PrimEntry("", ())


def exposed_prims(functions: Iterable[func.FuncOp]) -> dict[str, tuple[int, ...]]:
    """The names of prim funcs with entries, each with the positions of the arguments that it writes."""
    entries = (_entry(function) for function in functions if EXPOSES in function.attributes)
    return {entry.callee: entry.written for entry in entries if entry is not None}


def _entry(function: func.FuncOp) -> PrimEntry | None:
    """The parsed attribute of an entry; None if it is malformed."""
    given = function.attributes[EXPOSES]
    callee = given["callee"] if isinstance(given, ir.DictAttr) and "callee" in given else None
    written = given["written"] if isinstance(given, ir.DictAttr) and "written" in given else None
    if not isinstance(callee, ir.FlatSymbolRefAttr) or not isinstance(written, ir.DenseI64ArrayAttr):
        return None
    return PrimEntry(str(callee.value), tuple(written))


def exposes(callee: str, written: Sequence[int]) -> ir.DictAttr:
    """The attribute of an entry."""
    symbol, numbers = ir.FlatSymbolRefAttr.get(callee), ir.DenseI64ArrayAttr.get(list(written))
    return ir.DictAttr.get({"callee": symbol, "written": numbers})


def make_entry(block: ir.Block, name: str, callee: func.FuncOp, written: Sequence[int]) -> func.FuncOp:
    """Create an entry of a tensor-level prim func at the end of the module's body `block`."""
    types = [on_memory(type_) for type_ in callee.type.inputs]
    with ir.InsertionPoint(block):
        entry = func.FuncOp(name, ir.FunctionType.get(types, []), visibility="private")
    entry.attributes[PRIM_FUNC] = ir.UnitAttr.get()
    entry.attributes[EXPOSES] = exposes(callee.name.value, written)
    with ir.InsertionPoint(entry.add_entry_block()):
        func.ReturnOp([])
    return entry


def against_entry(function: func.FuncOp, callee: func.FuncOp | None, written: tuple[int, ...]) -> str:
    """The reason why a function is not a valid entry of a prim func; "" if it is."""
    if callee is None or PRIM_FUNC not in callee.attributes or callee.is_external:
        return "it names no prim func"
    if [on_memory(type_) for type_ in callee.type.inputs] != list(function.type.inputs):
        return "its parameters are not those of the prim func"
    tensors = [i for i, t in enumerate(callee.type.inputs) if isinstance(t, ir.RankedTensorType)]
    if not callee.type.results or list(written) != tensors[len(tensors) - len(callee.type.results) :]:
        return "the prim func works on tensors, and writes its last ones"
    ops = [] if function.is_external else [view.operation.name for view in function.entry_block.operations]
    return "" if ops == ["func.return"] and not function.type.results else "it has a body of its own"


def prim_callees(function: func.FuncOp) -> list[str]:
    """The names of the functions that a prim func calls, now or from level M on."""
    called = [callee_of(op) for op in ops_of(function.operation, "func.call")]
    entry = entry_of(function)
    return called if entry is None else [*called, entry.callee]


def on_memory(type_: ir.Type) -> ir.Type:
    """The memref type of a tensor type; other types are unchanged."""
    if not isinstance(type_, ir.RankedTensorType):
        return type_
    return ir.MemRefType.get(type_.shape, type_.element_type)
