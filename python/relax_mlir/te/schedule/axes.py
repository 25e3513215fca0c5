"""Axes of one stage, and the relations between them: splits, fusions, values and ranges.

An axis from which no other is derived is a *leaf*: a loop. Each axis counts from 0; the start of the range is added to
a root axis. Loops are opened one by one, outermost first. For each, an `AxisTree` computes the range, such that
together they visit each value of the root axes once, without conditions inside:

- Split by f, ``parent = outer * f + inner``: inner runs over the rest of the parent after outer, at most f values. If
  outer is opened after inner, it runs over the remaining multiples of f.
- Fusion, ``outer = fused // n``, ``inner = fused % n``: n is the length of inner when the fusion's first loop is
  opened.

In a tree with only splits, the range of a loop contains exactly its values for the loops that are already opened, in
any order. A fusion needs conditions (`guards`) if it joins axes of one root, or if other loops of its roots come
between its loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from relax_mlir import symbolic
from relax_mlir.symbolic import Dim
from relax_mlir.te.expressions import IterVar
from relax_mlir.te.schedule.facts import Facts


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
        return split.nparts is not None and not any(
            axis in self.fusions for axis in self._above(split.parent)
        )

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
