"""Edits of whole Relax functions: their symbols, parameters, calls, and the order of their ops."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Mapping, Sequence

from relax_mlir.analysis.well_formed import defining_symbols, parameter_names
from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import PARAM_NAME, PRIM_FUNC
from relax_mlir.dialects.base import dim_attributes, substitute_attributes
from relax_mlir.dialects.structure import TUPLE, MatchShapeOp, is_pure, pack, unpack
from relax_mlir.dialects.symbols import read_bounds
from relax_mlir.dialects.types import StructInfo, Tuple, struct_info, substitute
from relax_mlir.error import ArgumentError, RelaxError
from relax_mlir.ir_queries import callee_of, entry_block, ops_of, symbols_named
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim, symbols


def functions_by_name(module: ir.Module) -> dict[str, func.FuncOp]:
    """All functions of the module, prim funcs and declarations included."""
    return {op.name.value: op for op in module.body.operations if isinstance(op, func.FuncOp)}


def is_relax_function(op: func.FuncOp) -> bool:
    """True if `op` is a Relax function with a body."""
    return PRIM_FUNC not in op.attributes and not op.is_external


def is_private(op: func.FuncOp) -> bool:
    """True if `op` cannot be called from outside the module."""
    return "sym_visibility" in op.attributes


def calls_of(module: ir.Module) -> dict[str, list[ir.Operation]]:
    """The ``relax.call`` ops of the module, by callee name."""
    calls: dict[str, list[ir.Operation]] = {}
    for function in functions_by_name(module).values():
        for op in ops_of(function.operation) if is_relax_function(function) else ():
            if op.name == "relax.call":
                calls.setdefault(callee_of(op), []).append(op)
    return calls


def names_used(module: ir.Module) -> set[str]:
    """The functions that are referenced by a symbol attribute of an op other than ``relax.call``."""
    used: set[str] = set()
    for function in functions_by_name(module).values():
        for op in ops_of(function.operation):
            used.update(symbols_named(op, ignored="callee" if op.name == "relax.call" else ""))
    return used


# -- symbols


def _infos(op: ir.Operation) -> Iterator[tuple[ir.Value, StructInfo]]:
    """The values that `op` and its blocks define, except those of other dialects."""
    values = [*op.results, *(a for region in op.regions for block in region.blocks for a in block.arguments)]
    for value in values:
        try:
            yield value, struct_info(value.type)
        except RelaxError:
            continue  # index, i1, …: values of upstream ops have no symbols


def symbols_of(function: func.FuncOp) -> list[str]:
    """Every symbol of the function, in order of first use; symbols that only have bounds come last."""
    names: dict[str, None] = {}
    for op in ops_of(function.operation):
        for _, info in _infos(op):
            names.update(dict.fromkeys(info.symbols()))
        for _, dims in dim_attributes(op):
            names.update(dict.fromkeys(name for dim in dims if dim is not None for name in symbols(dim)))
    names.update(dict.fromkeys(read_bounds(function)))
    return list(names)


def substitute_symbols(root: ir.Operation, mapping: Mapping[str, Dim]) -> None:
    """Replace symbols in `root` and all nested ops, in types and in attributes.

    If `root` is a function, its type must be updated afterwards (`update_type`).
    """
    for op in ops_of(root):
        for value, info in list(_infos(op)):
            if any(name in mapping for name in info.symbols()):
                value.set_type(substitute(info, dict(mapping)).to_type())
        substitute_attributes(op, mapping)


# -- signatures


def update_type(function: func.FuncOp, names: Sequence[str] | None = None) -> None:
    """Set the function's type from its block arguments and returned values; `names`: those of the parameters."""
    block = entry_block(function)
    returned = block.operations[-1].operation.operands
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get([a.type for a in block.arguments], [v.type for v in returned])
    )
    if names is not None:
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [ir.DictAttr.get({PARAM_NAME: ir.StringAttr.get(name)}) for name in names]
        )


def remove_parameters(function: func.FuncOp, indices: Sequence[int]) -> None:
    """Remove unused parameters; calls are not changed."""
    names = parameter_names(function)
    block = entry_block(function)
    for index in sorted(indices, reverse=True):
        block.erase_argument(index)
        del names[index]
    update_type(function, names)


