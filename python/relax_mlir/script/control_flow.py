"""Control flow of a script: ``if``, ``for`` and ``while``, and the names that statements bind and read."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects import structure
from relax_mlir.dialects.base import implies
from relax_mlir.dialects.construction import inserting, unfinished
from relax_mlir.dialects.control import agreed, build_for, build_while
from relax_mlir.dialects.types import StructInfo, as_dim
from relax_mlir.dialects.value import Value
from relax_mlir.error import RelaxError
from relax_mlir.mlir import ir, scf
from relax_mlir.script.expressions import branch_condition
from relax_mlir.script.scope import POISON, is_path
from relax_mlir.script.source import Poisoned, Problem
from relax_mlir.symbolic import Expr

if TYPE_CHECKING:
    from relax_mlir.script.statements import Block


UNNAMED = "_"
"""The target that binds nothing."""


def targets(node: ast.stmt) -> list[str]:
    """Return the names that a statement always binds."""
    if isinstance(node, ast.If):
        inner = [set().union(*map(targets, body)) for body in (node.body, node.orelse)]
        return sorted(inner[0] & inner[1])
    if isinstance(node, ast.With):
        return sorted({name for statement in node.body for name in targets(statement)})
    roots: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        roots = node.targets
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        roots = [node.target]
    elif isinstance(node, ast.FunctionDef):
        return [node.name]
    return [n.id for root in roots for n in ast.walk(root) if isinstance(n, ast.Name)]


def assigned(statements: Iterable[ast.stmt]) -> list[str]:
    """Return all names that statements may bind, in order of appearance; loop variables are excluded."""
    found: dict[str, None] = {}
    for statement in statements:
        if isinstance(statement, ast.If | ast.For | ast.While):
            found.update(dict.fromkeys(assigned([*statement.body, *statement.orelse])))
        else:
            found.update(dict.fromkeys(targets(statement)))
    found.pop(UNNAMED, None)
    return list(found)


def reads(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The names that statements or expressions read."""
    found: set[str] = set()
    for node in (inner for outer in nodes for inner in ast.walk(outer)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return frozenset(found)


def last_reads(statements: Sequence[ast.stmt]) -> dict[str, int]:
    """Return, for each name, the position of the last of `statements` that reads it."""
    return {name: index for index, statement in enumerate(statements) for name in reads([statement])}


@dataclass(frozen=True)
class Later(Container[str]):
    """The names that are read after statement `index` of a block (by `last_reads`) or after the block (`outside`)."""

    last: Mapping[str, int]
    index: int
    outside: Container[str]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (self.last.get(name, -1) > self.index or name in self.outside)


def exposed(statements: Sequence[ast.stmt]) -> set[str]:
    """Return the names that statements may read before they bind them."""
    bound: set[str] = set()
    found: set[str] = set()
    for statement in statements:
        if isinstance(statement, ast.If):
            found |= reads([statement.test]) - bound
            found |= (exposed(statement.body) | exposed(statement.orelse)) - bound
        elif isinstance(statement, ast.With):
            found |= exposed(statement.body) - bound
        else:
            found |= reads([statement]) - bound
        bound.update(targets(statement))
    return found


def returns(node: ast.stmt) -> bool:
    """True if a statement contains a `return`; nested functions do not count."""
    if isinstance(node, ast.Return):
        return True
    return any(returns(inner) for inner in _inner(node))


def always_returns(statements: Sequence[ast.stmt]) -> bool:
    """True if every path through the statements ends in a `return`."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return always_returns(last.body) and always_returns(last.orelse)
    return isinstance(last, ast.Return)


def _inner(node: ast.stmt) -> Iterator[ast.stmt]:
    if isinstance(node, ast.If | ast.For | ast.While | ast.With):
        yield from node.body
        yield from getattr(node, "orelse", [])


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
    return branch_condition(block.expressions, node.test)


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


def _merged(node: ast.If, branches: Sequence[Block], rebound: Sequence[str], later: Container[str]) -> list[str]:
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


RANGE = "loops run over a range: `for i in R.range(n):`, or `for i in R.range(begin, end, step):`"


def for_statement(block: Block, node: ast.For, later: Container[str]) -> None:
    """``for i in R.range(begin, end, step): …``; ``i`` is a symbol of the body."""
    _refuse(block, node)
    if not isinstance(node.target, ast.Name):
        raise Problem(node.target, "the variable of a loop is one name")
    variable = node.target.id
    if variable != UNNAMED and variable in block.expressions.scope.values:
        raise Problem(node.target, f"'{variable}' is a value already; give the loop variable another name")
    bounds = _range(block, node.iter)
    names = _carried(block, node, exposed(node.body), later)
    init = _initial(block, node.iter, names)

    def body(symbol: Expr, given: Sequence[Value]) -> list[Value]:
        inner = block.child(frozenset(names) | exposed(node.body))
        inner.expressions.scope.add_symbols([str(symbol)])
        if variable != UNNAMED:
            inner.expressions.scope.values[variable] = symbol
        return _round(inner, node, names, given, init)

    symbol = "i" if variable == UNNAMED else variable
    results = block.expressions.apply(node.iter, build_for, bounds, init, body, names, symbol)
    _leave(block, node, names, results)


def while_statement(block: Block, node: ast.While, later: Container[str]) -> None:
    """``while c: …``."""
    _refuse(block, node)
    needed = exposed(node.body) | reads([node.test])
    names = _carried(block, node, needed, later)
    init = _initial(block, node.test, names)

    def condition(given: Sequence[Value]) -> ir.Value:
        inner = block.child(frozenset())
        inner.expressions.scope.values.update(zip(names, given, strict=True))
        flag = branch_condition(inner.expressions, node.test)
        if isinstance(flag, bool):
            what = "ends" if flag else "runs"
            raise Problem(node.test, f"the condition is {flag} in every round: the loop never {what}")
        return flag

    def body(given: Sequence[Value]) -> list[Value]:
        return _round(block.child(frozenset(names) | needed), node, names, given, init)

    results = block.expressions.apply(node.test, build_while, init, condition, body, names)
    _leave(block, node, names, results)


def _refuse(block: Block, node: ast.For | ast.While) -> None:
    if block.in_dataflow:
        raise Problem(node, "a dataflow block has no control flow; close it before the loop")
    if node.orelse:
        raise Problem(node.orelse[0], "the `else` of a loop has no meaning without `break`: write it after the loop")


def _range(block: Block, node: ast.expr) -> tuple[Any, Any, Any]:
    """Return the bounds and the step of ``R.range(...)`` or ``range(...)``."""
    if not isinstance(node, ast.Call) or not _is_range(block, node.func):
        raise Problem(node, RANGE)
    if node.keywords or not 1 <= len(node.args) <= 3:
        raise Problem(node, f"a range takes end, or begin and end, or begin, end and step; {RANGE}")
    given = [_bound(block, part) for part in node.args]
    if len(given) == 1:
        given = [0, *given]
    begin, end, step = [*given, 1] if len(given) == 2 else given
    return begin, end, step


def _is_range(block: Block, node: ast.expr) -> bool:
    if is_path(block.path(node), "R", "range"):
        return True
    scope = block.expressions.scope
    if not isinstance(node, ast.Name) or node.id != "range" or "range" in scope.values:
        return False
    return scope.captured.get("range", range) is range


def _bound(block: Block, node: ast.expr) -> Any:  # noqa: ANN401 - an int, an expression or an integer value
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return block.expressions.apply(node, as_dim, node.value)
    found = block.expressions.evaluate(node)
    if isinstance(found, Expr) or structure.is_integer(found):
        return found
    if isinstance(found, int) and not isinstance(found, bool):
        return found
    what = found.struct_info if isinstance(found, Value) else repr(found)
    raise Problem(node, f"`{ast.unparse(node)}` is {what}; a range takes ints, symbols and integers", "ArgumentError")


def _carried(block: Block, node: ast.For | ast.While, needed: set[str], later: Container[str]) -> list[str]:
    """Return the loop-carried names: bound before the loop and in it, and read in a later iteration or after the loop.

    Names that the last statement of the body binds count as read.
    """
    values = block.expressions.scope.values
    wanted = needed | set(targets(node.body[-1]))
    return [name for name in assigned(node.body) if name in values and (name in wanted or name in later)]


def _initial(block: Block, node: ast.expr, names: Sequence[str]) -> list[Value]:
    values = []
    for name in names:
        value = block.expressions.scope.values[name]
        if value is POISON:
            raise Poisoned(name)
        if isinstance(value, float | bool):
            kind = "bool" if isinstance(value, bool) else "float32"
            message = f"the loop carries '{name}', which is a Python number: write R.const({value}, \"{kind}\")"
            raise Problem(node, message, "DTypeError")
        if isinstance(value, int):
            value = block.expressions.apply(node, structure.as_integer, "loop", value)
        values.append(block.expressions.relax_value(node, value))
    return values


def _round(
    inner: Block,
    node: ast.For | ast.While,
    names: Sequence[str],
    given: Sequence[Value],
    init: Sequence[Value],
) -> list[Value]:
    """Read the body of a loop; return the values for the next iteration."""
    count = inner.mistakes
    inner.expressions.scope.values.update(zip(names, given, strict=True))
    inner.run(node.body)
    if inner.mistakes > count:
        raise Poisoned(node)
    results = []
    places = _bindings(node.body)
    for name, first in zip(names, init, strict=True):
        place = places.get(name, node)
        value = inner.expressions.scope.values[name]
        if isinstance(value, int) and not isinstance(value, bool):
            value = inner.expressions.apply(place, structure.as_integer, name, value)
        value = inner.expressions.relax_value(place, value)
        try:
            with inner.expressions.at(place):
                results.append(agreed(name, value, first.struct_info))
        except RelaxError as error:
            raise Problem.of(place, error) from None
    return results


def _bindings(statements: Sequence[ast.stmt]) -> dict[str, ast.stmt]:
    """Return the last statement that binds each name."""
    found: dict[str, ast.stmt] = {}
    for statement in statements:
        body = getattr(statement, "body", None)
        inner = _bindings(body) if isinstance(body, list) else {}
        found.update({name: inner.get(name, statement) for name in assigned([statement])})
    return found


def _leave(block: Block, node: ast.For | ast.While, names: Sequence[str], results: Sequence[Value]) -> None:
    scope = block.expressions.scope
    for name in assigned(node.body):
        if name not in scope.values:
            scope.hidden[name] = "is bound in the loop only; bind it before the loop, so that the loop carries it"
    if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
        scope.hidden.setdefault(node.target.id, "is the variable of a loop that has ended")
    for name, result in zip(names, results, strict=True):
        block.define(name, result)
