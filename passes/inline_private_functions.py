"""Pass ``inline-private-functions``: inline calls of private Relax functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir import symbolic
from relax_mlir.analysis.call_graph import acts, call_graph, components, impure_functions, recursion
from relax_mlir.analysis.type_inference import call_mapping
from relax_mlir.analysis.variables import binding_order
from relax_mlir.dialects.attributes import FORCE_PURE
from relax_mlir.dialects.structure import converted, is_convertible, leaves, rebuilt
from relax_mlir.dialects.symbols import read_bounds
from relax_mlir.dialects.traits import IsConditional, IsLoop, has_trait
from relax_mlir.dialects.types import StructInfo, Tuple, struct_info, substitute
from relax_mlir.ir_queries import callee_of, entry_block, fresh_name, ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.passes.normalize import Normalize
from relax_mlir.rewrite.effects import make_all_effects_explicit
from relax_mlir.rewrite.function_editing import (
    arguments_of,
    erase_if_unused,
    functions_by_name,
    is_private,
    names_used,
    substitute_symbols,
    symbols_of,
)
from relax_mlir.symbolic import Dim, symbol
from relax_mlir.transform import ModulePass, PassContext, relax_functions


@dataclass(frozen=True)
class InlinePrivateFunctions(ModulePass):
    """Inline calls of private functions, and remove functions that are no longer called.

    Symbols of the callee become dimensions of the call; symbols that its body binds get names that are new in the
    caller. These are not inlined: recursive functions; calls that leave a symbol undetermined, unless a dimension of a
    parameter is that symbol alone; calls whose dimensions are not proved to be within the callee's bounds; functions
    with control flow called in dataflow blocks, which cannot hold it; functions with effects under
    ``relax.force_pure``, since their callers count as pure; functions of more than `max_ops` ops, unless they are
    called only once. Effects are made explicit first, so that changes to arguments stay local to the callee.
    Follows TVM's InlinePrivateFunctions.
    """

    name: ClassVar[str] = "inline-private-functions"
    max_ops: int | None = None

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        Normalize().transform(module, ctx)
        make_all_effects_explicit(module)
        recursive = {name for group in recursion(module) for name in group}
        graph = call_graph(module)
        functions = functions_by_name(module)
        for group in components(graph):  # callees first, so that inlined bodies are already flat
            for name in group:
                self._inline_into(functions[name], functions, recursive)
        remove_uncalled(module)

    def _inline_into(
        self, caller: func.FuncOp, functions: dict[str, func.FuncOp], recursive: set[str]
    ) -> None:
        known = symbols_of(caller)
        for call in [op for op in ops_of(caller.operation) if op.name == "relax.call"]:
            name = callee_of(call)
            callee = functions[name]
            if name in recursive or not is_private(callee) or not self._is_small(callee, functions):
                continue
            if call.parent.name == "relax.dataflow" and _has_control_flow(callee):
                continue
            if FORCE_PURE in callee.attributes and acts(callee.operation, impure_functions(functions)):
                continue
            inline_call(call, callee, caller, known)

    def _is_small(self, callee: func.FuncOp, functions: dict[str, func.FuncOp]) -> bool:
        if self.max_ops is None or len(ops_of(callee.operation)) - 2 <= self.max_ops:
            return True
        calls = [
            op
            for function in functions.values()
            for op in ops_of(function.operation)
            if op.name == "relax.call" and callee_of(op) == callee.name.value
        ]
        return len(calls) == 1


def _has_control_flow(function: func.FuncOp) -> bool:
    return any(has_trait(op, IsConditional, IsLoop) for op in ops_of(function.operation))


def inline_call(
    call: ir.Operation, callee: func.FuncOp, caller: func.FuncOp, known: list[str], mark: bool = True
) -> bool:
    """Inline the body of `callee` at `call`, and erase the call; does nothing if types cannot be made equal.

    Args:
        call: a call of `callee` in `caller`.
        callee: a function of one block.
        caller: the function that contains the call.
        known: the symbols of `caller`; new symbols of the inlined body are appended.
        mark: record in the locations of the ops that they are inlined from the callee.

    Returns True if the call was inlined.
    """
    arguments = arguments_of(call)
    infos = [struct_info(value.type) for value in arguments]
    mapping = call_mapping(callee.name.value, callee, infos)
    new = _rename_others(callee, mapping, known)
    wanted = [substitute(struct_info(t), dict(mapping)) for t in callee.type.inputs]
    with symbolic.assuming(read_bounds(caller)):
        if not all(_lies_between(mapping[name], *pair) for name, pair in read_bounds(callee).items()):
            return False
    if not all(map(is_convertible, infos, wanted)):
        return False
    order = binding_order(_wanted_leaves(infos, wanted), known)
    if order is None:
        return False
    copy = callee.operation.clone(ip=False).opview
    assert isinstance(copy, func.FuncOp)
    substitute_symbols(copy.operation, mapping)
    block = entry_block(copy)
    result = block.operations[-1].operation.operands[0]
    if not is_convertible(struct_info(result.type), struct_info(call.results[0].type)):
        return False
    with ir.InsertionPoint(call), call.location:
        for argument, value in zip(
            block.arguments, _converted_together(arguments, wanted, order), strict=True
        ):
            argument.replace_all_uses_with(value)
    result = block.operations[-1].operation.operands[0]
    body = [view.operation for view in block.operations][:-1]
    if call.parent.name == "relax.dataflow":
        body = [op for item in body for op in _flattened(item)]
        result = block.operations[-1].operation.operands[0]
    for op in body:
        op.move_before(call)
        if mark:
            _mark_inlined(op, call.location)
    with ir.InsertionPoint(call), call.location:
        call.results[0].replace_all_uses_with(converted(result, struct_info(call.results[0].type)))
    old = call.operands[0]
    call.erase()
    erase_if_unused(old)
    known += new
    return True


def _rename_others(callee: func.FuncOp, mapping: dict[str, Dim], known: Sequence[str]) -> list[str]:
    """Map the symbols of `callee` that no argument defines to new ones, which are returned."""
    taken, new = set(known), []
    for name in symbols_of(callee):
        if name not in mapping:
            fresh = fresh_name(name, taken)
            taken.add(fresh)
            new.append(fresh)
            mapping[name] = symbol(fresh)
    return new


def _wanted_leaves(infos: Sequence[StructInfo], wanted: Sequence[StructInfo]) -> list[StructInfo]:
    """The wanted types of the leaves that `leaves` returns for values of types `infos`."""
    found: list[StructInfo] = []
    for have, want in zip(infos, wanted, strict=True):
        if have != want and isinstance(have, Tuple) and isinstance(want, Tuple):
            found += _wanted_leaves(have.fields, want.fields)
        else:
            found.append(want)
    return found


def _converted_together(
    values: Sequence[ir.Value], wanted: Sequence[StructInfo], order: Sequence[int]
) -> list[ir.Value]:
    """The values converted to the wanted types; `order` is the order in which their leaves are converted."""
    parts = [leaf for value, info in zip(values, wanted, strict=True) for leaf in leaves(value, info)]
    done = {place: converted(*parts[place]) for place in order}
    given = iter([done[place] for place in range(len(parts))])
    return [rebuilt(struct_info(value.type), info, given) for value, info in zip(values, wanted, strict=True)]


def _lies_between(dim: Dim, low: int, high: int | None) -> bool:
    return symbolic.prove_less_equal(low, dim) and (high is None or symbolic.prove_less_equal(dim, high))


def _flattened(op: ir.Operation) -> list[ir.Operation]:
    """Dissolve a dataflow block and return its ops; any other op is returned by itself."""
    if op.name != "relax.dataflow":
        return [op]
    inner = [view.operation for view in entry_block(op).operations]
    op.results[0].replace_all_uses_with(inner[-1].operands[0])
    for moved in inner[:-1]:
        moved.move_before(op)
    op.erase()
    return inner[:-1]


def _mark_inlined(op: ir.Operation, caller: ir.Location) -> None:
    for inner in ops_of(op):
        inner.location = ir.Location.callsite(inner.location, [caller])


def remove_uncalled(module: ir.Module) -> None:
    """Remove private Relax functions without references, repeatedly."""
    removed: Sequence[func.FuncOp] = [*relax_functions(module)]
    while removed:
        graph, used = call_graph(module), names_used(module)
        called = {name for caller, callees in graph.items() for name in callees if name != caller}
        removed = [
            op
            for op in relax_functions(module)
            if is_private(op) and op.name.value not in called and op.name.value not in used
        ]
        for op in removed:
            op.erase()
