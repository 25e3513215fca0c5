"""Axes of one stage: splits and fusions, ranges, facts about loop variables, and the regions that are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from relax_mlir import symbolic
from relax_mlir.fork_safety import cached_property
from relax_mlir.symbolic import Dim, Expr, prove_less_equal
from relax_mlir.symbolic.expr import Atom, Kind, Monomial, from_terms, terms_of
from relax_mlir.te.expressions import ON_DIMS, IterVar, Load, to_dim, variables_of


@dataclass
class Facts:
    """The bounds of loop variables, which are symbols in addition to those of sizes."""

    bounds: dict[str, tuple[int, int | None]] = field(default_factory=dict)

    @cached_property
    def operators(self) -> Mapping[str, Callable[[Dim, Dim], Dim]]:
        """Arithmetic on indices, for `to_dim`."""
        return {**ON_DIMS, "//": self.quotient, "%": self.remainder}

    def at_most(self, a: Dim, b: Dim) -> bool:
        """True if ``a <= b`` is proved."""
        return prove_less_equal(a, b, self.bounds)

    def high(self, dim: Dim) -> int | None:
        """A constant upper bound of `dim`, if one is known."""
        return symbolic.bounds(dim, self.bounds)[1]

    def minimum(self, *dims: Dim) -> Dim:
        """The minimum, as one ``min`` of sums, without arguments that are never the smallest."""
        found = _parts(dims, Kind.MIN)
        kept = list(found)
        for item in found:
            if any(other is not item and self.at_most(other, item) for other in kept):
                kept = [other for other in kept if other is not item]
        return symbolic.minimum(*kept)

    def maximum(self, *dims: Dim) -> Dim:
        """The maximum, as one ``max`` of sums, without arguments that are never the largest."""
        found = _parts(dims, Kind.MAX)
        kept = list(found)
        for item in found:
            if any(other is not item and self.at_most(item, other) for other in kept):
                kept = [other for other in kept if other is not item]
        return symbolic.maximum(*kept)

    def quotient(self, a: Dim, b: Dim) -> Dim:
        """``a // b``, rounded towards minus infinity."""
        digits = self._digits(a, b)
        return symbolic.floordiv(a, b) if digits is None else digits[0]

    def remainder(self, a: Dim, b: Dim) -> Dim:
        """``a % b``, with the sign of `b`."""
        digits = self._digits(a, b)
        return symbolic.floormod(a, b) if digits is None else digits[1]

    def _digits(self, a: Dim, b: Dim) -> tuple[Dim, Dim] | None:
        """The quotient and remainder if ``a = step * q + r``, step divides b, and r is proved to be in ``[0, step)``.

        They are ``q // (b // step)`` and ``q % (b // step) * step + r``. Otherwise None.
        """
        if not isinstance(a, Expr) or not isinstance(b, int) or b < 1:
            return None
        steps = {b, *(math.gcd(b, factor) for monomial, factor in a.terms if monomial)} - {1}
        for step in sorted(steps, reverse=True):
            whole = from_terms(
                {monomial: factor // step for monomial, factor in a.terms if _is_whole(monomial, factor, step)}
            )
            rest = a - whole * step
            low, high = symbolic.bounds(rest, self.bounds)
            if low is not None and high is not None and 0 <= low <= high < step:
                left = b // step
                return self.quotient(whole, left), self.remainder(whole, left) * step + rest
        return None

    def ceildiv(self, a: Dim, b: Dim) -> Dim:
        """``a / b`` rounded up, for positive `b`; a ``min`` becomes the ``min`` of the quotients."""
        if b == 1:
            return a
        return self.minimum(*(symbolic.ceildiv(item, b) for item in _distributed(a, Kind.MIN)))

    def difference(self, a: Dim, b: Dim) -> Dim:
        """``a - b``, with the difference inside if `a` is a ``min``."""
        return self.minimum(*(item - b for item in _distributed(a, Kind.MIN)))


def distributed_minimum(dim: Dim) -> list[Dim]:
    """The arguments of `dim` if it is a ``min``, with any addend distributed; otherwise `dim` alone."""
    return _distributed(dim, Kind.MIN)


def _is_whole(monomial: Monomial, factor: int, step: int) -> bool:
    """True if a term is a multiple of `step`, or a constant, of which a part is."""
    return factor % step == 0 or not monomial


def _parts(dims: Sequence[Dim], kind: Kind) -> list[Dim]:
    found: list[Dim] = []
    for dim in dims:
        found += [item for item in _distributed(dim, kind) if item not in found]
    return found


def _distributed(dim: Dim, kind: Kind) -> list[Dim]:
    """Distribute ``min(a, b) + c`` to a + c and b + c, or the same for ``max``; return anything else unchanged."""
    for monomial, factor in terms_of(dim):
        if factor == 1 and len(monomial) == 1 and monomial[0].kind is kind:
            rest = dim - from_terms({monomial: factor})
            return [part for item in monomial[0].args for part in _distributed(item + rest, kind)]
    return [dim]


# Axes of one stage, and the relations between them: splits, fusions, values and ranges.
#
# An axis from which no other is derived is a *leaf*: a loop. Each axis counts from 0; the start of the range
# is added to a root axis. Loops are opened one by one, outermost first. For each, an `AxisTree` computes the
# range, such that together they visit each value of the root axes once, without conditions inside:
#
# - Split by f, ``parent = outer * f + inner``: inner runs over the rest of the parent after outer, at most f values. If
#   outer is opened after inner, it runs over the remaining multiples of f.
# - Fusion, ``outer = fused // n``, ``inner = fused % n``: n is the length of inner when the fusion's first loop is
#   opened.
#
# In a tree with only splits, the range of a loop contains exactly its values for the loops that are already opened, in
# any order. A fusion needs conditions (`guards`) if it joins axes of one root, or if other loops of its roots come
# between its loops.


@dataclass(frozen=True, eq=False)
class Split:
    """``parent = outer * factor + inner``; with `nparts`, the factor is ceil(length of the parent / nparts)."""

    parent: IterVar
    outer: IterVar
    inner: IterVar
    factor: Dim | None = None
    nparts: Dim | None = None


@dataclass(frozen=True, eq=False)
class Fuse:
    """``fused = outer * length of inner + inner``."""

    outer: IterVar
    inner: IterVar
    fused: IterVar


Relation: TypeAlias = Split | Fuse


@dataclass(frozen=True)
class Span:
    """A range of `extent` values from `low`; `most` is an upper bound on the extent (None: not known)."""

    low: Dim
    extent: Dim
    most: int | None = None
    end: Dim | None = None
    """``low + extent`` in a shorter form, if there is one."""

    @property
    def stop(self) -> Dim:
        """The end of the range, exclusive."""
        return self.low + self.extent if self.end is None else self.end


@dataclass
class AxisTree:
    """The axes of a stage over given ranges of its roots, and its opened loops."""

    facts: Facts
    roots: Mapping[IterVar, Span]
    relations: Sequence[Relation]
    values: dict[IterVar, Dim] = field(default_factory=dict)
    """The opened loops: a variable, or 0 for a loop of one iteration."""
    frozen: dict[Relation, tuple[Dim, Dim]] = field(default_factory=dict)
    """Lengths fixed when the first loop is opened: outer and inner of a fusion, factor and parent of a split."""

    def __post_init__(self) -> None:
        self.splits: dict[IterVar, Split] = {}
        self.parts: dict[IterVar, Split] = {}
        self.fusions: dict[IterVar, Fuse] = {}
        self.members: dict[IterVar, Fuse] = {}
        self.same: dict[IterVar, IterVar] = {}
        """Maps an axis whose two parts were fused again to that fusion."""
        self.origins: dict[IterVar, IterVar] = {}
        """The inverse of `same`."""
        for relation in self.relations:
            if isinstance(relation, Split):
                self.splits[relation.parent] = relation
                self.parts[relation.outer] = self.parts[relation.inner] = relation
                continue
            split = self.parts.get(relation.outer)
            if split is not None and split.outer is relation.outer and split.inner is relation.inner:
                del self.splits[split.parent]
                self.same[split.parent], self.origins[relation.fused] = relation.fused, split.parent
                continue
            self.fusions[relation.fused] = relation
            self.members[relation.outer] = self.members[relation.inner] = relation
        self._loops: dict[IterVar, tuple[IterVar, ...]] = {}

    def copy(self) -> AxisTree:
        """A copy, in which other loops can be opened."""
        return AxisTree(self.facts, self.roots, self.relations, dict(self.values), dict(self.frozen))

    # -- relations between axes

    def loops(self, axis: IterVar) -> tuple[IterVar, ...]:
        """The leaves that the value of an axis depends on."""
        if axis not in self._loops:
            self._loops[axis] = tuple(dict.fromkeys(self._find_loops(axis)))
        return self._loops[axis]

    def _find_loops(self, axis: IterVar) -> Iterator[IterVar]:
        if axis in self.same:
            yield from self.loops(self.same[axis])
        elif axis in self.splits:
            yield from self.loops(self.splits[axis].outer)
            yield from self.loops(self.splits[axis].inner)
        elif axis in self.members:
            yield from self.loops(self.members[axis].fused)
        else:
            yield axis

    def is_opened(self, axis: IterVar) -> bool:
        """True if all loops of an axis are opened."""
        return all(leaf in self.values for leaf in self.loops(axis))

    def is_untouched(self, axis: IterVar) -> bool:
        """True if no loop of an axis is opened."""
        return not any(leaf in self.values for leaf in self.loops(axis))

    # -- lengths and values

    def factor(self, split: Split) -> Dim:
        """The factor of a split."""
        if split.factor is not None:
            return split.factor
        if split not in self.frozen:
            assert split.nparts is not None
            length = self.full_length(split.parent)
            self.frozen[split] = (self.facts.ceildiv(length, split.nparts), length)
        return self.frozen[split][0]

    def full_length(self, axis: IterVar) -> Dim:
        """An upper bound on the length of an axis, for all opened loops."""
        axis = self.origins.get(axis, axis)
        if axis in self.fusions:
            fusion = self.fusions[axis]
            outer, inner = self.frozen.get(fusion) or (
                self.facts.maximum(0, self.full_length(fusion.outer)),
                self.facts.maximum(0, self.full_length(fusion.inner)),
            )
            return outer * inner
        if axis not in self.parts:
            return self.roots[axis].extent
        split = self.parts[axis]
        factor, whole = self.factor(split), self.full_length(split.parent)
        if axis is split.inner:
            return self.facts.minimum(factor, whole)
        if split.nparts is not None:
            return split.nparts
        return self.facts.ceildiv(whole, factor)

    def lengths(self, fusion: Fuse) -> tuple[Dim, Dim]:
        """The lengths of the two axes of a fusion; must be called first when its first loop is opened."""
        if fusion not in self.frozen:
            outer, inner = self.length(fusion.outer), self.length(fusion.inner)
            if not self._is_simple:  # a product of two negative lengths would be positive
                outer, inner = self.facts.maximum(0, outer), self.facts.maximum(0, inner)
            self.frozen[fusion] = (outer, inner)
        return self.frozen[fusion]

    @property
    def _is_simple(self) -> bool:
        """True if no requested length is negative."""
        return (
            len(self.fusions) == 1
            and not any(self._counts(split) for split in self.parts.values())
            and all(self.facts.at_most(0, root.extent) for root in self.roots.values())
        )

    def _counts(self, split: Split) -> bool:
        """True if the outer loop of a split has exactly `nparts` iterations, even if some have no inner ones.

        This excludes splits of fused axes: their parts are quotients by lengths, which may be 0 then.
        """
        return split.nparts is not None and not any(axis in self.fusions for axis in self._above(split.parent))

    def length(self, axis: IterVar) -> Dim:
        """The number of values of an axis for the opened loops; may be negative if it has none."""
        axis = self.origins.get(axis, axis)
        if axis in self.fusions:
            outer, inner = self.lengths(self.fusions[axis])
            return outer * inner
        if axis not in self.parts:
            return self.roots[axis].extent
        split = self.parts[axis]
        factor, whole = self.factor(split), self.length(split.parent)
        if axis is split.inner and split.factor == 1:
            return 1
        if axis is split.inner:
            return self.facts.minimum(factor, self.facts.difference(whole, self.value(split.outer) * factor))
        if self._counts(split) and self.is_untouched(split.inner) and not isinstance(whole, int):
            return split.nparts or 0
        if split.nparts is not None:  # the factor of an empty axis is 0
            factor = self.facts.maximum(1, factor)
        return self.facts.ceildiv(self.facts.difference(whole, self.value(split.inner)), factor)

    def value(self, axis: IterVar) -> Dim:
        """The value of an axis with unopened loops at 0, which is its minimum."""
        if axis in self.same:
            return self.value(self.same[axis])
        if axis in self.splits:
            split = self.splits[axis]
            return self.value(split.outer) * self.factor(split) + self.value(split.inner)
        if axis not in self.members:
            return self.values.get(axis, 0)
        fusion = self.members[axis]
        if self.is_untouched(fusion.fused):
            return 0
        length = self.lengths(fusion)[1]
        if axis is fusion.outer:
            return _quotient(self.value(fusion.fused), length)
        return _remainder(self.value(fusion.fused), length) if self.is_opened(axis) else 0

    def index(self, root: IterVar) -> Dim:
        """The index of a root axis, all of whose loops are opened."""
        return self.roots[root].low + self.value(root)

    def span(self, axis: IterVar) -> Span:
        """The range of an axis over all iterations of the unopened loops."""
        if axis in self.same:
            return self.span(self.same[axis])
        if self.is_untouched(axis):
            length = self.length(axis)
            return Span(0, length, self.facts.high(length))
        if self.is_opened(axis):
            return Span(self.value(axis), 1, 1)
        if axis in self.splits:
            return self._split_span(self.splits[axis])
        fusion = self.members[axis]
        length = self.lengths(fusion)[1]
        if axis is fusion.inner:
            return Span(0, length, self.facts.high(length))
        span = self.span(fusion.fused)
        low = _quotient(span.low, length)
        return Span(low, _quotient(span.low + span.extent - 1, length) - low + 1)

    def _split_span(self, split: Split) -> Span:
        outer, inner, factor = self.span(split.outer), self.span(split.inner), self.factor(split)
        low = outer.low * factor + inner.low
        if outer.extent == 1:
            return Span(low, inner.extent, inner.most)
        rest = self.facts.difference(self.length(split.parent), low)
        # Constant upper bounds are shorter than the extents that they bound.
        count = outer.extent if outer.most is None else outer.most
        width = inner.extent if inner.most is None else inner.most
        extent = self.facts.minimum(rest, (count - 1) * factor + width)
        return Span(low, extent, self.facts.high(extent))

    def is_contiguous(self, axis: IterVar) -> bool:
        """True if the unopened loops visit every value in `span`."""
        if self.is_untouched(axis) or self.is_opened(axis):
            return True
        if axis in self.same:
            return self.is_contiguous(self.same[axis])
        if axis not in self.splits:
            return False
        outer, inner = self.splits[axis].outer, self.splits[axis].inner
        if self.is_opened(outer):
            return self.is_contiguous(inner)
        return self.is_untouched(inner) and self.is_contiguous(outer)

    def is_exact(self, axis: IterVar) -> bool:
        """True if `span` contains only values that the loops visit.

        The span of several outer parts may extend beyond the current part.
        """
        if self.is_untouched(axis) or self.is_opened(axis):
            return True
        if axis in self.same:
            return self.is_exact(self.same[axis])
        if axis not in self.splits:
            return False
        outer, inner = self.splits[axis].outer, self.splits[axis].inner
        return self.is_opened(outer) and self.is_exact(inner)

    def root_span(self, root: IterVar) -> Span:
        """The index range of a root axis."""
        span, whole = self.span(root), self.roots[root]
        most = whole.most if self.is_untouched(root) else span.most
        return Span(whole.low + span.low, span.extent, most)

    # -- conditions

    def guards(self, order: Sequence[IterVar]) -> list[tuple[Dim, Dim]]:
        """Pairs (value, bound): the conditions ``value < bound`` inside the loops, opened in this order."""
        found: dict[tuple[Dim, Dim], None] = {}
        for root in self._disturbed(order):
            found[(self.value(root), self.length(root))] = None
            for split in self._splits_of(root):
                if split.inner in self.splits or split.inner in self.members or split.inner in self.same:
                    found[(self.value(split.inner), self.factor(split))] = None
        return [(value, bound) for value, bound in found if not self.facts.at_most(value + 1, bound)]

    def is_disturbed(self, order: Sequence[IterVar]) -> bool:
        """True if loops in this order may visit more than the values of a root."""
        return bool(self._disturbed(order))

    def _disturbed(self, order: Sequence[IterVar]) -> list[IterVar]:
        """The roots and fused axes whose loops may visit more than their values."""
        found: dict[IterVar, None] = {}
        for fusion in self.fusions.values():
            outer, inner = self._above(fusion.outer), self._above(fusion.inner)
            under = set(self.loops(fusion.fused))
            if not any(leaf in under for leaf in order):
                continue
            for root in {**outer, **inner}:
                own = set(self.loops(root))
                places = [leaf in under for leaf in order if leaf in own]
                first, last = places.index(True), len(places) - places[::-1].index(True)
                if (root in outer and root in inner) or not all(places[first:last]):
                    found[root] = None
        return list(found)

    def _above(self, axis: IterVar) -> dict[IterVar, None]:
        """The roots and fused axes that an axis is derived from."""
        while True:
            axis = self.origins.get(axis, axis)
            if axis not in self.parts:
                break
            axis = self.parts[axis].parent
        if axis not in self.fusions:
            return {axis: None}
        fusion = self.fusions[axis]
        return {axis: None, **self._above(fusion.outer), **self._above(fusion.inner)}

    def _splits_of(self, axis: IterVar) -> Iterator[Split]:
        axis = self.same.get(axis, axis)
        if axis in self.splits:
            split = self.splits[axis]
            yield split
            yield from self._splits_of(split.outer)
            yield from self._splits_of(split.inner)


def _quotient(value: Dim, length: Dim) -> Dim:
    """``value // length``; a length of 0 belongs to loops without iterations."""
    return 0 if length == 0 else symbolic.floordiv(value, length)


def _remainder(value: Dim, length: Dim) -> Dim:
    return 0 if length == 0 else symbolic.floormod(value, length)


# Regions: the box of elements of a tensor that is read while axes run over ranges.
#
# The bounds are expressions of sizes and loops.

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
