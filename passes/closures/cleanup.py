"""Removal of unused closures, and the check that no function value is left."""

from __future__ import annotations

from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.diagnostics import where
from relax_mlir.dialects.closures import MakeClosureOp
from relax_mlir.dialects.traits import HoldsFunctionValues, ops_with
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import callee_of, entry_block, ops_of
from relax_mlir.mlir import ir
from relax_mlir.passes.closures.sources import has_callables
from relax_mlir.transform import relax_functions

DROPPED = ops_with(HoldsFunctionValues)


def clean(module: ir.Module) -> bool:
    """Remove unused closures and uncalled private functions over function values; True if anything changed."""
    changed, again = False, True
    while again:
        again = False
        for function in list(relax_functions(module)):
            again |= _drop_unused(entry_block(function))
        again |= _drop_functions(module)
        changed |= again
    return changed


def _is_unused(value: ir.Value) -> bool:
    return not any(True for _ in value.uses)


def _drop_unused(block: ir.Block) -> bool:
    changed = False
    for view in reversed(list(block.operations)):
        op = view.operation
        for region in op.regions:
            for nested in region.blocks:
                changed |= _drop_unused(nested)
        if op.name in DROPPED and all(map(_is_unused, op.results)) and len(op.results):
            op.erase()
            changed = True
        elif op.name == "scf.if":
            changed |= _strip(op)
    return changed


def _strip(op: ir.Operation) -> bool:
    """Remove unused function results of a conditional; True if there were any."""
    kept = [not (has_callables(result.type) and _is_unused(result)) for result in op.results]
    if all(kept):
        return False
    types = [result.type for result, keep in zip(op.results, kept, strict=True) if keep]
    with op.location, ir.InsertionPoint(op):
        new = ir.Operation.create("scf.if", results=types, operands=list(op.operands), regions=2)
    for index, region in enumerate(op.regions):
        block = region.blocks[0]
        block.append_to(new.regions[index])
        end = block.operations[-1].operation
        with end.location, ir.InsertionPoint(end):
            ir.Operation.create(
                "scf.yield", operands=[v for v, keep in zip(end.operands, kept, strict=True) if keep]
            )
        end.erase()
    remaining = list(new.results)
    for result, keep in zip(op.results, kept, strict=True):
        if keep:
            result.replace_all_uses_with(remaining.pop(0))
    op.erase()
    return True


def _drop_functions(module: ir.Module) -> bool:
    functions = list(relax_functions(module))
    called = {
        callee_of(op)
        for function in functions
        for op in ops_of(function.operation)
        if op.name in ("relax.call", MakeClosureOp.OPERATION_NAME)
    }
    dropped = [
        function
        for function in functions
        if "sym_visibility" in function.attributes
        and function.name.value not in called
        and any(map(has_callables, [*function.type.inputs, *function.type.results]))
    ]
    for function in dropped:
        function.operation.erase()
    return bool(dropped)


def check(module: ir.Module) -> None:
    """Raise `UnsupportedError` if a function value is left."""
    for function in list(relax_functions(module)):
        name = function.name.value
        public = "sym_visibility" not in function.attributes
        for parameter, type_ in zip(parameter_names(function), function.type.inputs, strict=True):
            if public and has_callables(type_):
                raise UnsupportedError(
                    f"{where(function.operation)}: {name}: parameter '{parameter}' is a function; native functions are "
                    f"not called with functions: make '{name}' private, and call it with functions of the module"
                )
        if public and any(map(has_callables, function.type.results)):
            raise UnsupportedError(
                f"{where(function.operation)}: {name}: its result holds a function; native functions return no "
                "functions: return what it computes"
            )
    for function in list(relax_functions(module)):
        for op in ops_of(function.operation):
            if any(has_callables(value.type) for value in (*op.operands, *op.results)):
                raise UnsupportedError(
                    f"{where(op)}: {op.name} in '{function.name.value}': which function it is about is known only when "
                    "the program runs; make the function where it is called, or choose between calls by a conditional"
                )
