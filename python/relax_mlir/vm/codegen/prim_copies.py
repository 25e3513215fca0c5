"""Copy prim funcs of a module to its kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from relax_mlir.dialects.attributes import EXPOSED_SUFFIX, EXPOSES
from relax_mlir.dialects.prim_entries import entry_of, exposes, prim_callees
from relax_mlir.ir_queries import callee_of, ops_of
from relax_mlir.mlir import func, ir


def with_callees(functions: Mapping[str, func.FuncOp], prims: Iterable[str]) -> list[str]:
    """Return the names of prim funcs and of their transitive callees."""
    found = dict.fromkeys(prims)
    todo = list(found)
    while todo:
        inner = prim_callees(functions[todo.pop()])
        todo += [name for name in inner if name not in found]
        found |= dict.fromkeys(inner)
    return list(found)


def add_prim_copies(
    functions: Mapping[str, func.FuncOp], prims: Iterable[str], kernels: ir.Module, taken: set[str]
) -> dict[str, ir.Operation]:
    """Copy prim funcs and their callees to the kernels, under names that are not in `taken`.

    Return the copies by prim func name, and add their new names to `taken`.
    """
    names: dict[str, str] = {}
    for name in with_callees(functions, prims):
        new = name
        while new in taken:
            new += EXPOSED_SUFFIX  # errors omit the suffix
        taken.add(new)
        names[name] = new
    copies = {}
    for name, new in names.items():
        with ir.InsertionPoint(kernels.body):
            copy = functions[name].operation.clone()
        copy.attributes["sym_name"] = ir.StringAttr.get(new)
        for call in ops_of(copy, "func.call"):
            call.attributes["callee"] = ir.FlatSymbolRefAttr.get(names[callee_of(call)])
        entry = entry_of(functions[name])
        if entry is not None:
            copy.attributes[EXPOSES] = exposes(names[entry.callee], entry.written)
        copies[name] = copy
    return copies
