"""Pass ``expand-tuple-arguments``: replace tuple parameters of private functions by their fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.dialects.structure import pack, unpack
from relax_mlir.dialects.types import StructInfo, Tuple, struct_info
from relax_mlir.ir_queries import entry_block
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite.effects import make_all_effects_explicit
from relax_mlir.rewrite.function_editing import (
    arguments_of,
    calls_of,
    is_private,
    names_used,
    set_arguments,
    update_type,
)
from relax_mlir.transform import ModulePass, PassContext, relax_functions


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
