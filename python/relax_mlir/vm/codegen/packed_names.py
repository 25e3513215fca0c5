"""Calls of packed functions in a module, and the names used in its function table."""

from __future__ import annotations

from collections.abc import Iterable

from relax_mlir.dialects.traits import CallsPacked, HasDestination, has_trait
from relax_mlir.ir_queries import ops_of
from relax_mlir.mlir import ir
from relax_mlir.transform import relax_functions
from relax_mlir.vm.codegen.exposed_prim_funcs import Entry


def packed_names(module: ir.Module, entries: Iterable[Entry]) -> set[str]:
    """Return the names of Relax functions, of their packed callees, and of prim funcs that users may call."""
    functions = relax_functions(module)
    calls = [
        op
        for function in functions
        for op in ops_of(function.operation)
        if has_trait(op, CallsPacked, HasDestination) and "func" in op.attributes
    ]
    found = {ir.StringAttr(op.attributes["func"]).value for op in calls}
    found |= {function.name.value for function in functions}
    return found | {name for entry in entries for name in (entry.name, entry.packed)}


def packed_attributes(name: str, operands: int) -> dict[str, ir.Attribute]:
    """Return the attributes of a call of the packed function `name` whose arguments are all values."""
    return {
        "func": ir.StringAttr.get(name),
        "arg_spec": ir.ArrayAttr.get([ir.UnitAttr.get()] * operands),
    }
