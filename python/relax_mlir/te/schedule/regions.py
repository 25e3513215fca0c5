"""Regions: the box of elements of a tensor that is read while axes run over ranges.

The bounds are expressions of sizes and loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from relax_mlir import symbolic
from relax_mlir.symbolic import Dim
from relax_mlir.symbolic.expr import Atom, Kind, from_terms, terms_of
from relax_mlir.te.expressions import IterVar, Load
from relax_mlir.te.schedule.axes import Span
from relax_mlir.te.schedule.facts import Facts
from relax_mlir.te.walk import to_dim, variables_of

STEP = "_step{}"
"""Symbols of the offset of an axis from its start."""


@dataclass(frozen=True)
class Hull:
    """The minimum and maximum of a value; `most` bounds the number of values between them."""

    low: Dim
    high: Dim
    most: int | None


def read_region(facts: Facts, load: Load, axes: Mapping[IterVar, Span]) -> list[Span | None]:
    """The region that `load` reads per dimension of the tensor; None if it is unknown, and may be the whole dimension.

    `axes` are the ranges of the axes that the indices use. The box may extend beyond the tensor.
    """
    found: list[Span | None] = []
    for index in load.children:
        own = dict.fromkeys(variables_of(index))
        if any(axis not in axes for axis in own):
            found.append(None)
            continue
        steps = {STEP.format(number): axes[axis] for number, axis in enumerate(own)}
        values: dict[IterVar, Dim] = {}
        for name, axis in zip(steps, own, strict=True):
            moves = 0 if axes[axis].extent == 1 else symbolic.symbol(name)
            values[axis] = axes[axis].low + moves
        dim = to_dim(index, values, facts.operators)
        hull = None if dim is None else _hull(facts, dim, steps)
        if hull is None:
            found.append(None)
            continue
        high = facts.minimum(hull.high)  # nested bounds stay short, because sums are distributed into minima
        found.append(Span(hull.low, facts.difference(high, hull.low - 1), hull.most, high + 1))
    return found


def united(facts: Facts, spans: Sequence[Span]) -> Span:
    """The smallest range that contains several ranges."""
    first, *others = spans
    if not others:
        return first
    low, end = first.low, first.stop
    for other in others:
        low, end = facts.minimum(low, other.low), facts.maximum(end, other.stop)
    return Span(low, facts.difference(end, low), _most_of(spans), end)


def _most_of(spans: Iterable[Span]) -> int | None:
    """A constant bound on the length of a union of ranges whose starts differ by constants."""
    items = list(spans)
    offsets = [item.low - items[0].low for item in items]
    ends = [
        offset + item.most
        for item, offset in zip(items, offsets, strict=True)
        if item.most is not None and isinstance(offset, int)
    ]
    starts = [offset for offset in offsets if isinstance(offset, int)]
    if len(ends) != len(items):
        return None
    return max(*ends, 0) - min(starts)


def clamped(facts: Facts, span: Span | None, size: Dim) -> Span:
    """The part of a range in ``[0, size)``; all of that for an unknown range."""
    whole = Span(0, size, facts.high(size))
    if span is None:
        return whole
    below, above = facts.at_most(0, span.low), facts.at_most(span.stop, size)
    if below and above:
        return Span(span.low, span.extent, _least(span.most, whole.most), span.end)
    low = span.low if below else facts.maximum(span.low, 0)
    end = span.stop if above else facts.minimum(span.stop, size)
    extent = facts.difference(end, low)
    return Span(low, extent, _least(span.most, whole.most, facts.high(extent)), end)


def _least(*numbers: int | None) -> int | None:
    known = [number for number in numbers if number is not None]
    return max(min(known), 0) if known else None


def _hull(facts: Facts, dim: Dim, steps: Mapping[str, Span]) -> Hull | None:
    """The hull of an index in terms of axis offsets; None if it is not known."""
    low: Dim = 0
    high: Dim = 0
    most: int | None = 1
    for monomial, factor in terms_of(dim):
        moving = [item for item in monomial if _moves(item, steps)]
        if not moving:
            term = from_terms({monomial: factor})
            low, high = low + term, high + term
            continue
        still = list(monomial)
        still.remove(moving[0])
        times = from_terms({tuple(still): abs(factor)})
        part = _atom_hull(facts, moving[0], steps)
        if len(moving) > 1 or part is None or not facts.at_most(0, times):
            return None
        if factor > 0:
            low, high = low + part.low * times, high + part.high * times
        else:
            low, high = low - part.high * times, high - part.low * times
        if most is None or part.most is None or not isinstance(times, int):
            most = None
        else:
            most += times * max(part.most - 1, 0)
    return Hull(low, high, most)


def _moves(item: Atom, steps: Mapping[str, Span]) -> bool:
    if item.kind is Kind.SYMBOL:
        return item.text in steps
    return any(name in steps for arg in item.args for name in symbolic.symbols(arg))


def _atom_hull(facts: Facts, item: Atom, steps: Mapping[str, Span]) -> Hull | None:
    if item.kind is Kind.SYMBOL:
        span = steps[item.text]
        return Hull(0, span.stop - span.low - 1, span.most)
    parts = [_hull(facts, arg, steps) for arg in item.args]
    if any(part is None for part in parts):
        return None
    hulls = [part for part in parts if part is not None]
    if item.kind in (Kind.MIN, Kind.MAX):
        choose = symbolic.minimum if item.kind is Kind.MIN else symbolic.maximum
        return Hull(choose(*(hull.low for hull in hulls)), choose(*(hull.high for hull in hulls)), None)
    dividend = hulls[0]
    by = item.args[1]
    if not isinstance(by, int) and (set(symbolic.symbols(by)) & set(steps) or not facts.at_most(1, by)):
        return None
    if by == 0 or (isinstance(by, int) and by < 0):
        return None
    low, high = facts.quotient(dividend.low, by), facts.quotient(dividend.high, by)
    if item.kind is Kind.MOD and low == high:
        return Hull(facts.remainder(dividend.low, by), facts.remainder(dividend.high, by), dividend.most)
    if item.kind is Kind.MOD:
        return Hull(0, by - 1, by if isinstance(by, int) else None)
    most = 1 if low == high else None
    if most is None and isinstance(by, int) and dividend.most is not None:
        most = (dividend.most + by - 2) // by + 1
    return Hull(low, high, most)
