"""Conditionals that select an implementation of an op by conditions on sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relax_mlir.dialects.attributes import BY_SIZE
from relax_mlir.dialects.structure import prim_value
from relax_mlir.dialects.types import Tensor
from relax_mlir.lowering.legalize.dispatch import RELATIONS
from relax_mlir.lowering.legalize.rules import Arg, OpCall
from relax_mlir.mlir import arith, ir
from relax_mlir.strategy.op_strategy import SpecializedCondition
from relax_mlir.symbolic import Condition

Emit = Callable[[OpCall], Sequence[Arg]]
"""Emits the calls of an implementation for the given operands."""


@dataclass(frozen=True)
class Way:
    """One of the implementations: its name, its condition, and a function that emits its call."""

    name: str
    condition: SpecializedCondition
    emit: Emit


def branch(call: OpCall, ways: Sequence[Way]) -> list[Arg]:
    """The results of the first of `ways` whose condition holds, by nested conditionals at the insertion point.

    The last one is unconditional. The conditionals have the attribute `BY_SIZE`, the name of the op.
    """
    (way, *others), types = ways, [info.to_type() for info in call.results]
    if not others:
        return [_of_type(arg, info) for arg, info in zip(way.emit(call), call.results, strict=True)]
    clauses = [_holds(clause) for clause in way.condition.open_clauses()]
    flag = clauses[0]
    for clause in clauses[1:]:
        flag = arith.andi(flag, clause)
    made = ir.Operation.create("scf.if", results=types, operands=[flag], regions=2)
    made.attributes[BY_SIZE] = ir.StringAttr.get(call.args.op.removeprefix("relax."))
    for region, inner in zip(made.regions, ([way], others), strict=True):
        with ir.InsertionPoint(region.blocks.append()):
            values = [arg.ssa for arg in branch(call, inner)]
            ir.Operation.create("scf.yield", operands=values)
    return [Arg(value, info) for value, info in zip(made.results, call.results, strict=True)]


def _of_type(arg: Arg, info: Tensor) -> Arg:
    assert arg.ssa.type == info.to_type(), f"{arg.ssa.type} is not {info}"
    return arg


def _holds(clause: Condition) -> ir.Value:
    left, right = (prim_value(dim).ssa for dim in (clause.left, clause.right))
    return arith.cmpi(getattr(arith.CmpIPredicate, RELATIONS[clause.relation]), left, right)
