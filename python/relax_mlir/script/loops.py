"""``for`` over a range and ``while`` in a script: names that the body rebinds become loop-carried values."""

from __future__ import annotations

import ast
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects import integers
from relax_mlir.dialects.loops import agreed, build_for, build_while
from relax_mlir.dialects.types import as_dim
from relax_mlir.dialects.value import Value
from relax_mlir.error import RelaxError
from relax_mlir.mlir import ir
from relax_mlir.script import conditions
from relax_mlir.script.flow import UNNAMED, assigned, exposed, reads, targets
from relax_mlir.script.scope import POISON, is_path
from relax_mlir.script.source import Poisoned, Problem
from relax_mlir.symbolic import Expr

if TYPE_CHECKING:
    from relax_mlir.script.statements import Block

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
        flag = conditions.flag(inner.expressions, node.test)
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
        raise Problem(
            node.orelse[0], "the `else` of a loop has no meaning without `break`: write it after the loop"
        )


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
    if isinstance(found, Expr) or integers.is_integer(found):
        return found
    if isinstance(found, int) and not isinstance(found, bool):
        return found
    what = found.struct_info if isinstance(found, Value) else repr(found)
    raise Problem(
        node, f"`{ast.unparse(node)}` is {what}; a range takes ints, symbols and integers", "ArgumentError"
    )


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
            message = (
                f"the loop carries '{name}', which is a Python number: write R.const({value}, \"{kind}\")"
            )
            raise Problem(node, message, "DTypeError")
        if isinstance(value, int):
            value = block.expressions.apply(node, integers.as_integer, "loop", value)
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
            value = inner.expressions.apply(place, integers.as_integer, name, value)
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
            scope.hidden[name] = (
                "is bound in the loop only; bind it before the loop, so that the loop carries it"
            )
    if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
        scope.hidden.setdefault(node.target.id, "is the variable of a loop that has ended")
    for name, result in zip(names, results, strict=True):
        block.define(name, result)
