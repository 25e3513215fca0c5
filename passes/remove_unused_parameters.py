"""Pass ``remove-unused-parameters``: remove unused parameters of private functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from relax_mlir.analysis.type_inference import call_mapping, needs_checks
from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.dialects.structure import ShapeExprOp
from relax_mlir.dialects.symbols import parameter_symbols
from relax_mlir.dialects.types import Shape, StructInfo, Tuple, dims_attr, struct_info
from relax_mlir.ir_queries import entry_block, fresh_name, is_used
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite.effects import make_all_effects_explicit
from relax_mlir.rewrite.function_editing import (
    arguments_of,
    calls_of,
    is_private,
    names_used,
    remove_parameters,
    set_arguments,
    symbols_of,
    update_type,
)
from relax_mlir.symbolic import symbol
from relax_mlir.transform import ModulePass, PassContext, relax_functions

SIZES = "sizes"
"""Name of the parameter for symbols that only removed parameters defined."""


class RemoveUnusedParameters(ModulePass):
    """Remove unused parameters of private functions, and the arguments of their calls.

    If only removed parameters define a symbol that is still used, the function gets a shape value with it as its last
    parameter. Values that become unused in callers are removed, too. A parameter stays if some call checks its argument
    at run time, or the argument of another parameter with the same symbols. Follows TVM's RemoveUnusedParameters.
    """

    name: ClassVar[str] = "remove-unused-parameters"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        make_all_effects_explicit(module)
        used_otherwise = names_used(module)
        changed = True
        while changed:
            calls = calls_of(module)
            changed = False
            for function in relax_functions(module):
                name = function.name.value
                if is_private(function) and name not in used_otherwise:
                    changed |= _shrink(function, calls.get(name, []))


def _shrink(function: func.FuncOp, calls: list[ir.Operation]) -> bool:
    block = entry_block(function)
    infos = [struct_info(argument.type) for argument in block.arguments]
    checked = _checked(infos, calls)
    unused = [i for i, argument in enumerate(block.arguments) if i not in checked and not is_used(argument)]
    if not unused:
        return False
    kept = [i for i in range(len(block.arguments)) if i not in unused]
    defined = set(parameter_symbols([infos[i] for i in kept]))
    was_defined = set(parameter_symbols(infos)) - defined
    probe = _symbols_without(function, unused)
    missing = [name for name in probe if name in was_defined]
    if missing and [infos[i] for i in unused] == [Shape(tuple(map(symbol, missing)))]:
        return False  # it defines symbols
    shape = Shape(tuple(map(symbol, missing)))
    for call in calls:
        arguments = arguments_of(call)
        new = [arguments[i] for i in kept]
        if missing:
            new.append(_sizes(call, function, missing))
        set_arguments(call, new)
    remove_parameters(function, unused)
    if missing:
        names = parameter_names(function)
        block.add_argument(shape.to_type(), function.location)
        update_type(function, [*names, fresh_name(SIZES, names)])
    return True


def _checked(infos: Sequence[StructInfo], calls: Sequence[ir.Operation]) -> set[int]:
    """The parameters whose removal would drop run-time checks of a call, or bind symbols to another argument."""
    symbols = [set(info.symbols()) for info in infos]
    unproved = {
        i
        for call in calls
        for i, (info, argument) in enumerate(zip(infos, arguments_of(call), strict=True))
        if needs_checks(info, struct_info(argument.type))
    }
    return {i for i in range(len(infos)) if i in unproved or any(symbols[i] & symbols[j] for j in unproved)}


def _symbols_without(function: func.FuncOp, unused: list[int]) -> list[str]:
    """The symbols of the function that occur outside of its unused parameters."""
    copy = function.operation.clone(ip=False).opview
    assert isinstance(copy, func.FuncOp)
    remove_parameters(copy, unused)
    return symbols_of(copy)


def _sizes(call: ir.Operation, function: func.FuncOp, names: list[str]) -> ir.Value:
    arguments = struct_info(call.operands[0].type)
    assert isinstance(arguments, Tuple)
    mapping = call_mapping(function.name.value, function, arguments.fields)
    dims = [mapping[name] for name in names]
    with ir.InsertionPoint(call), call.location:
        made = ir.Operation.create(
            ShapeExprOp.OPERATION_NAME,
            results=[Shape(tuple(dims)).to_type()],
            attributes={"values": dims_attr(dims)},
        )
    return made.results[0]
