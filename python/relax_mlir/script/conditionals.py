"""``if`` in a script: names that both branches bind, or results that both return, are merged after it."""

from __future__ import annotations

import ast
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.base import implies
from relax_mlir.dialects.frames import inserting, unfinished
from relax_mlir.dialects.loops import agreed
from relax_mlir.dialects.types import StructInfo
from relax_mlir.dialects.value import Value
from relax_mlir.error import RelaxError
from relax_mlir.mlir import ir, scf
from relax_mlir.script import conditions
from relax_mlir.script.flow import always_returns, assigned, targets
from relax_mlir.script.scope import POISON
from relax_mlir.script.source import Poisoned, Problem

if TYPE_CHECKING:
    from relax_mlir.script.statements import Block


def conditional(block: Block, node: ast.If, later: Container[str]) -> None:
    """``if c: … else: …``: names that both branches define are defined after it."""
    flag = _flag(block, node)
    if isinstance(flag, bool):
        _known(block, node.body if flag else node.orelse, later)
        return
    known = block.expressions.scope.values
    rebound = [name for name in assigned([node]) if name in known and name in later]
    has_else = bool(node.orelse or rebound)
    probe = scf.IfOp(flag, [], has_else=has_else, loc=flag.owner.location)
    inside = [probe.then_block, *([probe.else_block] if has_else else [])]
    with unfinished(probe.operation, "an `if`"):
        branches = [
            _branch(block.child(later), body, into)
            for body, into in zip((node.body, node.orelse), inside, strict=False)
        ]
        names = _merged(node, branches, rebound, later)
        values = [[branch.expressions.scope.values[name] for name in names] for branch in branches]
        if any(value is POISON for column in values for value in column):
            raise Poisoned(node)
        columns = [_yielded(block, node, column, into) for column, into in zip(values, inside, strict=True)]
        for index, name in enumerate(names):
            _check(node, f"'{name}'", *(column[index].struct_info for column in columns))
    results = _finish(probe, flag, inside, columns)
    for branch in branches:
        for name in branch.assigned:
            if name not in block.expressions.scope.values:
                reason = "is bound in a branch only; bind it in both branches, or before the `if`"
                block.expressions.scope.hidden[name] = reason
    for name, result in zip(names, results, strict=True):
        block.define(name, result)


def returning(block: Block, node: ast.If, rest: Sequence[ast.stmt]) -> None:
    """An ``if`` with a ``return``: the statements after it are appended to the branches that do not return."""
    bodies = [list(body) if always_returns(body) else [*body, *rest] for body in (node.body, node.orelse)]
    if rest and all(map(always_returns, (node.body, node.orelse))):
        block.note(Problem(rest[0], "nothing may follow the end of the function: both branches return"))
    flag = _flag(block, node)
    if isinstance(flag, bool):
        block.ended = False
        block.run(bodies[0] if flag else bodies[1])
        return
    count = block.mistakes
    probe = scf.IfOp(flag, [], has_else=True, loc=flag.owner.location)
    inside = [probe.then_block, probe.else_block]
    with unfinished(probe.operation, "an `if`"):
        branches = [
            _branch(block.child(frozenset(), returning=True), body, into)
            for body, into in zip(bodies, inside, strict=True)
        ]
        if block.mistakes > count:
            raise Poisoned(node)
        if any(branch.result is None for branch in branches):
            raise Problem(
                node,
                "one branch returns and the other does not; a function ends with a `return` on every way",
            )
        found = [branch.result for branch in branches if branch.result is not None]
        columns = [[_annotated(block, value, into)] for value, into in zip(found, inside, strict=True)]
        _check(node, "the result", *(column[0].struct_info for column in columns))
    (block.result,) = _finish(probe, flag, inside, columns)
    if block.is_body:
        block.expressions.apply(node, block.builder.emit_func_output, block.result)


def _flag(block: Block, node: ast.If) -> ir.Value | bool:
    if block.in_dataflow:
        raise Problem(node, "a dataflow block has no control flow; close it before the `if`")
    return conditions.flag(block.expressions, node.test)


def _known(block: Block, body: Sequence[ast.stmt], later: Container[str]) -> None:
    """An ``if`` on a Python bool: read only the taken branch."""
    outer, block.later = block.later, later
    block.run(body)
    block.later = outer


def _branch(inner: Block, body: Sequence[ast.stmt], into: ir.Block) -> Block:
    with inserting(into, "a branch"):
        inner.run(body)
    return inner


def _yielded(block: Block, node: ast.If, column: Sequence[Any], into: ir.Block) -> list[Value]:
    """Convert what a branch yields to Relax values."""
    with inserting(into, "a branch"):
        return [block.expressions.relax_value(node, value) for value in column]


def _annotated(block: Block, value: Value, into: ir.Block) -> Value:
    """Cast a returned value to the function's annotated result if that is more precise."""
    if block.annotated is None or not implies(value.struct_info, block.annotated):
        return value
    with inserting(into, "a branch"):
        try:
            return agreed("result", value, block.annotated)
        except RelaxError:
            return value  # the branches are compared next


def _finish(
    probe: scf.IfOp, flag: ir.Value, inside: Sequence[ir.Block], columns: Sequence[Sequence[Value]]
) -> list[Value]:
    """Replace `probe` with a conditional that has the branches' results."""
    final = ir.Operation.create(
        "scf.if",
        results=[value.ssa.type for value in columns[0]],
        operands=[flag],
        regions=2,
        loc=probe.operation.location,
    )
    for index, (column, into) in enumerate(zip(columns, inside, strict=True)):
        with ir.InsertionPoint(into), probe.operation.location:
            scf.YieldOp([value.ssa for value in column])
        into.append_to(final.regions[index])
    probe.operation.erase()
    return [Value(result) for result in final.results]


def _merged(
    node: ast.If, branches: Sequence[Block], rebound: Sequence[str], later: Container[str]
) -> list[str]:
    """Return the names to merge after an `if`.

    These are names that both branches bind and that are read later or bound last in both, and the `rebound` names,
    which exist before the `if` and change in one of the branches.
    """
    if len(branches) < 2:
        return []
    first, second = branches
    common = [name for name in first.assigned if name in second.assigned]
    last = set(targets(node.body[-1])) & set(targets(node.orelse[-1])) if node.orelse else set()
    return list(dict.fromkeys([*(n for n in common if n in later or n in last), *rebound]))


def _check(node: ast.If, what: str, taken: StructInfo, other: StructInfo) -> None:
    """Raise `Problem` unless both branches give `what` the same struct info."""
    if implies(taken, other) and implies(other, taken):
        return
    raise Problem(
        node.test,
        f"the branches give {what} different types: {taken} and {other}; match_shape or astype one of them",
        "ShapeError",
    )
