"""Pass `outline-branches`: outline conditionals among implementations as prim funcs with branches (level R1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.dialects.attributes import BY_SIZE
from relax_mlir.dialects.structure import TUPLE
from relax_mlir.dialects.types import Tensor, dims_from_attr, struct_info
from relax_mlir.ir_queries import defining_op, ops_of
from relax_mlir.lowering.legalize.dispatch import RELATIONS, Way, dispatch
from relax_mlir.lowering.legalize.rules import Arg
from relax_mlir.mlir import arith, ir
from relax_mlir.symbolic import Condition, Dim
from relax_mlir.transform import ModulePass, PassContext, relax_functions

PREDICATES = {getattr(arith.CmpIPredicate, name): relation for relation, name in RELATIONS.items()}


@dataclass(frozen=True)
class OutlineBranches(ModulePass):
    """Outline the conditionals by which `legalize-ops` selects an implementation by size, as calls of prim funcs.

    The prim func has the branches, and their calls. Conditionals with other ops than calls of prim funcs, such as
    reshapes, stay in the Relax function. The pass runs after `fuse-ops`, which fuses the calls in the branches with
    those around them.
    """

    name: ClassVar[str] = "outline-branches"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        for function in relax_functions(module):
            for op in _outermost(function.operation):
                _outline(module, op)


def _outermost(root: ir.Operation) -> list[ir.Operation]:
    """The conditionals among implementations that are not the else branch of another one."""
    found = [op for op in ops_of(root, "scf.if") if BY_SIZE in op.attributes]
    inner = {other for op in found if (other := _next(op)) is not None}
    return [op for op in found if op not in inner]


def _next(op: ir.Operation) -> ir.Operation | None:
    """The conditional that is the whole else branch of another one; None if there is none."""
    block = op.regions[1].blocks[0]
    *ops, last = [view.operation for view in block.operations]
    others = [each for each in ops if not _is_of_condition(each)]
    if len(others) != 1 or others[0].name != "scf.if" or BY_SIZE not in others[0].attributes:
        return None
    return others[0] if list(last.operands) == list(others[0].results) else None


def _is_of_condition(op: ir.Operation) -> bool:
    """True if an op is part of the computation of a condition on sizes."""
    return op.name == "relax.prim_value" or all(
        isinstance(result.type, ir.IntegerType) and result.type.width == 1 for result in op.results
    )


def _outline(module: ir.Module, op: ir.Operation) -> None:
    infos = [struct_info(result.type) for result in op.results]
    results = [info for info in infos if isinstance(info, Tensor) and info.known_shape is not None]
    ways = list(_ways(op))
    if len(results) != len(infos) or any(way is None for way in ways):
        return
    inputs = [Arg(value, info) for value, info in _inputs(op) if isinstance(info, Tensor)]
    if len(inputs) != len(list(_inputs(op))):
        return
    name = f"{ir.StringAttr(op.attributes[BY_SIZE]).value}_by_size"
    with ir.InsertionPoint(op), op.location:
        found = dispatch(module, name, inputs, results, [way for way in ways if way is not None])
    if found is None:
        return
    for result, arg in zip(op.results, found, strict=True):
        result.replace_all_uses_with(arg.ssa)
    op.erase()


def _ways(op: ir.Operation) -> Iterator[Way | None]:
    """The branches of a chain of conditionals; None for a condition that is not on sizes."""
    conditions = _conditions(op.operands[0])
    yield None if conditions is None else Way(conditions, op.regions[0].blocks[0])
    other = _next(op)
    if other is None:
        yield Way((), op.regions[1].blocks[0])
    else:
        yield from _ways(other)


def _conditions(flag: ir.Value) -> tuple[Condition, ...] | None:
    op = defining_op(flag)
    if op is not None and op.name == "arith.andi":
        parts = [_conditions(operand) for operand in op.operands]
        known = [part for part in parts if part is not None]
        return tuple(clause for part in known for clause in part) if len(known) == len(parts) else None
    if op is None or op.name != "arith.cmpi":
        return None
    relation = PREDICATES.get(ir.IntegerAttr(op.attributes["predicate"]).value)
    sides = [_size(operand) for operand in op.operands]
    if relation is None or sides[0] is None or sides[1] is None:
        return None
    return (Condition(relation, sides[0], sides[1], f"{sides[0]} {relation} {sides[1]}"),)


def _size(value: ir.Value) -> Dim | None:
    op = defining_op(value)
    if op is None or op.name != "relax.prim_value":
        return None
    return dims_from_attr(ir.ArrayAttr.get([op.attributes["value"]]))[0]


def _inputs(op: ir.Operation) -> Iterator[tuple[ir.Value, object]]:
    """The values from outside of a conditional that its calls use, each once."""
    inside = {result for inner in ops_of(op)[1:] for result in inner.results}
    found: dict[ir.Value, None] = {}
    called = (defining_op(call.operands[0]) for call in ops_of(op, "relax.call_tir"))
    for packed in (each for each in called if each is not None and each.name == TUPLE):
        found.update(dict.fromkeys(value for value in packed.operands if value not in inside))
    for value in found:
        yield value, struct_info(value.type)
