"""Loops and statements of printed prim funcs: nests, stores, and initializations of reductions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from relax_mlir import symbolic
from relax_mlir.error import RelaxError
from relax_mlir.symbolic import Dim
from relax_mlir.te.expressions import IterVar

OWN_KINDS = ("parallel", "vectorized")
"""The loop annotations that tensor expressions generate."""


class NoStagesError(Exception):
    """The prim func is not a sequence of computations."""


@dataclass
class Nest:
    """Perfectly nested loops that begin at 0, and their body."""

    axes: list[tuple[str, Dim]]
    body: list[ast.stmt]


def nest_of(node: ast.stmt) -> Nest:
    """The loops of a statement; raises NoStagesError for other loop annotations, or loops that do not begin at 0.

    The annotations of `te.create_prim_func`, parallel rows and vectorized elements, are ignored: a schedule adds
    its own.
    """
    axes: list[tuple[str, Dim]] = []
    kinds: list[str] = []
    body = [node]
    while len(body) == 1 and isinstance(body[0], ast.For):
        loop = body[0]
        call = loop.iter
        name = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
        function = function_name(call) if isinstance(call, ast.Call) else ""
        if not isinstance(call, ast.Call) or (name != "range" and function not in ("grid", *OWN_KINDS)):
            raise NoStagesError("a loop has a kind already, which a schedule has given it")
        kinds.append(function if function in OWN_KINDS else "")
        if name == "range" and len(call.args) != 1:
            raise NoStagesError("a loop does not begin at 0")
        targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
        axes += [
            (target.id, dim_of(end))
            for target, end in zip(targets, call.args, strict=True)
            if isinstance(target, ast.Name)
        ]
        body = loop.body
    outer, inner = kinds[:-1], kinds[-1:]
    if any(outer[1:]) or outer[:1] == ["vectorized"] or inner == ["parallel"]:
        raise NoStagesError("a loop has a kind already, which a schedule has given it")
    return Nest(axes, body)


@dataclass
class EmptyReduction:
    """``if k <= 0:`` around nests that store the initial values of a reduction whose loops do not run."""

    sizes: list[Dim]
    values: dict[str, str]
    """The stored value of each buffer, as text."""
    refusal: str

    @classmethod
    def of(cls, node: ast.If) -> EmptyReduction:
        """Parse the condition; raises `NoStagesError` for another one."""
        refusal = f"`{ast.unparse(node)[:60]}` is a condition, which is no beginning of a reduction"
        tests = list(_alternatives(node.test))
        if node.orelse or not all(_is_empty(test) for test in tests):
            raise NoStagesError(refusal)
        values: dict[str, str] = {}
        for statement in node.body:
            nest = nest_of(statement)
            values.update(texts_of(nest.body))
        return cls([dim_of(test.left) for test in tests if isinstance(test, ast.Compare)], values, refusal)


def check_empty(
    found: EmptyReduction | None, reduced: Sequence[IterVar], begins: Sequence[ast.stmt], nest: Nest
) -> None:
    """Raise `NoStagesError` unless a reduction that stores its initial values in the first iteration also stores them
    when it is empty.
    """
    for axis in reduced:
        length = axis.dom.extent
        if symbolic.prove_less_equal(1, length):
            continue
        if found is None or not any(symbolic.prove_equal(length, size) for size in found.sizes):
            raise NoStagesError(f"elements stay what they are where the loop {axis.name} has no iterations")
    if found is not None and found.values != texts_of(begins):
        raise NoStagesError(found.refusal)


def is_first(node: ast.If, names: Sequence[str]) -> bool:
    """True if the condition holds exactly in the first iteration of the loops `names`."""
    tests = list(_joined(node.test))
    found = []
    for test in tests:
        if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq) or len(test.ops) > 1:
            return False
        if ast.unparse(test.comparators[0]) != "0":
            return False
        found.append(ast.unparse(test.left))
    return not node.orelse and sorted(found) == sorted(names)


def texts_of(statements: Sequence[ast.stmt]) -> dict[str, str]:
    """The stored value of each buffer, with local scalars substituted."""
    scalars: dict[str, ast.expr] = {}
    found: dict[str, str] = {}
    for item in statements:
        if not isinstance(item, ast.Assign):
            raise NoStagesError(f"`{ast.unparse(item)[:60]}` stores no element")
        value = item.value
        while isinstance(value, ast.Name) and value.id in scalars:
            value = scalars[value.id]
        target = store_of(item)
        if target is not None:
            found[ast.unparse(target.value)] = ast.unparse(value)
        elif isinstance(item.targets[0], ast.Name):
            scalars[item.targets[0].id] = value
    return found


def store_of(node: ast.stmt) -> ast.Subscript | None:
    """The element that a statement stores."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    return target if isinstance(target, ast.Subscript) else None


def read_first(node: ast.stmt) -> set[str]:
    """The buffers of which a nest reads an element before storing it."""
    stored: set[str] = set()
    read: set[str] = set()
    found: set[str] = set()
    for item in ordered(node):
        if isinstance(item, ast.Assign):
            read |= {ast.unparse(part) for part in ast.walk(item.value) if isinstance(part, ast.Subscript)}
            target = store_of(item)
            if target is not None and ast.unparse(target) in read and ast.unparse(target) not in stored:
                found.add(ast.unparse(target.value))
            if target is not None:
                stored.add(ast.unparse(target))
    return found


def ordered(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes in a node, itself first, in source order."""
    yield node
    for child in ast.iter_child_nodes(node):
        yield from ordered(child)


def dim_of(node: ast.expr) -> Dim:
    """A size in the script as a dimension."""
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)
    try:
        return symbolic.parse(str(text).replace("T.max(", "max(").replace("T.min(", "min("))
    except RelaxError:
        raise NoStagesError(f"`{text}` is no expression of sizes") from None


def function_name(call: ast.Call) -> str:
    """``grid`` of ``T.grid(…)``."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def places_of(target: ast.Subscript) -> list[ast.expr]:
    """The indices of an element."""
    index = target.slice
    return list(index.elts) if isinstance(index, ast.Tuple) else [index]


def _alternatives(test: ast.expr) -> Iterator[ast.expr]:
    yield from _operands(test, ast.Or, ast.BitOr)


def _joined(test: ast.expr) -> Iterator[ast.expr]:
    yield from _operands(test, ast.And, ast.BitAnd)


def _operands(test: ast.expr, logical: type[ast.boolop], bitwise: type[ast.operator]) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, logical):
        for value in test.values:
            yield from _operands(value, logical, bitwise)
    elif isinstance(test, ast.BinOp) and isinstance(test.op, bitwise):
        yield from _operands(test.left, logical, bitwise)
        yield from _operands(test.right, logical, bitwise)
    else:
        yield test


def _is_empty(test: ast.expr) -> bool:
    """``k <= 0``."""
    return (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.LtE)
        and ast.unparse(test.comparators[0]) == "0"
    )
