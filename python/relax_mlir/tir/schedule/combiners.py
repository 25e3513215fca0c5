"""Reductions from statements that combine elements with previous values, and tests of their order."""

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
    fold,
    post_order,
    substitute,
)
from relax_mlir.te.reductions import Combiner, Reduction

MAX_VALUES = 2
"""The maximum tuple size of a combiner for which the order is tested."""
RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


class NoCombiner(Exception):
    """The statements are not a reduction; the message has the reason."""


def reductions_of(
    name: str,
    so_far: Sequence[ScalarVar],
    results: Sequence[Expr],
    begun: Sequence[Expr],
    axes: Sequence[IterVar],
) -> list[Reduction]:
    """The reductions that compute `results` from the previous values `so_far` and elements.

    They are ordered unless the order is proved to be irrelevant.

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
    """The maximal subexpressions of elements and indices that do not use the previous values, each once."""
    own = set(map(id, so_far))
    combined: dict[int, bool] = {}
    varies: dict[int, bool] = {}
    found: dict[Any, Expr] = {}
    for item in post_order(*results):
        combined[id(item)] = id(item) in own or any(combined[id(child)] for child in item.children)
        varies[id(item)] = isinstance(item, Load | IterVar) or any(varies[id(child)] for child in item.children)
    waiting = list(results)
    while waiting:
        item = waiting.pop(0)
        if combined[id(item)]:
            waiting = [*item.children, *waiting]
        elif varies[id(item)]:
            found.setdefault(_key(item), item)
    return list(found.values())


def _key(root: Expr) -> Any:  # noqa: ANN401 - a tuple of tuples
    """A key that is equal for structurally equal expressions."""

    def key(item: Expr, parts: list[Any]) -> Any:  # noqa: ANN401 - a tuple
        if isinstance(item, IterVar | ScalarVar):
            return id(item)
        tensor = id(item.tensor) if isinstance(item, Load) else None
        names = [getattr(item, name, None) for name in ("operator", "function", "value")]
        size = str(getattr(item, "dim", ""))
        return (type(item).__name__, str(item.kind), tensor, size, *map(repr, names), *parts)

    return fold(root, key)


# -- the order


def order_is_free(combiner: Combiner) -> bool:
    """True if values may be combined in any order, and the initial values more than once.

    Tested for all values in {0, 1, 2}. This is a proof for combiners that only compare and select values at the same
    position of the tuples: the laws of commutativity, associativity and idempotence involve at most three different
    values. NaN is not covered.
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
    return all(table[table[a, b], c] == table[a, table[b, c]] for a, b, c in itertools.product(values, repeat=3))


def _combined(combiner: Combiner, a: Sequence[int], b: Sequence[int]) -> tuple[int, ...] | None:
    """The combination of two tuples; None if it uses more than comparisons and selections."""
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


def _value(item: Expr, parts: list[Any], known: Mapping[int, Any]) -> Any:  # noqa: ANN401 - a position and a value
    """A value with its position in the tuples, or with "bool"; None if unknown."""
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
        return "bool", RELATIONS[item.operator](*values)
    if isinstance(item, Call) and item.function in ("max", "min") and kinds[0] != "bool":
        return kinds[0], (max if item.function == "max" else min)(values)
    return None
