"""The names that statements of a script bind and read, determined from their syntax."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

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
