"""Walks over scalar expressions, without recursion: they may be thousands of nodes deep, and share parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from relax_mlir import symbolic
from relax_mlir.symbolic import Dim
from relax_mlir.te.expressions import (
    INDEX,
    Binary,
    Cast,
    Expr,
    ExprLike,
    IterVar,
    Load,
    Number,
    Size,
    as_expr,
)

if TYPE_CHECKING:
    from relax_mlir.te.tensors import Tensor

Found = TypeVar("Found")
TEXT_LIMIT = 200
"""Maximum number of characters that `repr` shows of an expression."""


def post_order(*roots: Expr) -> list[Expr]:
    """All expressions in `roots`, without duplicates, in post-order."""
    order: list[Expr] = []
    seen: set[int] = set()
    waiting: list[tuple[Expr, bool]] = [(root, False) for root in reversed(roots)]
    while waiting:
        item, is_done = waiting.pop()
        if is_done:
            order.append(item)
            continue
        if id(item) in seen:
            continue
        seen.add(id(item))
        waiting.append((item, True))
        waiting += [(child, False) for child in reversed(item.children)]
    return order


def visit(root: Expr, function: Callable[[Expr], object]) -> None:
    """Call `function` with every expression in `root`, once each, in post-order."""
    for item in post_order(root):
        function(item)


def fold(root: Expr, function: Callable[[Expr, list[Found]], Found]) -> Found:
    """The result of `function` for `root`; it is called once per expression, with the results for its children."""
    found: dict[int, Found] = {}
    for item in post_order(root):
        found[id(item)] = function(item, [found[id(child)] for child in item.children])
    return found[id(root)]


def substitute(root: Expr, values: Mapping[Expr, ExprLike]) -> Expr:
    """`root` with the expressions of `values`, such as index variables, replaced. Unchanged parts are shared."""
    given = {id(key): as_expr(value) for key, value in values.items()}

    def replaced(item: Expr, children: list[Expr]) -> Expr:
        if id(item) in given:
            return given[id(item)]
        same = all(old is new for old, new in zip(item.children, children, strict=True))
        return item if same else item.rebuilt(children)

    return fold(root, replaced)


def loads_of(*roots: Expr) -> list[Load]:
    """The elements that expressions read."""
    return [item for item in post_order(*roots) if isinstance(item, Load)]


def variables_of(*roots: Expr) -> list[IterVar]:
    """The axes that expressions use."""
    return [item for item in post_order(*roots) if isinstance(item, IterVar)]


ON_DIMS: Mapping[str, Callable[[Dim, Dim], Dim]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": symbolic.floordiv,
    "%": symbolic.floormod,
}


def to_dim(
    root: Expr, variables: Mapping[IterVar, Dim], operators: Mapping[str, Callable[[Dim, Dim], Dim]] = ON_DIMS
) -> Dim | None:
    """Convert an index expression to a dimension, with `variables` for the axes; None if that is impossible.

    Dimension arithmetic assumes that symbols are non-negative, and divisors nonzero. `operators` replaces its
    operations, for callers that know more about the variables.
    """
    known = {id(key): value for key, value in variables.items()}

    def dim(item: Expr, parts: list[Dim | None]) -> Dim | None:
        if isinstance(item, Size):
            return item.dim
        if isinstance(item, Number):
            return item.value if isinstance(item.value, int) and not isinstance(item.value, bool) else None
        if isinstance(item, IterVar):
            return known.get(id(item))
        if isinstance(item, Cast) and item.children[0].kind == INDEX and item.dtype == "int64":
            return parts[0]
        if not isinstance(item, Binary) or item.operator not in operators:
            return None
        left, right = parts
        if left is None or right is None or (item.operator in ("//", "%") and right == 0):
            return None
        return operators[item.operator](left, right)

    return fold(root, dim)


class _PlainNames(dict["Expr | Tensor", str]):
    """The original names of variables and tensors."""

    def __missing__(self, key: Expr | Tensor) -> str:
        return str(getattr(key, "name", key))


def shown(root: Expr) -> str:
    """The text of an expression with the original names of its variables and tensors, truncated if it is long."""
    names = _PlainNames()

    def text(item: Expr, parts: list[str]) -> str:
        whole = item.format(names, parts)
        return whole if len(whole) <= TEXT_LIMIT else f"{whole[: TEXT_LIMIT - 2]} …"

    return fold(root, text)


def names_used(roots: Iterable[Expr]) -> list[str]:
    """The symbols in expressions, in order of appearance."""
    dims = [item.dim for item in post_order(*roots) if isinstance(item, Size)]
    return list(dict.fromkeys(name for dim in dims for name in symbolic.symbols(dim)))
