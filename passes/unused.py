"""Unused code: `dead-code-elimination`, `remove-unused-parameters`, `remove-unused-outputs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from relax_mlir.analysis.call_graph import impure_functions
from relax_mlir.analysis.type_inference import call_mapping, needs_checks
from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.dialects.structure import ShapeExprOp, TupleGetItemOp, pack, unpack
from relax_mlir.dialects.symbols import parameter_symbols
from relax_mlir.dialects.traits import EndsBlock, has_trait
from relax_mlir.dialects.types import Shape, StructInfo, Tuple, dims_attr, struct_info
from relax_mlir.ir_queries import (
    callee_of,
    defining_op,
    entry_block,
    fresh_name,
    is_used,
    ops_of,
    symbols_named,
)
from relax_mlir.mlir import func, ir
from relax_mlir.passes.bindings import clean_outputs
from relax_mlir.rewrite.effects import make_all_effects_explicit
from relax_mlir.rewrite.function_editing import (
    arguments_of,
    calls_of,
    erase_if_unused,
    is_private,
    names_used,
    remove_parameters,
    set_arguments,
    symbols_of,
    update_type,
)
from relax_mlir.rewrite.replace import removable
from relax_mlir.symbolic import symbol
from relax_mlir.transform import ModulePass, PassContext, relax_functions
from relax_mlir.transform.passes import dataflow_blocks, optimized_functions

# Pass `dead-code-elimination`: remove unused bindings and unreachable private functions.


class DeadCodeElimination(ModulePass):
    """Remove unused pure bindings, unused outputs of dataflow blocks, and unreachable private functions.

    A `match_shape` stays, since it checks and may define symbols. Calls of functions without effects count as pure. A
    function is reachable if a public function calls or names it, directly or transitively.
    """

    name: ClassVar[str] = "dead-code-elimination"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        make_all_effects_explicit(module)
        functions = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
        impure = impure_functions(functions)
        for function in optimized_functions(module):
            for block in dataflow_blocks(function):
                clean_outputs(block)
            _clean(entry_block(function), impure)
        _drop_unreachable(module)


def _clean(block: ir.Block, impure: set[str]) -> None:
    for view in reversed(list(block.operations)):
        op = view.operation
        if not has_trait(op, EndsBlock) and _is_unused(op, impure):
            op.erase()
            continue
        for region in op.regions:
            for nested in region.blocks:
                _clean(nested, impure)


def _is_unused(op: ir.Operation, impure: set[str]) -> bool:
    if any(is_used(result) for result in op.results):
        return False
    if op.name == "relax.call":
        return callee_of(op) not in impure
    if op.name == "scf.if":
        inside = [view.operation for region in op.regions for block in region.blocks for view in block.operations]
        return all(has_trait(inner, EndsBlock) or removable(inner) for inner in inside)
    return removable(op)


def _drop_unreachable(module: ir.Module) -> None:
    tops = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
    waiting = [name for name, op in tops.items() if "sym_visibility" not in op.attributes]
    reached = set(waiting)
    while waiting:
        ops = ops_of(tops[waiting.pop()].operation)
        named = {name for op in ops for name in symbols_named(op) if name in tops}
        waiting += named - reached
        reached |= named
    for name, op in tops.items():
        if name not in reached:
            op.operation.erase()


# Pass `remove-unused-parameters`: remove unused parameters of private functions.


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
                    changed |= _remove_parameters(function, calls.get(name, []))


def _remove_parameters(function: func.FuncOp, calls: list[ir.Operation]) -> bool:
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


# Pass `remove-unused-outputs`: remove unused results of private functions.


class RemoveUnusedOutputs(ModulePass):
    """Remove fields of result tuples of private functions that no call in the module extracts.

    A function with one remaining field returns it directly. Computations for removed fields are left to
    ``canonicalize`` and ``cse``. Follows TVM's RemoveUnusedOutputs.
    """

    name: ClassVar[str] = "remove-unused-outputs"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        make_all_effects_explicit(module)
        used_otherwise = names_used(module)
        changed = True
        while changed:
            calls = calls_of(module)
            changed = False
            for function in relax_functions(module):
                name = function.name.value
                if is_private(function) and name not in used_otherwise and calls.get(name):
                    changed |= _remove_outputs(function, calls[name])


def _remove_outputs(function: func.FuncOp, calls: Sequence[ir.Operation]) -> bool:
    info = struct_info(function.type.results[0])
    if not isinstance(info, Tuple) or len(info.fields) == 0:
        return False
    used: set[int] = set()
    for call in calls:
        for use in call.results[0].uses:
            user = use.owner.operation
            if user.name != TupleGetItemOp.OPERATION_NAME:
                return False
            if is_used(user.results[0]):
                used.add(_index(user))
    kept = sorted(used) or [0]
    if len(kept) == len(info.fields):
        return False
    _return_fields(function, info, kept)
    for call in calls:
        _update_call(call, kept)
    return True


def _index(user: ir.Operation) -> int:
    return int(ir.IntegerAttr(user.attributes["index"]).value)


def _return_fields(function: func.FuncOp, info: Tuple, kept: Sequence[int]) -> None:
    returned = entry_block(function).operations[-1].operation
    old = returned.operands[0]
    with ir.InsertionPoint(returned), returned.location:
        fields = unpack(old, [field.to_type() for field in info.fields])
        values = [fields[index] for index in kept]
        returned.operands[0] = values[0] if len(values) == 1 else pack(values, returned.location)
    for item in fields:
        defining = defining_op(item)
        if defining is not None and defining.name == TupleGetItemOp.OPERATION_NAME and not is_used(item):
            defining.erase()
    erase_if_unused(old)
    update_type(function)


def _update_call(call: ir.Operation, kept: Sequence[int]) -> None:
    """Update the result type of a call, and the indices of the fields that are extracted from it."""
    old = call.results[0]
    users = [use.owner.operation for use in old.uses]
    info = struct_info(old.type)
    assert isinstance(info, Tuple)
    single = len(kept) == 1
    old.set_type(info.fields[kept[0]].to_type() if single else Tuple([info.fields[i] for i in kept]).to_type())
    i64 = ir.IntegerType.get_signless(64)
    for user in users:
        if not is_used(user.results[0]):
            user.erase()
        elif single:
            user.results[0].replace_all_uses_with(old)
            user.erase()
        else:
            user.attributes["index"] = ir.IntegerAttr.get(i64, kept.index(_index(user)))
