"""Edits of whole Relax functions: their symbols, parameters, and calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.dialects.attributes import PARAM_NAME, PRIM_FUNC
from relax_mlir.dialects.bounds import read_bounds
from relax_mlir.dialects.structure import TUPLE, pack, unpack
from relax_mlir.dialects.symbolic_attributes import dim_attributes, substitute_attributes
from relax_mlir.dialects.types import StructInfo, Tuple, struct_info, substitute
from relax_mlir.error import RelaxError
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
