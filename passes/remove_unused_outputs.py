"""Pass ``remove-unused-outputs``: remove unused results of private functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from relax_mlir.dialects.structure import TupleGetItemOp, pack, unpack
from relax_mlir.dialects.types import Tuple, struct_info
from relax_mlir.ir_queries import defining_op, entry_block, is_used
from relax_mlir.mlir import func, ir
from relax_mlir.rewrite.effects import make_all_effects_explicit
from relax_mlir.rewrite.function_editing import (
    calls_of,
    erase_if_unused,
    is_private,
    names_used,
    update_type,
)
from relax_mlir.transform import ModulePass, PassContext, relax_functions


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
                    changed |= _shrink(function, calls[name])


def _shrink(function: func.FuncOp, calls: Sequence[ir.Operation]) -> bool:
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
    old.set_type(
        info.fields[kept[0]].to_type() if single else Tuple([info.fields[i] for i in kept]).to_type()
    )
    i64 = ir.IntegerType.get_signless(64)
    for user in users:
        if not is_used(user.results[0]):
            user.erase()
        elif single:
            user.results[0].replace_all_uses_with(old)
            user.erase()
        else:
            user.attributes["index"] = ir.IntegerAttr.get(i64, kept.index(_index(user)))
