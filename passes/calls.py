"""Calls: `inline-private-functions`, `canonicalize-calls`, `expand-tuple-arguments`, `check-prim-calls`."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir import symbolic
from relax_mlir.analysis.call_graph import acts, call_graph, components, impure_functions, recursion
from relax_mlir.analysis.invariants import PrimCall, Unproved
from relax_mlir.analysis.type_inference import call_mapping
from relax_mlir.analysis.variables import binding_order
from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.diagnostics import where
from relax_mlir.dialects.attributes import FORCE_PURE
from relax_mlir.dialects.calls import inplace_indices
from relax_mlir.dialects.structure import (
    TUPLE,
    converted,
    is_convertible,
    leaves,
    match_shape,
    pack,
    rebuilt,
    unpack,
)
from relax_mlir.dialects.symbols import read_bounds
from relax_mlir.dialects.traits import IsConditional, IsLoop, has_trait
from relax_mlir.dialects.types import StructInfo, Tensor, Tuple, struct_info, substitute
from relax_mlir.dialects.value import Value
from relax_mlir.error import ShapeError
from relax_mlir.ir_queries import callee_of, defining_op, entry_block, fresh_name, ops_of
from relax_mlir.mlir import func, ir
from relax_mlir.passes.shapes import Normalize
from relax_mlir.rewrite.effects import make_all_effects_explicit
from relax_mlir.rewrite.function_editing import (
    arguments_of,
    calls_of,
    erase_if_unused,
    functions_by_name,
    is_private,
    names_used,
    set_arguments,
    substitute_symbols,
    symbols_of,
    update_type,
)
from relax_mlir.symbolic import Dim, symbol
from relax_mlir.transform import ModulePass, PassContext, relax_functions
from relax_mlir.transform.passes import optimized_functions

# Pass `inline-private-functions`: inline calls of private Relax functions.


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

    def _inline_into(self, caller: func.FuncOp, functions: dict[str, func.FuncOp], recursive: set[str]) -> None:
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
        for argument, value in zip(block.arguments, _converted_together(arguments, wanted, order), strict=True):
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


# Pass `canonicalize-calls`: CSE and dead-code elimination for calls of pure functions.


CALL = "relax.call"


class CanonicalizeCalls(ModulePass):
    """Remove unused calls of functions without effects, and merge equal ones.

    MLIR's own CSE and dead-code elimination keep every `relax.call`, since the traits of an op do not depend on its
    callee. `relax_mlir.analysis.call_graph` defines what an effect is.
    """

    name: ClassVar[str] = "canonicalize-calls"
    opt_level: ClassVar[int] = 1

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        make_all_effects_explicit(module)
        functions = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
        pure = set(functions) - impure_functions(functions)
        for function in optimized_functions(module):
            block = entry_block(function)
            _merge(block, pure, {})
            _drop(block, pure)


def _is_pure_call(op: ir.Operation, pure: set[str]) -> bool:
    return op.name == CALL and callee_of(op) in pure


def _merge(block: ir.Block, pure: set[str], earlier: dict[Hashable, ir.Operation]) -> None:
    """Replace equal calls by the first one; `earlier` holds the calls that dominate `block`."""
    for view in list(block.operations):
        op = view.operation
        if _is_pure_call(op, pure):
            key = (
                callee_of(op),
                str(op.results[0].type),
                _identity(op.operands[0]),
            )
            if key in earlier:
                op.results[0].replace_all_uses_with(earlier[key].results[0])  # `_drop` removes it
            else:
                earlier[key] = op
        for region in op.regions:
            for nested in region.blocks:
                _merge(nested, pure, dict(earlier))


def _identity(value: ir.Value) -> Hashable:
    """A key that is equal for equal values; a tuple is keyed by its fields."""
    defining = defining_op(value)
    if defining is not None and defining.name == TUPLE:
        return tuple(map(_identity, defining.operands))
    identity: Hashable = value
    return identity


def _drop(block: ir.Block, pure: set[str]) -> None:
    for view in reversed(list(block.operations)):
        op = view.operation
        for region in op.regions:
            for nested in region.blocks:
                _drop(nested, pure)
        is_used = any(True for result in op.results for _ in result.uses)
        if not is_used and (_is_pure_call(op, pure) or op.name == TUPLE):
            op.erase()


# Pass `expand-tuple-arguments`: replace tuple parameters of private functions by their fields.


class ExpandTupleArguments(ModulePass):
    """Replace each tuple parameter of a private function by one parameter per field, including nested tuples.

    Field ``i`` of parameter ``t`` is named ``t_i``. The body rebuilds the tuple, and calls extract the fields;
    ``normalize`` removes what is redundant then. Follows TVM's ExpandTupleArguments.
    """

    name: ClassVar[str] = "expand-tuple-arguments"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        make_all_effects_explicit(module)
        used_otherwise, calls = names_used(module), calls_of(module)
        for function in relax_functions(module):
            name = function.name.value
            infos = [struct_info(type_) for type_ in function.type.inputs]
            if not is_private(function) or name in used_otherwise:
                continue
            if any(isinstance(info, Tuple) for info in infos):
                _expand_parameters(function, infos)
                for call in calls.get(name, ()):
                    _expand_arguments(call)


def _expand_parameters(function: func.FuncOp, infos: list[StructInfo]) -> None:
    block, old_names = entry_block(function), parameter_names(function)
    old = list(block.arguments)
    names: list[str] = []
    with ir.InsertionPoint.at_block_begin(block), function.location:
        for argument, info, name in zip(old, infos, old_names, strict=True):
            leaves = dict(_leaves(info, name))
            names += leaves
            added: list[ir.Value] = [
                block.add_argument(leaf.to_type(), ir.Location.name(path, function.location))
                for path, leaf in leaves.items()
            ]
            argument.replace_all_uses_with(_rebuilt(info, added, function.location))
    for _ in old:
        block.erase_argument(0)
    update_type(function, _distinct(names))


def _leaves(info: StructInfo, name: str) -> Iterator[tuple[str, StructInfo]]:
    if isinstance(info, Tuple):
        for index, item in enumerate(info.fields):
            yield from _leaves(item, f"{name}_{index}")
    else:
        yield name, info


def _rebuilt(info: StructInfo, leaves: list[ir.Value], location: ir.Location) -> ir.Value:
    """Build the value that `info` describes from the first entries of `leaves`, which are removed from the list."""
    if not isinstance(info, Tuple):
        return leaves.pop(0)
    return pack([_rebuilt(item, leaves, location) for item in info.fields], location)


def _expand_arguments(call: ir.Operation) -> None:
    arguments = arguments_of(call)
    with ir.InsertionPoint(call), call.location:
        flat = [leaf for value in arguments for leaf in _fields(value)]
    set_arguments(call, flat)


def _fields(value: ir.Value) -> list[ir.Value]:
    info = struct_info(value.type)
    if not isinstance(info, Tuple):
        return [value]
    items = unpack(value, [item.to_type() for item in info.fields])
    return [leaf for item in items for leaf in _fields(item)]


def _distinct(names: list[str]) -> list[str]:
    """The names, with numeric suffixes on duplicates."""
    taken: set[str] = set()
    for index, name in enumerate(names):
        count, fresh = 0, name
        while fresh in taken or (count > 0 and fresh in names):
            count += 1
            fresh = f"{name}_{count}"
        taken.add(fresh)
        names[index] = fresh
    return names


# Pass `check-prim-calls`: check tensor sizes against the declarations of prim funcs (levels R0, R1).


class CheckPrimCalls(ModulePass):
    """Insert a `relax.match_shape` before calls of prim funcs whose argument sizes are not proved.

    A prim func that declares ``A: (n, m)`` and ``B: (n,)`` reads out of bounds if it gets other sizes. Proved sizes are
    not checked at run time. The size of a destination must be proved at compile time.
    """

    name: ClassVar[str] = "check-prim-calls"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Raises `ShapeError` for a size that is wrong, and for a destination whose size is not proved."""
        functions = {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}
        found: list[ir.Operation] = []

        def visit(op: ir.Operation) -> ir.WalkResult:
            if op.name in ("relax.call_tir", "relax.call_tir_inplace"):
                found.append(op)
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit)
        for op in found:
            name = callee_of(op)
            call = PrimCall.of(op, functions[name]) if name in functions else None
            if call is not None:
                _check(op, name, call)


