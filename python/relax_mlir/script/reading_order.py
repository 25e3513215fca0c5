"""The order in which functions are parsed: a function without a result annotation precedes its callers."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeVar

from relax_mlir.dialects.types import StructInfo
from relax_mlir.mlir import func


class Head(Protocol):
    """The head of a function."""

    @property
    def node(self) -> ast.FunctionDef: ...
    @property
    def result(self) -> StructInfo | None: ...


HeadT = TypeVar("HeadT", bound=Head)


def reading_order(heads: Mapping[str, HeadT], callee: Callable[[ast.expr], str | None]) -> list[HeadT]:
    """Return the functions in source order, except that callees without a result annotation come first.

    Functions in a call cycle keep their order. `callee` returns the name of the function ``cls.f``.
    """
    found: dict[str, HeadT] = {}
    waiting: set[str] = set()

    def visit(name: str) -> None:
        if name in found or name in waiting:
            return
        waiting.add(name)
        for other in _mentioned(heads[name].node, callee):
            if other in heads and heads[other].result is None:
                visit(other)
        found[name] = heads[name]

    for name in heads:
        visit(name)
    return list(found.values())


def _mentioned(node: ast.FunctionDef, callee: Callable[[ast.expr], str | None]) -> Iterator[str]:
    for statement in node.body:
        for part in ast.walk(statement):
            name = callee(part) if isinstance(part, ast.Attribute) else None
            if name is not None:
                yield name


def place_in_order(functions: list[func.FuncOp]) -> None:
    """Reorder functions of a module, each after its predecessor in the list."""
    for previous, function in itertools.pairwise(functions):
        function.operation.move_after(previous.operation)
