"""The chunks of iterations of a vectorised loop: whole vectors, and the remainder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from relax_mlir.cached import cached_property
from relax_mlir.lowering.kernels.core import emit, simd
from relax_mlir.lowering.kernels.core.emit import Index, Type, element_of
from relax_mlir.lowering.kernels.nest.vector_loops import LIGHT_TOGETHER, MASKABLE
from relax_mlir.lowering.loops.annotated_loops import (
    body_of,
    clone_ops,
    constant_of,
    most_bound,
    trip_count,
    variable_of,
)
from relax_mlir.lowering.loops.independence import Access
from relax_mlir.lowering.loops.index_forms import Forms
from relax_mlir.lowering.loops.lane_body import LaneBody, Lanes
from relax_mlir.lowering.loops.lane_plan import LanePlan, own_buffer
from relax_mlir.lowering.loops.strided_loads import MAX_STEP
from relax_mlir.lowering.shapes.index_ranges import Ranges
from relax_mlir.mlir import arith, func, ir
from relax_mlir.target import Target

MAX_BODIES = 4
"""The maximum number of copies of a body; more vectors are a loop."""
HEAVY_TOGETHER = 2
"""Vectors per chunk of a body with functions or loops, on targets with few registers."""


@dataclass
class LaneChunks:
    """Emits the iterations of a planned loop at the insertion point."""

    plan: LanePlan
    target: Target
    function: func.FuncOp
    forms: Forms = field(default_factory=Forms)

    # Decisions

    @cached_property
    def accesses(self) -> list[Access]:
        return list(self.plan.accesses())

    @cached_property
    def unit(self) -> int:
        """Lanes that fill a register with the widest element in memory."""
        elements = [element_of(access.buffer.type) for access in self.accesses]
        elements += [element_of(buffer.type) for buffer in self.plan.private]
        return self.target.lanes(max((_bits(element) for element in elements), default=32))

    @cached_property
    def wide(self) -> int:
        """Lanes of the vectors in one body, if there are enough iterations."""
        if not all(map(self._is_regular, self.accesses)):
            return self.unit
        few = not self.plan.is_light() and self.target.num_vector_registers < 32
        return self.unit * (HEAVY_TOGETHER if few else LIGHT_TOGETHER)

    @cached_property
    def can_mask(self) -> bool:
        """True if masking lanes is cheap."""
        exempt = (own_buffer(access, self.plan.loop) for access in self.accesses)
        return self.target.has_masks and all(
            self._is_regular(access) and (own or _bits(element_of(access.buffer.type)) in MASKABLE)
            for access, own in zip(self.accesses, exempt, strict=True)
        )

    def _is_regular(self, access: Access) -> bool:
        """True if the lanes of an access are consecutive, or are loaded at a small stride."""
        step = self._step(access)
        return step == 1 or (not access.stores and 1 < step <= MAX_STEP)

    def _step(self, access: Access) -> int:
        """The distance in elements of adjacent lanes; 0 if it is not constant."""
        *outer, last = access.indices
        strides, _ = ir.MemRefType(access.buffer.type).get_strides_and_offset()
        form, variable = self.forms.of(last), variable_of(self.plan.loop)
        varying = [value for value in form.terms if value in self.plan.varying]
        if strides[-1] != 1 or varying != [variable] or any(index in self.plan.varying for index in outer):
            return 0
        return form.terms[variable]

    # Chunks

    def emit(self) -> str:
        """Emit all iterations; return a text that says how many run at once."""
        loop = self.plan.loop
        count, begin = trip_count(loop), constant_of(loop.operands[0])
        most = most_bound(loop.operands[1])
        if count is not None and begin is not None:
            self._constant(begin, count)
            lanes = min(self.wide, _power_above(count))
        elif begin is not None and most is not None and self._fits(most - begin):
            lanes = self._bounded(begin, most - begin)
        else:
            bound = None if begin is None or most is None else max(most - begin, 1)
            lanes = self._open(self.wide if bound is None else min(self.wide, _power_below(bound)))
        return "one iteration" if lanes == 1 else f"{lanes} iterations at once"

    def _fits(self, count: int) -> bool:
        return self.can_mask and 0 < count <= MAX_BODIES * self.wide

    def _chunk(self, first: Index, count: int, active: Index | None = None) -> None:
        """Emit `count` iterations from `first`; with `active`, only the first `active` of them (one or more)."""
        mask = None if active is None else simd.mask(active, count)
        LaneBody(self.plan, Lanes(first, count, mask, active=active), self.forms).emit()

    def _constant(self, begin: int, count: int) -> None:
        """Emit a constant number of iterations: whole vectors, then smaller ones."""
        whole = count // self.wide
        end = begin + whole * self.wide
        if whole > MAX_BODIES:
            with emit.loop(begin, end, self.wide) as first:
                self._chunk(first, self.wide)
        else:
            for start in range(begin, end, self.wide):
                self._chunk(start, self.wide)
        rest = count - whole * self.wide
        if rest.bit_count() > 2 and self.can_mask:
            lanes = _power_above(rest)
            self._chunk(end, lanes, rest)
            return
        for lanes in _powers(rest):
            if lanes == 1:
                clone_ops(body_of(self.plan.loop), {variable_of(self.plan.loop): emit.index(end)})
            else:
                self._chunk(end, lanes)
            end += lanes

    def _bounded(self, begin: int, most: int) -> int:
        """Emit up to `most` iterations: masked vectors, each skipped if its mask is empty."""
        end = self.plan.loop.operands[1]
        lanes = min(self.wide, _power_above(most))
        for first in range(begin, begin + most, lanes):
            if first == begin and Ranges(self.function).at_least(end, begin + 1):
                self._chunk(first, lanes, emit.sub(end, first))
                continue
            with emit.when(arith.cmpi(arith.CmpIPredicate.sgt, end, emit.index(first))):
                self._chunk(first, lanes, emit.sub(end, first))
        return lanes

    def _open(self, wide: int) -> int:
        """Emit any number of iterations, in vectors of up to `wide` lanes; return the lanes."""
        unit = min(self.unit, wide)
        begin, end = list(self.plan.loop.operands)[:2]
        zero = emit.index(0)
        count = arith.maxsi(arith.subi(end, begin), zero)
        from_ = begin
        for lanes in dict.fromkeys((wide, unit)):
            to = emit.add(begin, emit.round_down(count, lanes))
            with emit.loop(from_, to, lanes) as first:
                self._chunk(first, lanes)
            from_ = emit.index(to)
        if unit == 1:
            return wide
        if not self.can_mask:
            with emit.loop(from_, end) as place:
                clone_ops(body_of(self.plan.loop), {variable_of(self.plan.loop): place})
            return wide
        with emit.when(arith.cmpi(arith.CmpIPredicate.sgt, end, from_)):
            self._chunk(from_, unit, emit.sub(end, from_))
        return wide


def _bits(element: Type) -> int:
    return 64 if isinstance(element, ir.IndexType) else max(int(element.width), 8)


def _power_above(count: int) -> int:
    """The smallest power of two that is not below a number."""
    return 1 << max(count - 1, 0).bit_length()


def _power_below(count: int) -> int:
    """The largest power of two that is not above a number."""
    return 1 << (count.bit_length() - 1)


def _powers(count: int) -> Iterator[int]:
    """Powers of two in descending order, whose sum is a number."""
    return (1 << bit for bit in reversed(range(count.bit_length())) if count >> bit & 1)