def _check(op: ir.Operation, name: str, call: PrimCall) -> None:
    defining = defining_op(op.operands[0])
    operands = list(defining.operands) if defining is not None and defining.name == TUPLE else []
    simple = all(isinstance(struct_info(v.type), Tensor) for v in operands)
    patterns: dict[int, list[Dim | None]] = {}
    for item in call.unproved():
        can_match = simple and item.argument < len(operands) and item.expected is not None
        can_match = can_match and item.argument not in inplace_indices(op)
        if item.is_wrong or not can_match:
            raise ShapeError(f"{where(op)}: {op.name.removeprefix('relax.')} of '{name}': {_sentence(item)}")
        info = struct_info(operands[item.argument].type)
        assert isinstance(info, Tensor) and info.shape is not None
        patterns.setdefault(item.argument, list(info.shape))[item.axis] = item.expected
    if not patterns:
        return
    with ir.InsertionPoint(op), op.location:
        for number, pattern in patterns.items():
            dims = ["?" if d is None else d for d in pattern]
            operands[number] = match_shape(Value(operands[number]), dims).ssa
        op.operands[0] = pack(operands, op.location)


def _sentence(item: Unproved) -> str:
    hint = "" if item.is_wrong else "; match_shape the arguments so that it can be proved"
    return item.message + hint
