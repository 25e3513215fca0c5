"""Loop nests emitted as vector loops, and the pass `linalg-to-loops`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeAlias

from relax_mlir.fork_safety import cached_property
from relax_mlir.lowering.base.module_parts import own_ops
from relax_mlir.lowering.kernels.core import emit, simd
from relax_mlir.lowering.kernels.core.emit import Index, Value, in_blocks, is_one_block
from relax_mlir.lowering.kernels.core.lanes import side_by_side
from relax_mlir.lowering.kernels.core.parallel import parallel_loop
from relax_mlir.lowering.kernels.core.scalar_body import Body, Combiner, Place, iota
from relax_mlir.lowering.kernels.gemm.epilogue import VECTORS_PER_BODY
from relax_mlir.lowering.kernels.math.math_functions import is_call_for_double
from relax_mlir.lowering.kernels.nest.loop_nest import Access, Nest, Operands, is_past_caches, nest_of
from relax_mlir.lowering.kernels.nest.transposed_tiles import emit_transposed
from relax_mlir.lowering.kernels.rows.arg_reduce import emit_arg_reduce
from relax_mlir.lowering.kernels.rows.rows import NEXT_ROW
from relax_mlir.mlir import arith, func, ir, linalg
from relax_mlir.target import CACHE_LINE, Target
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.pipeline import run_native

MASKABLE = (32, 64)

LIGHT_TOGETHER = 4
"""Interleaved vectors for a body of few operations: enough to hide the latency of an addition."""

HEAVY_CYCLES = 8
"""The approximate cycles per vector of a body with math functions; in others it is one."""


TURN_ROWS = 8
"""Rows that are summed before they are added to the results in memory, which are read and written once for all."""

TURN_BYTES = 2048
"""The minimum length of rows that are summed by rows; columns of shorter ones are accumulated in registers."""

LONG_VECTORS = 8
"""The minimum number of vectors for which it pays off to begin at a cache line."""


def emit_nest(nest: Nest, target: Target, vectors_per_body: int | None = None, next_row: Sequence[int] = ()) -> bool:
    """Emit the loops of a nest at the insertion point; return False (and emit nothing) if its body cannot be emitted.

    `vectors_per_body`: vectors per evaluation of the body, if most rows have that many. `next_row`: inputs whose next
    row is prefetched, if the nest goes over a single row and is compute-bound.
    """
    body = Body(nest.body)
    if not body.can_be_emitted:
        return False
    emitter = _Emitter(nest, body, target, vectors_per_body, next_row)
    if emitter.vector_loop is not None or not emit_transposed(nest, body, target, emitter.run):
        emitter.run()
    return True


@dataclass
class _Emitter:
    nest: Nest
    body: Body
    target: Target
    vectors_per_body: int | None
    next_row: Sequence[int]

    def run(self) -> None:
        """Emit all loops; the views of the operands are created outside of them."""
        _ = self.operands
        if self.vector_loop is not None and self.nest.parallel[self.vector_loop]:
            self._along_parallel(self.vector_loop)
        elif self.vector_loop is not None:
            self._along_reduction(self.vector_loop)
        else:
            # Elements at positions that the body computes: LLVM unrolls or vectorises these loops.
            with self._loops(self.parallel_loops, free=not self.reduction_loops):
                self._point(Place(0, None), {})

    # Decisions

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        return (*self.nest.inputs, *self.nest.outputs)

    @cached_property
    def used(self) -> tuple[bool, ...]:
        """Per argument, True if the body reads it."""
        return tuple(self.body.uses(position) for position in range(len(self.accesses)))

    @cached_property
    def parallel_loops(self) -> list[int]:
        return [loop for loop, parallel in enumerate(self.nest.parallel) if parallel]

    @cached_property
    def reduction_loops(self) -> list[int]:
        return [loop for loop, parallel in enumerate(self.nest.parallel) if not parallel]

    @cached_property
    def vector_loop(self) -> int | None:
        for loop in reversed(self.parallel_loops):
            if all(a.is_unit(loop) for a in self.nest.outputs) and self._suits(loop):
                return loop
        if any(combiner is None for combiner in self.combiners):
            return None
        return next((loop for loop in reversed(self.reduction_loops) if self._suits(loop)), None)

    def _suits(self, loop: int) -> bool:
        """True if the body can run on vectors along a loop, along which its inputs are contiguous or fixed."""
        inputs = [a for a, used in zip(self.nest.inputs, self.used, strict=False) if used]
        if not all(a.is_unit(loop) or not a.moves(loop) for a in inputs):
            return False
        along = self.nest.origin.index(loop)
        moved = [i for i, a in enumerate(self.accesses) if a.moves(loop)]
        return self.body.can_be_vectorised(along, moved)

    @cached_property
    def combiners(self) -> list[Combiner | None]:
        first = len(self.nest.inputs)
        return [self.body.combiner(i, first + i) for i in range(len(self.nest.outputs))]

    @cached_property
    def reassociated(self) -> list[Combiner] | None:
        """The reductions of the outputs if all are sums or products of floats: these are computed in blocks."""
        combiners = [combiner for combiner in self.combiners if combiner and _reassociate(combiner)]
        return combiners if len(combiners) == len(self.combiners) else None

    @cached_property
    def lanes(self) -> int:
        """Lanes that fill a register with the widest element in memory."""
        return self.target.lanes(max(a.bits for a in self.accesses))

    @cached_property
    def side_by_side(self) -> int:
        """Vectors per evaluation of the body, in rows that have that many."""
        if self.vectors_per_body:
            return self.vectors_per_body
        if self.body.is_light:
            return LIGHT_TOGETHER
        bits, carries = max(a.bits for a in self.accesses), bool(self.reduction_loops)
        if bits > 32 and any(is_call_for_double(op.name, self.target) for op in self.body.operations):
            return 1
        return side_by_side(self.target, bits, carries)

    @cached_property
    def can_mask(self) -> bool:
        assert self.vector_loop is not None
        moved = [a.bits in MASKABLE for a in self.accesses if a.moves(self.vector_loop)]
        return all(moved) and not self.body.may_trap

    @cached_property
    def operands(self) -> Operands:
        return Operands(self.nest, self.vector_loop)

    # Loops

    def _loops(self, loops: Sequence[int], free: bool = False) -> ExitStack:
        """Loops around the code emitted in the context; if `free`, LLVM may transform the innermost one."""
        assert self.operands is not None
        stack = ExitStack()
        marked = next((loop for loop in loops if self.nest.sizes[loop] != 1), None)
        for loop in loops:
            size = self.nest.sizes[loop]
            inner = partial(emit.loop, free=free and loop == loops[-1])
            made = parallel_loop(0, size, 1, self._cost()) if loop == marked else inner(0, size)
            self.operands.places[loop] = stack.enter_context(made)
        return stack

    def _cost(self) -> Index:
        """The approximate cycles of the nest (see `parallel_loop`)."""
        total: Index = 1 if self.body.is_light else HEAVY_CYCLES
        for size in self.nest.sizes:
            total = emit.mul(total, size)
        return total if self.vector_loop is None else emit.div(total, self.lanes)

    def _carry(
        self,
        loops: Sequence[int],
        initial: Sequence[Value],
        step: Callable[[Sequence[Value]], Sequence[Value]],
    ) -> list[Value]:
        """Emit nested loops that carry values."""
        if not loops:
            return list(step(initial))
        with emit.carrying_loop(0, self.nest.sizes[loops[0]], 1, initial) as loop:
            self.operands.places[loops[0]] = loop.index
            loop.give(self._carry(loops[1:], loop.values, step))
        return list(loop.results)

    def _along_parallel(self, along: int) -> None:
        if not self._can_take_turns(along):
            self._columns(along)
            return
        bits = max(access.bits for access in self.nest.inputs)
        long = emit.compare("ge", self.nest.sizes[along], TURN_BYTES * 8 // bits)
        emit.branch(long, lambda: self._rows_in_turn(along), lambda: self._columns(along))

    def _can_take_turns(self, along: int) -> bool:
        """True if the nest sums rows."""
        size = self.nest.sizes[along]
        inputs = [a for a, used in zip(self.nest.inputs, self.used, strict=False) if used]
        return (
            bool(self.reduction_loops)
            and self.body.is_light
            and all(access.moves(along) for access in inputs)
            and not (isinstance(size, int) and size < TURN_BYTES * 8 // 64)
        )

    def _rows_in_turn(self, along: int) -> None:
        """Reduce some rows at a time into the outputs, in memory: reading long rows by columns is slow."""
        *outer, last = self.reduction_loops
        size = self.nest.sizes[last]
        whole = emit.round_down(size, TURN_ROWS)
        with self._loops([*(loop for loop in self.parallel_loops if loop != along), *outer]):
            with emit.loop(0, whole, TURN_ROWS) as row:
                self._add_rows(along, last, [emit.add(row, i) for i in range(TURN_ROWS)])
            with emit.loop(whole, size) as row:
                self._add_rows(along, last, [row])

    def _add_rows(self, along: int, loop: int, rows: Sequence[Index]) -> None:
        """Emit one sweep along the vector loop, for these iterations of the reduction loop."""
        first, count = len(self.nest.inputs), len(self.nest.outputs)

        def point(place: Place) -> None:
            sums: Sequence[Value] = [self.operands.load(first + i, place) for i in range(count)]
            combiners = self.reassociated
            carried = self._neutral(combiners, place.lanes) if combiners else sums
            for row in rows:
                self.operands.places[loop] = row
                carried = self._evaluate(place, carried, {})
            if combiners:
                carried = _merge(combiners, sums, carried)
            for i, value in enumerate(carried):
                self.operands.store(first + i, place, value)

        size = self.nest.sizes[along]
        end = emit.round_down(size, self.lanes)
        with emit.loop(0, end, self.lanes) as start:
            point(Place(start, self.lanes))
        self._rest(size, end, point)

    def _columns(self, along: int) -> None:
        size, lanes = self.nest.sizes[along], self.lanes * self.side_by_side
        others = [loop for loop in self.parallel_loops if loop != along]
        by_lines = self._is_worth_lines(size)
        with self._loops(others):
            fixed = {} if self.reduction_loops else self._load_fixed(along)
            first = self._to_whole_line(size) if by_lines else 0
            if by_lines:
                with emit.when(emit.compare("ne", first, 0)):
                    self._point(Place(0, self.lanes, simd.mask(first, self.lanes)), fixed)
            wide_end, end = (
                emit.add(first, emit.round_down(emit.sub(size, first), multiple)) for multiple in (lanes, self.lanes)
            )
            inner = emit.loop if others else partial(parallel_loop, cost=self._cost())
            takes_time = len(self.nest.sizes) == 1 and not self.body.is_light
            asks_ahead = takes_time and self._is_alone
            next_row, ahead = (self.next_row, self._to_next_row(size)) if takes_time else ((), 0)

            def whole_vectors(streamed: int | None = None) -> None:
                with inner(first, wide_end, lanes) as start:
                    place = Place(start, lanes, streamed=streamed)
                    if asks_ahead:
                        self.operands.prefetch_ahead(place)
                    for number in next_row:
                        self.operands.prefetch(number, place, ahead)
                    self._point(place, fixed)

            past_caches = self._is_past_caches(along)
            if past_caches is not None:
                emit.branch(past_caches, lambda: whole_vectors(self.target.vector_bytes), whole_vectors)
            elif wide_end != 0:
                whole_vectors()
            if lanes != self.lanes:
                with emit.loop(wide_end, end, self.lanes) as start:
                    self._point(Place(start, self.lanes), fixed)
            self._rest(size, end, lambda place: self._point(place, fixed))

    def _is_worth_lines(self, size: Index) -> bool:
        """True if stores should begin at a cache line: an unaligned vector of that size takes two lines.

        (Sums of rows of 255 f64 take up to a third less time.) Compute-bound bodies gain nothing.
        """
        if not self._is_alone or self.reduction_loops or not self.can_mask or not self.body.is_light:
            return False
        if self.target.vector_bytes != CACHE_LINE or len(self.nest.outputs) != 1:
            return False
        (output,) = self.nest.outputs
        is_long = not isinstance(size, int) or size >= LONG_VECTORS * self.lanes
        return is_long and output.bits * self.lanes == CACHE_LINE * 8

    def _to_whole_line(self, size: Index) -> Index:
        """Elements of a long row of the output up to the next cache line."""
        number = len(self.nest.inputs)
        bytes_ = self.accesses[number].bits // 8
        start = self.operands.address_of(number, Place(0, self.lanes))
        ahead = emit.div(arith.andi(emit.index(emit.sub(0, start)), emit.index(CACHE_LINE - 1)), bytes_)
        if isinstance(size, int):
            return ahead
        return emit.select(emit.compare("ge", size, LONG_VECTORS * self.lanes), ahead, 0)

    def _to_next_row(self, size: Index) -> Index:
        """The prefetch distance to the next row; 0 if L1 cannot hold two rows."""
        most = self.target.l1_bytes * 8 // (2 * len(self.accesses) * max(a.bits for a in self.accesses))
        return emit.select(emit.compare("le", size, most), size, 0)

    @property
    def _is_alone(self) -> bool:
        """True if this is the whole function: rows or tiles of a kernel are in the caches, and are read again soon."""
        return isinstance(ir.InsertionPoint.current.block.owner.opview, func.FuncOp) and not self.vectors_per_body

    def _is_past_caches(self, along: int) -> Value | None:
        """True if the result is to be written by non-temporal stores; None if they are ruled out statically."""
        *inputs, output = self.accesses
        only = len(self.nest.outputs) == 1 and len(self.nest.sizes) == 1
        if not self._is_alone or not only or output.bits < max(a.bits for a in inputs or [output]):
            return None
        return is_past_caches(self.target, output, inputs, self.nest.sizes[along])

    def _rest(self, size: Index, start: Index, point: Callable[[Place], None]) -> None:
        """Emit the remainder of the vector loop from `start`."""
        rest = emit.sub(size, start)
        if isinstance(rest, int) and rest == 0:
            return
        if self.can_mask:
            with emit.when(emit.compare("ne", rest, 0)):
                point(Place(start, self.lanes, simd.mask(rest, self.lanes)))
            return
        with emit.loop(start, size) as place:
            point(Place(place, None))

    def _point(self, place: Place, fixed: dict[int, Value]) -> None:
        """Emit all reduction loops for a position of the vector loop: load the outputs, reduce, store them."""
        first, count = len(self.nest.inputs), len(self.nest.outputs)
        needed = [i for i in range(count) if self.reduction_loops or self.used[first + i]]
        initial = [self.operands.load(first + i, place) for i in needed]

        def step(carried: Sequence[Value]) -> list[Value]:
            outputs: list[Value | None] = [None] * count
            for i, value in zip(needed, carried, strict=False):
                outputs[i] = value
            return self._evaluate(place, outputs, fixed)

        for i, value in enumerate(self._reduce(place, initial, step)):
            self.operands.store(first + i, place, value)

    def _reduce(
        self, place: Place, initial: Sequence[Value], step: Callable[[Sequence[Value]], Sequence[Value]]
    ) -> Sequence[Value]:
        """Emit all reduction loops for a position of the vector loop, the innermost in blocks for accuracy."""
        combiners = self.reassociated
        if not self.reduction_loops or not combiners:
            return self._carry(self.reduction_loops, initial, step)
        *outer, last = self.reduction_loops
        size = self.nest.sizes[last]
        if is_one_block(size, 1):
            return self._carry(self.reduction_loops, initial, step)

        def block(begin: Index, end: Index) -> Sequence[Value]:
            with emit.carrying_loop(begin, end, 1, self._neutral(combiners, place.lanes)) as loop:
                self.operands.places[last] = loop.index
                loop.give(step(loop.values))
            return loop.results

        def blocks(carried: Sequence[Value]) -> Sequence[Value]:
            return in_blocks(0, size, 1, carried, block, partial(_merge, combiners))

        return self._carry(outer, initial, blocks)

    def _along_reduction(self, along: int) -> None:
        size, lanes = self.nest.sizes[along], self.lanes * self.side_by_side
        wide_end, end = emit.round_down(size, lanes), emit.round_down(size, self.lanes)
        combiners = [combiner for combiner in self.combiners if combiner is not None]
        first, count = len(self.nest.inputs), len(combiners)
        single, several = self._neutral(combiners, self.lanes), self._neutral(combiners, lanes)
        with self._loops(self.parallel_loops):

            def rows(carried: Sequence[Value]) -> list[Value]:
                fixed = self._load_fixed(along)

                def block(begin: Index, end: Index) -> Sequence[Value]:
                    with emit.carrying_loop(begin, end, lanes, several) as loop:
                        loop.give(self._evaluate(Place(loop.index, lanes), loop.values, fixed))
                    return loop.results

                merge = partial(_merge, combiners)
                totals = in_blocks(0, wide_end, lanes, carried[count:], block, merge)
                sums = carried[:count]
                if lanes != self.lanes:
                    with emit.carrying_loop(wide_end, end, self.lanes, sums, unroll=False) as rest:
                        rest.give(self._evaluate(Place(rest.index, self.lanes), rest.values, fixed))
                    sums = rest.results
                return [*self._masked_rest(size, end, sums, fixed), *totals]

            def remainder(carried: Sequence[Value]) -> list[Value]:
                fixed = self._load_fixed(along)
                with emit.carrying_loop(end, size, 1, carried, unroll=False) as loop:
                    loop.give(self._evaluate(Place(loop.index, None), loop.values, fixed))
                return list(loop.results)

            others = [loop for loop in self.reduction_loops if loop != along]
            vectors = self._carry(others, [*single, *several], rows)
            totals = []
            for i, combiner in enumerate(combiners):
                merged = vectors[i]
                for start in range(0, lanes, self.lanes):
                    merged = _combine(combiner, merged, simd.lanes_of(vectors[count + i], start, self.lanes))
                total = simd.reduce(combiner.kind, merged, fastmath=_reassociate(combiner))
                totals.append(_combine(combiner, self.operands.load(first + i, Place(0, None)), total))
            if not (self.can_mask or (isinstance(size, int) and size % self.lanes == 0)):
                totals = self._carry(others, totals, remainder)
            for i, total in enumerate(totals):
                self.operands.store(first + i, Place(0, None), total)

    def _masked_rest(
        self, size: Index, start: Index, sums: Sequence[Value], fixed: dict[int, Value]
    ) -> Sequence[Value]:
        """Reduce the remainder of the vector loop from `start`, if it can be masked."""
        left = emit.sub(size, start)
        if not self.can_mask or (isinstance(left, int) and left == 0):
            return sums

        def step() -> list[Value]:
            mask = simd.mask(left, self.lanes)
            given = self._evaluate(Place(start, self.lanes, mask), sums, fixed)
            return [emit.select(mask, new, old) for new, old in zip(given, sums, strict=True)]

        return emit.choose(emit.compare("ne", left, 0), [x.type for x in sums], step, lambda: list(sums))

    def _neutral(self, combiners: Sequence[Combiner], lanes: int | None) -> list[Value]:
        """The initial accumulators: a vector or a scalar per output."""
        types = [access.element for access in self.nest.outputs]
        return [
            emit.constant(emit.vector_type(lanes, type_) if lanes else type_, combiner.neutral(type_))
            for combiner, type_ in zip(combiners, types, strict=True)
        ]

    # One evaluation of the body

    def _evaluate(self, place: Place, outputs: Sequence[Value | None], fixed: dict[int, Value]) -> list[Value]:
        inputs = [
            fixed[i] if i in fixed else self.operands.load(i, place) if self.used[i] else None
            for i in range(len(self.nest.inputs))
        ]

        def index(loop: int) -> Index:
            number = self.nest.origin[loop]
            if number is None:
                return 0
            if number != self.vector_loop:
                return self.operands.places[number]
            return place.at if place.lanes is None else iota(place.at, place.lanes)

        return self.body.evaluate([*inputs, *outputs], index, place, contract=bool(self.reduction_loops))

    def _load_fixed(self, along: int) -> dict[int, Value]:
        """Load the inputs that the vector loop does not move, before it."""
        numbers = range(len(self.nest.inputs))
        fixed = [i for i in numbers if self.used[i] and not self.accesses[i].moves(along)]
        return {i: self.operands.load(i, Place(0, None)) for i in fixed}


def _combine(combiner: Combiner, a: Value, b: Value) -> Value:
    return ir.Operation.create(combiner.operation, results=[a.type], operands=[a, b]).result


def _merge(combiners: Sequence[Combiner], some: Sequence[Value], more: Sequence[Value]) -> list[Value]:
    return [_combine(*triple) for triple in zip(combiners, some, more, strict=True)]


def _reassociate(combiner: Combiner) -> str | None:
    return "reassoc" if combiner.operation in ("arith.addf", "arith.mulf") else None


# Pass `linalg-to-loops`: lower linalg operations on memrefs to loops over vectors.


Operation: TypeAlias = ir.Operation


@dataclass(frozen=True)
class LinalgToLoops(ModulePass):
    """Lower linalg operations and `memref.copy` on memrefs to scf loops with vector operations.

    It lowers every `linalg.generic` whose indexing maps select loops (or the constant 0) and whose body has no regions.
    `relax_mlir.lowering.kernels.nest.vector_loops` describes what is vectorised. Float sums and products over the last
    axis are reassociated. Upstream's `convert-linalg-to-loops` lowers the remaining operations.
    """

    name: ClassVar[str] = "linalg-to-loops"
    target: str = "cpu"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        target = Target.parse(self.target)
        copies, left = _found(module)
        for copy in copies:
            if copy.operands[0] == copy.operands[1]:  # a slice that was already written in place
                copy.erase()
                continue
            with ir.InsertionPoint(copy), copy.location:
                linalg.copy(copy.operands[0], outs=[copy.operands[1]])
            copy.erase()
        if copies or any(operation.name != "linalg.generic" for operation in left):
            run_native("builtin.module(func.func(linalg-generalize-named-ops))", module)
            _, left = _found(module)
        done = 0
        for operation in left:
            with ir.InsertionPoint(operation), operation.location:
                if emit_arg_reduce(operation, target) or _emit_loops(operation, target):
                    operation.erase()
                    done += 1
        if done < len(left):
            run_native("builtin.module(func.func(convert-linalg-to-loops))", module)


def _found(module: ir.Module) -> tuple[list[Operation], list[Operation]]:
    """The copies and the linalg ops of the module; kernels that depend on the target alone have none."""
    ops = own_ops(module)
    found = [op for op in ops if op.name.startswith("linalg.") and not op.parent.name.startswith("linalg.")]
    return [op for op in ops if op.name == "memref.copy"], found


def _emit_loops(operation: Operation, target: Target) -> bool:
    nest = nest_of(operation)
    if nest is None:
        return False
    attributes = operation.attributes
    vectors_per_body = int(attributes[VECTORS_PER_BODY]) if VECTORS_PER_BODY in attributes else None
    next_row = list(attributes[NEXT_ROW]) if NEXT_ROW in attributes else []
    return emit_nest(nest, target, vectors_per_body, next_row)
