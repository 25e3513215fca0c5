"""What combines the values of a reduction that a prim func writes out, and whether their order counts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from relax_mlir.te.expressions import (
    BOOL,
    Call,
    Cast,
    Choice,
    Compare,
    Expr,
    IterVar,
    Load,
    Logical,
    Number,
    ScalarVar,
    Unary,
)
from relax_mlir.te.reductions import Combiner, Reduction
from relax_mlir.te.walk import fold, post_order, substitute

MAX_VALUES = 2
"""Of so many values that are combined together it is tried whether their order counts."""
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


class NoCombiner(Exception):
    """Why statements are no reduction."""


def reductions_of(
    name: str,
    so_far: Sequence[ScalarVar],
    results: Sequence[Expr],
    begun: Sequence[Expr],
    axes: Sequence[IterVar],
) -> list[Reduction]:
    """The reductions whose values become `results`, of what they are so far and elements.

    They are in order, unless it is proved that the order does not count.

    Raises:
        NoCombiner: more elements are combined than there are values.
    """
    sources = _sources(so_far, results)
    if len(sources) > len(so_far):
        shown = ", ".join(f"`{source!r}`" for source in sources)
        raise NoCombiner(f"{name} is combined with {len(sources)} elements at a time: {shown}")
    given = [*sources, *[Number(0).astype("int32")] * (len(so_far) - len(sources))]
    for order in itertools.permutations(given) if len(sources) == len(so_far) <= MAX_VALUES else ():
        made = _combiner(name, so_far, results, begun, order)
        if order_is_free(made):
            return _made(made, order, axes)
    combiner = _combiner(name, so_far, results, begun, given)
    return _made(replace(combiner, ordered=True), given, axes)


def _made(combiner: Combiner, sources: Sequence[Expr], axes: Sequence[IterVar]) -> list[Reduction]:
    return [Reduction(combiner, sources, axes, number) for number in range(len(sources))]


def _combiner(
    name: str,
    so_far: Sequence[ScalarVar],
    results: Sequence[Expr],
    begun: Sequence[Expr],
    sources: Sequence[Expr],
) -> Combiner:
    elements = [ScalarVar(f"y{number}", source.kind) for number, source in enumerate(sources)]
    known: dict[Any, Expr] = {}
    for source, element in zip(sources, elements, strict=True):
        known.setdefault(_key(source), element)
    values: dict[Expr, Any] = {
        item: known[key] for result in results for item in post_order(result) if (key := _key(item)) in known
    }
    found = [substitute(result, values) for result in results]
    return Combiner(name, tuple(so_far), tuple(elements), tuple(found), tuple(begun))


def _sources(so_far: Sequence[ScalarVar], results: Sequence[Expr]) -> list[Expr]:
    """The largest parts that are made of elements and indices, and not of what is combined so far; each once."""
    own = set(map(id, so_far))
    combined: dict[int, bool] = {}
    varies: dict[int, bool] = {}
    found: dict[Any, Expr] = {}
    for item in post_order(*results):
        combined[id(item)] = id(item) in own or any(combined[id(child)] for child in item.children)
        varies[id(item)] = isinstance(item, Load | IterVar) or any(
            varies[id(child)] for child in item.children
        )
    waiting = list(results)
    while waiting:
        item = waiting.pop(0)
        if combined[id(item)]:
            waiting = [*item.children, *waiting]
        elif varies[id(item)]:
            found.setdefault(_key(item), item)
    return list(found.values())


def _key(root: Expr) -> Any:  # noqa: ANN401 - a tuple of tuples
    """What is the same for expressions that are."""

    def key(item: Expr, parts: list[Any]) -> Any:  # noqa: ANN401 - likewise
        if isinstance(item, IterVar | ScalarVar):
            return id(item)
        tensor = id(item.tensor) if isinstance(item, Load) else None
        names = [getattr(item, name, None) for name in ("operator", "function", "value")]
        size = str(getattr(item, "dim", ""))
        return (type(item).__name__, str(item.kind), tensor, size, *map(repr, names), *parts)

    return fold(root, key)


# -- the order


def order_is_free(combiner: Combiner) -> bool:
    """Whether values may be combined in any order, and what they begin with more than once.

    It is tried for all values of 0, 1 and 2. That proves it of operations that only compare values at the same place of
    the tuples, and choose among them, since no more than three differ in the laws: those of commutative, associative
    and idempotent operations. NaN is not among these values.
    """
    if any(a.kind != b.kind for a, b in zip(combiner.lhs, combiner.rhs, strict=True)):
        return False
    values = list(itertools.product(range(3), repeat=len(combiner.lhs)))
    table: dict[tuple[Any, Any], tuple[int, ...]] = {}
    for a, b in itertools.product(values, values):
        made = _combined(combiner, a, b)
        if made is None:
            return False
        table[a, b] = made
    if any(table[a, a] != a or any(table[a, b] != table[b, a] for b in values) for a in values):
        return False
    return all(
        table[table[a, b], c] == table[a, table[b, c]] for a, b, c in itertools.product(values, repeat=3)
    )


def _combined(combiner: Combiner, a: Sequence[int], b: Sequence[int]) -> tuple[int, ...] | None:
    """The combination of two tuples; None where something else is computed than comparisons and choices."""
    known: dict[int, Any] = {}
    for place, (left, right) in enumerate(zip(combiner.lhs, combiner.rhs, strict=True)):
        known[id(left)], known[id(right)] = (place, a[place]), (place, b[place])
    found = []
    for place, result in enumerate(combiner.result):
        value = fold(result, lambda item, parts: _value(item, parts, known))
        if value is None or value[0] != place:
            return None
        found.append(value[1])
    return tuple(found)


def _value(item: Expr, parts: list[Any], known: Mapping[int, Any]) -> Any:  # noqa: ANN401 - a place, and the value
    """A value with the place of the tuples that it is of, or "bool"; None: not known."""
    if isinstance(item, ScalarVar):
        return known[id(item)]
    if isinstance(item, Number) and isinstance(item.value, bool):
        return "bool", item.value
    if isinstance(item, Cast) and item.kind == BOOL:
        return parts[0] if parts[0] is not None and parts[0][0] == "bool" else None
    if None in parts or not parts:
        return None
    kinds, values = [part[0] for part in parts], [part[1] for part in parts]
    if isinstance(item, Choice):
        same = kinds[0] == "bool" and kinds[1] == kinds[2]
        return (kinds[1], values[1] if values[0] else values[2]) if same else None
    if isinstance(item, Unary) and item.operator == "not":
        return ("bool", not values[0]) if kinds == ["bool"] else None
    if len(set(kinds)) != 1:
        return None
    if isinstance(item, Logical):
        joined = (values[0] and values[1]) if item.operator == "and" else (values[0] or values[1])
        return ("bool", joined) if kinds[0] == "bool" else None
    if isinstance(item, Compare):
        return "bool", COMPARISONS[item.operator](*values)
    if isinstance(item, Call) and item.function in ("max", "min") and kinds[0] != "bool":
        return kinds[0], (max if item.function == "max" else min)(values)
    return None