def arguments_of(call: ir.Operation) -> list[ir.Value]:
    """The arguments of a call; if their tuple is not created in place, its fields are extracted before the call."""
    whole = call.operands[0]
    info = struct_info(whole.type)
    assert isinstance(info, Tuple)
    with ir.InsertionPoint(call), call.location:
        return unpack(whole, [field.to_type() for field in info.fields])


def set_arguments(call: ir.Operation, arguments: Sequence[ir.Value]) -> None:
    """Replace the arguments of a call; the tuple of the old ones is erased if it has no other use."""
    old = call.operands[0]
    with ir.InsertionPoint(call):
        call.operands[0] = pack(list(arguments), call.location)
    erase_if_unused(old)


def erase_if_unused(value: ir.Value) -> None:
    """Erase the tuple `value`, and tuples that are its fields, if they are unused."""
    if isinstance(value.owner, ir.Block) or list(value.uses):
        return
    defining = value.owner.operation
    if defining.name != TUPLE:
        return
    fields = list(defining.operands)
    defining.erase()
    for item in dict.fromkeys(fields):
        erase_if_unused(item)


# Dependencies between the ops of a block, and their topological order.

Graph = Sequence[Sequence[int]]
"""For each op of a block, by index: the indices of other ops in ascending order."""


def needs_of(ops: Sequence[ir.Operation]) -> Graph:
    """The ops that must precede each op: those that define its operands, or symbols that it uses."""
    positions: dict[ir.Value, int] = {result: number for number, op in enumerate(ops) for result in op.results}
    needs: list[list[int]] = []
    definers: dict[str, int] = {}
    for number, op in enumerate(ops):
        needed = set(numbers_of(positions, [value for inner in ops_of(op) for value in inner.operands]))
        needed |= {definers[symbol] for symbol in _symbols(op) if symbol in definers}
        needs.append(sorted(needed))
        if op.name == MatchShapeOp.OPERATION_NAME:
            for symbol in defining_symbols(struct_info(op.results[0].type)):
                definers.setdefault(symbol, number)
    return needs


def numbers_of(positions: Mapping[ir.Value, int], values: Sequence[ir.Value]) -> list[int]:
    """The indices of those of `values` that have one, in ascending order."""
    return sorted({positions[value] for value in values if value in positions})


def _symbols(op: ir.Operation) -> set[str]:
    found: set[str] = set()
    for inner in ops_of(op):
        for _, dims in dim_attributes(inner):
            found.update(name for dim in dims if dim is not None for name in symbols(dim))
        for result in inner.results:
            try:
                found.update(struct_info(result.type).symbols())
            except RelaxError:
                continue  # a value of another dialect, without symbols
    return found


def needs_with_effects(ops: Sequence[ir.Operation], impure: Collection[str] = ()) -> Graph:
    """`needs_of`, plus the order of ops with side effects or regions: each needs the one before it.

    `impure`: the functions with side effects.
    """
    needs = [list(row) for row in needs_of(ops)]
    before: int | None = None
    for number, op in enumerate(ops):
        if is_pure(op) and not len(op.regions) and (op.name != "relax.call" or callee_of(op) not in impure):
            continue
        if before is not None:
            needs[number] = sorted({*needs[number], before})
        before = number
    return needs


def sort_block(block: ir.Block, impure: Collection[str] = ()) -> None:
    """Sort the ops of a block topologically; the order of side effects, and otherwise where possible, is kept.

    `impure`: the functions with side effects.

    Raises:
        ArgumentError: the ops depend on each other in a cycle.
    """
    *ops, end = [view.operation for view in block.operations]
    needs = needs_with_effects(ops, impure)
    if all(needed < number for number, row in enumerate(needs) for needed in row):
        return
    users: list[list[int]] = [[] for _ in ops]
    for number, row in enumerate(needs):
        for needed in row:
            users[needed].append(number)
    missing = [len(row) for row in needs]
    ready = [number for number, count in enumerate(missing) if count == 0]
    order: list[int] = []
    while ready:
        number = heapq.heappop(ready)
        order.append(number)
        for user in users[number]:
            missing[user] -= 1
            if missing[user] == 0:
                heapq.heappush(ready, user)
    if len(order) < len(ops):
        stuck = next(ops[number] for number, count in enumerate(missing) if count)
        raise ArgumentError(f"{stuck.name} at {location_text(stuck.location)} needs its own result")
    for number in order:
        ops[number].move_before(end)
