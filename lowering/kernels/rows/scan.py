"""Kernels of cumsum and cumprod.

Along the last axis a vector is scanned in registers by log2(lanes) shifted additions, and the total of the previous
vectors is added to all of its lanes; only that addition waits for the previous vector. Along another axis vectors run
along the inner dimensions: rows are read one after the other, in blocks of columns whose totals stay in L1.

Integers are accumulated in their own type, and wrap around. Floats are accumulated in f64 and rounded when they are
stored: f16 and bf16 through f32. So the products within a vector of f32 neither overflow nor lose accuracy before they
are combined with the previous total. Products of f64 would, and are computed one after the other. Input and output may
be the same buffer.
"""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.lowering.kernels.core import emit, simd
from relax_mlir.lowering.kernels.core.emit import Index, Type, Value, element_of
from relax_mlir.lowering.kernels.core.parallel import parallel_loop, part_size
from relax_mlir.lowering.kernels.rows.rows import Rows
from relax_mlir.lowering.kernels.select_kernels import Emitter, Request, generates, is_contiguous
from relax_mlir.mlir import arith, ir, vector
from relax_mlir.target import Target

CYCLES = 4
"""The approximate cycles per vector."""

MAX_LANES = 32
"""The maximum lanes of a vector that is scanned: LLVM does not finish compiling shifted sums of 64."""

L1_SHARE = 4
"""The totals of a block of columns take L1 divided by this."""


@dataclass(frozen=True)
class Scan:
    """A scan: products or sums, inclusive or exclusive."""

    target: Target
    product: bool
    exclusive: bool

    def emit(self, x: Value, out: Value, axis: int) -> None:
        """Emit the body of a kernel that writes the scan of `x` along `axis` to `out`."""
        type_ = ir.MemRefType(x.type)
        cell = _Cell(type_.element_type, self.product)
        if any(size != 1 for size in list(type_.shape)[axis + 1 :]):
            self._across(cell, x, out, axis)
        else:
            self._along(cell, x, out, type_.rank - axis)

    def _along(self, cell: _Cell, x: Value, out: Value, inner: int) -> None:
        """Scan the last `inner` axes, flattened into one."""
        rows = Rows.of(self.target, x, inner)
        source, sink = rows.matrix(x), rows.matrix(out)
        in_turn = self.product and isinstance(cell.stored, ir.F64Type)
        lanes = 1 if in_turn else min(self.target.lanes(cell.wide.width), MAX_LANES)
        whole = 0 if lanes == 1 else emit.round_down(rows.length, lanes)
        with parallel_loop(0, rows.count, 1, _cost(lanes, rows.count, rows.length)) as row:
            before = emit.constant(cell.wide, cell.neutral)
            if not isinstance(whole, int) or whole:
                start = emit.constant(emit.vector_type(lanes, cell.wide), cell.neutral)
                with emit.carrying_loop(0, whole, lanes, [start], unroll=False) as loop:
                    value = cell.widen(simd.load(lanes, source, row, loop.index))
                    here = cell.scanned(value)
                    shown = cell.shifted(here, 1) if self.exclusive else here
                    result = cell.narrow(cell.combine(loop.values[0], shown))
                    simd.store(result, sink, row, loop.index)
                    loop.give([cell.combine(loop.values[0], _last(here))])
                before = simd.lane(loop.results[0], 0)
            if not isinstance(whole, int) or whole != rows.length:
                self._one_by_one(cell, (source, sink), row, (whole, rows.length), before)

    def _one_by_one(
        self, cell: _Cell, buffers: tuple[Value, Value], row: Value, span: tuple[Index, Index], before: Value
    ) -> None:
        source, sink = buffers
        with emit.carrying_loop(*span, 1, [before]) as loop:
            total = loop.values[0]
            after = cell.combine(total, cell.widen(emit.load(source, row, loop.index)))
            emit.store(cell.narrow(total if self.exclusive else after), sink, row, loop.index)
            loop.give([after])

    def _across(self, cell: _Cell, x: Value, out: Value, axis: int) -> None:
        sizes = [emit.dim(x, place) for place in range(ir.MemRefType(x.type).rank)]
        outer, length, inner = emit.product(sizes[:axis]), sizes[axis], emit.product(sizes[axis + 1 :])
        lanes = self.target.lanes(cell.wide.width)
        source, sink = (
            emit.view(emit.metadata(b), [outer, length, inner], [emit.mul(length, inner), inner, 1], unit_inner=True)
            for b in (x, out)
        )
        block = int(self.target.l1_bytes * 8 // L1_SHARE // cell.wide.width // lanes * lanes)
        if isinstance(inner, int):
            block = max(min(block, -(-inner // lanes) * lanes), lanes)
        blocks = emit.maximum(emit.ceildiv(inner, block), 1)
        tasks = emit.mul(outer, blocks)
        cost = _cost(lanes, tasks, emit.mul(length, emit.minimum(inner, block)))
        step = part_size(tasks, 1, self.target.num_threads, cost)
        with (
            parallel_loop(0, tasks, step, cost) as first,
            emit.scratch(cell.wide, block) as totals,
            emit.loop(first, emit.minimum(emit.add(first, step), tasks)) as task,
        ):
            column = emit.mul(arith.remui(task, emit.index(blocks)), block)
            width = inner if blocks == 1 else emit.minimum(emit.sub(inner, column), block)
            neutral = emit.constant(emit.vector_type(lanes, cell.wide), cell.neutral)
            with emit.loop(0, width, lanes) as at:
                simd.store(neutral, totals, at)
            whole = emit.round_down(width, lanes)
            with emit.loop(0, length) as row:
                place = (emit.div(task, blocks), row)
                for span, size in (((0, whole), lanes), ((whole, width), 1)):
                    if not all(isinstance(end, int) for end in span) or span[0] != span[1]:
                        self._row(cell, (source, sink, totals), (*place, column), span, size)

    def _row(
        self,
        cell: _Cell,
        buffers: tuple[Value, Value, Value],
        place: tuple[Index, Index, Index],
        span: tuple[Index, Index],
        lanes: int,
    ) -> None:
        """Accumulate part of a row into the totals of its columns, `lanes` columns at a time."""
        source, sink, totals = buffers
        with emit.loop(*span, lanes) as at:
            position = (*place[:2], emit.add(place[2], at))
            before, value = (_load(lanes, *access) for access in ((totals, at), (source, *position)))
            after = cell.combine(before, cell.widen(value))
            _store(lanes, after, totals, at)
            _store(lanes, cell.narrow(before if self.exclusive else after), sink, *position)


def _load(lanes: int, buffer: Value, *position: Index) -> Value:
    """Load one element, or a vector."""
    return emit.load(buffer, *position) if lanes == 1 else simd.load(lanes, buffer, *position)


def _store(lanes: int, value: Value, buffer: Value, *position: Index) -> None:
    store = emit.store if lanes == 1 else simd.store
    store(value, buffer, *position)


@dataclass(frozen=True)
class _Cell:
    """Arithmetic on elements of a type, which are accumulated in `wide`."""

    stored: Type
    product: bool

    @property
    def wide(self) -> Type:
        return ir.F64Type.get() if self.is_float else self.stored

    @property
    def is_float(self) -> bool:
        return isinstance(self.stored, ir.FloatType)

    @property
    def neutral(self) -> float:
        return 1 if self.product else 0

    def widen(self, value: Value) -> Value:
        if not self.is_float:
            return value
        if self.stored.width == 16:
            value = simd.widen(value, ir.F32Type.get())
        return simd.widen(value, self.wide)

    def narrow(self, value: Value) -> Value:
        if self.is_float and self.stored.width == 16:
            value = simd.narrow(value, ir.F32Type.get())
        return simd.narrow(value, self.stored)

    def combine(self, a: Value, b: Value) -> Value:
        if self.is_float:
            return (arith.MulFOp if self.product else arith.AddFOp)(a, b).result
        return (arith.MulIOp if self.product else arith.AddIOp)(a, b).result

    def shifted(self, value: Value, count: int) -> Value:
        """Shift the lanes up by `count`; neutral elements fill the lowest ones."""
        lanes = value.type.shape[0]
        moved = [lane if lane < count else lanes + lane - count for lane in range(lanes)]
        return vector.ShuffleOp(emit.constant(value.type, self.neutral), value, moved).result

    def scanned(self, value: Value) -> Value:
        """The inclusive scan of the lanes."""
        count = 1
        while count < value.type.shape[0]:
            value = self.combine(self.shifted(value, count), value)
            count *= 2
        return value


def _last(value: Value) -> Value:
    """Broadcast the last lane."""
    lanes = value.type.shape[0]
    return vector.ShuffleOp(value, value, [lanes - 1] * lanes).result


def _cost(lanes: int, *sizes: Index) -> Index:
    return emit.div(emit.mul(emit.product(sizes), CYCLES), lanes)


def is_scannable(type_: Type) -> bool:
    """True if the kernels accept a buffer's element type."""
    element = element_of(type_)
    return isinstance(element, ir.FloatType) or (isinstance(element, ir.IntegerType) and element.width >= 8)


@generates("cumsum", "cumprod")
def request_scan(request: Request) -> Emitter | None:
    """Accept a scan over any axis of a contiguous buffer of an element type that `Scan` supports."""
    if len(request.arguments) != 2 or not all(is_contiguous(a.type) for a in request.arguments):
        return None
    x, out = request.arguments
    if x.type != out.type or not is_scannable(x.type):
        return None
    (axis,) = request.axes()
    kind = Scan(request.target, request.name == "cumprod", request.attributes["exclusive"].value)
    return lambda: kind.emit(x, out, axis)
