"""Nests that move data across lines, in squares that are turned in registers.

Outputs are consecutive along one loop, some inputs along another one. Element by element, one side or the other walks
across lines of memory: a cache line and maybe a page for each element, and lines that are a power of two apart share
few sets of the caches. Here a vector of each of as many lines as it has lanes is read, and the columns of this square
are written, again as whole vectors. Other inputs are read as the outputs are written, and the body is computed on
vectors.

What is left on two sides of whole squares is done in squares under masks, where memory can be masked cheaply and a good
part of these squares is filled, else element by element.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property

from relax_mlir.lowering.kernels import emit, simd
from relax_mlir.lowering.kernels.body import Body, Place, iota
from relax_mlir.lowering.kernels.emit import Index, Value
from relax_mlir.lowering.kernels.nest import Access, Nest
from relax_mlir.lowering.kernels.operands import Operands
from relax_mlir.lowering.kernels.parallel import parallel_loop, part_size
from relax_mlir.lowering.kernels.shuffles import transpose
from relax_mlir.target import CACHE_LINE, Target

MASKABLE = (32, 64)
TURNABLE = (32, 64)

BLOCK = 64
"""Elements of a block along either loop: some cache lines of each line, in few enough pages for the first-level TLB."""

CYCLE_ELEMENTS = 2
"""About how many elements take a cycle."""


def emit_turned(nest: Nest, body: Body, target: Target) -> bool:
    """Emit the loops of a nest at the insertion point; False (and nothing emitted) if nothing is to be turned in it.

    The body is there for each line of a square: one of many operations stays in scalar loops.
    """
    loops = range(len(nest.sizes))
    if not all(nest.parallel) or not body.is_light:
        return False
    for along, across in ((i, j) for i in reversed(loops) for j in loops if i != j):
        emitter = _Emitter(nest, body, target, along, across)
        if emitter.fits:
            emitter.run()
            return True
    return False


@dataclass(frozen=True)
class _Area:
    """Where to work: iterations from `left` to `right` along lines of outputs, of lines from `top` to `bottom`."""

    left: Index
    right: Index
    top: Index
    bottom: Index


@dataclass
class _Emitter:
    """Outputs are consecutive along the loop `along`, inputs that are turned along the loop `across`."""

    nest: Nest
    body: Body
    target: Target
    along: int
    across: int
    places: dict[int, Index] = field(default_factory=dict)

    # Decisions

    @property
    def fits(self) -> bool:
        """Whether inputs are to be turned, and all else can be done on vectors along the outputs."""
        if not all(output.is_unit(self.along) for output in self.nest.outputs) or not self.turned:
            return False
        straight = [self.accesses[i] for i in self.used if i not in self.turned]
        moved = [i for i, access in enumerate(self.accesses) if access.moves(self.along)]
        return (
            all(access.is_unit(self.along) or not access.moves(self.along) for access in straight)
            and all(self.accesses[i].bits in TURNABLE for i in self.turned)
            and not any(isinstance(size, int) and size < self.least for size in (self.height, self.width))
            and self.body.can_be_vectorised(self.nest.origin.index(self.along), moved)
        )

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        return (*self.nest.inputs, *self.nest.outputs)

    @cached_property
    def used(self) -> list[int]:
        """The arguments that the body reads."""
        return [i for i in range(len(self.accesses)) if self.body.uses(i)]

    @cached_property
    def turned(self) -> list[int]:
        """The inputs that are consecutive across the lines of outputs."""

        def is_turned(access: Access) -> bool:
            return access.is_unit(self.across) and access.moves(self.along)

        return [i for i in self.used if i < len(self.nest.inputs) and is_turned(self.accesses[i])]

    @cached_property
    def lanes(self) -> int:
        """Lanes that fill a register with the widest element in memory."""
        return self.target.lanes(max(access.bits for access in self.accesses))

    @property
    def least(self) -> int:
        """Sides of a matrix that is large enough for a square."""
        return self.lanes // 2 if self.can_mask else self.lanes

    @property
    def can_mask(self) -> bool:
        moved = [access.bits in MASKABLE for access in self.accesses if access.moves(self.along)]
        return all(moved) and self.target.has_masks and not self.body.may_trap

    @property
    def height(self) -> Index:
        """How many lines of outputs there are."""
        return self.nest.sizes[self.across]

    @property
    def width(self) -> Index:
        """The length of a line of outputs."""
        return self.nest.sizes[self.along]

    @cached_property
    def straight(self) -> Operands:
        """For operands that are read and written as they are, and single elements of the others."""
        return Operands(self.nest, self.along, self.places)

    @cached_property
    def lines(self) -> Operands:
        """For the lines of inputs that are turned."""
        return Operands(self.nest, self.across, self.places)

    def _cost(self) -> Index:
        """About how many cycles the nest takes (see `parallel_loop`)."""
        total: Index = 1
        for size in self.nest.sizes:
            total = emit.mul(total, size)
        return emit.div(total, CYCLE_ELEMENTS)

    # Loops

    def run(self) -> None:
        """Emit all loops, around which the views of the operands are made."""
        _ = self.straight, self.lines
        cost, block = self._cost(), max(BLOCK, self.lanes)
        rows = emit.minimum(block, part_size(self.height, self.lanes, self.target.num_threads, cost))
        others = [loop for loop in range(len(self.nest.sizes)) if loop not in (self.along, self.across)]
        with ExitStack() as stack:
            for loop in others:
                self.places[loop] = stack.enter_context(parallel_loop(0, self.nest.sizes[loop], 1, cost))
            top = stack.enter_context(parallel_loop(0, self.height, rows, cost))
            bottom = emit.minimum(emit.add(top, rows), self.height)
            bottom_square = emit.add(top, emit.round_down(emit.sub(bottom, top), self.lanes))
            right_square = emit.round_down(self.width, self.lanes)
            with emit.loop(0, right_square, block) as left:
                right = emit.minimum(emit.add(left, block), right_square)
                self._squares(_Area(left, right, top, bottom_square))
            with emit.loop(0, 2) as side:
                below = emit.compare("ne", side, 0)
                left = emit.select(below, 0, right_square)
                upper, lower = (
                    emit.select(below, bottom_square, top),
                    emit.select(below, bottom, bottom_square),
                )
                self._rest(_Area(left, self.width, upper, lower))

    def _squares(self, area: _Area) -> None:
        """Whole squares: lines of outputs grow by a cache line at a time."""
        line = CACHE_LINE * 8 // max(access.bits for access in self.accesses)
        with (
            emit.loop(area.left, area.right, max(line, self.lanes)) as left,
            emit.loop(area.top, area.bottom, self.lanes) as row,
        ):
            if line <= self.lanes:
                self._square(emit.opaque(left), emit.opaque(row))
                return
            with emit.loop(left, emit.minimum(emit.add(left, line), area.right), self.lanes) as column:
                self._square(emit.opaque(column), emit.opaque(row))

    def _rest(self, area: _Area) -> None:
        """An area with less rows or columns than a square has."""

        def by_elements() -> None:
            with emit.loop(area.top, area.bottom) as row, emit.loop(area.left, area.right) as column:
                self._element(column, row)

        def by_squares() -> None:
            with (
                emit.loop(area.top, area.bottom, self.lanes) as row,
                emit.loop(area.left, area.right, self.lanes) as column,
            ):
                self._masked_square(emit.opaque(column), emit.opaque(row), area)

        if not self.can_mask:
            by_elements()
            return
        sides = ((area.left, area.right), (area.top, area.bottom))
        height, width = (emit.minimum(emit.sub(end, start), self.lanes) for start, end in sides)
        filled = emit.compare("ge", emit.mul(height, width), self.lanes * self.lanes // 2)
        emit.branch(filled, by_squares, by_elements)

    # One evaluation of the body

    def _square(self, column: Index, row: Index) -> None:
        turned = {i: transpose(self._read(i, column, Place(row, self.lanes))) for i in self.turned}
        for q in range(self.lanes):
            given = {i: columns[q] for i, columns in turned.items()}
            self._evaluate(Place(column, self.lanes), emit.add(row, q), given)

    def _masked_square(self, column: Index, row: Index, area: _Area) -> None:
        """A square of which a part is in an area; lines behind its last one are read as that one."""
        lanes = self.lanes
        place = Place(row, lanes, simd.mask(emit.sub(area.bottom, row), lanes))
        last = emit.sub(area.right, 1)
        turned = {i: transpose(self._read(i, column, place, last)) for i in self.turned}
        where = simd.mask(emit.sub(area.right, column), lanes)
        for q in range(lanes):
            given = {i: columns[q] for i, columns in turned.items()}
            with emit.when(emit.compare("lt", emit.add(row, q), area.bottom)):
                self._evaluate(Place(column, lanes, where), emit.add(row, q), given)

    def _read(self, number: int, column: Index, place: Place, last: Index | None = None) -> list[Value]:
        """A vector of each of the lines of an input that become a square of columns of outputs."""
        rows = []
        for q in range(self.lanes):
            line = emit.add(column, q)
            self.places[self.along] = line if last is None else emit.minimum(line, last)
            rows.append(self.lines.load(number, place))
        return rows

    def _element(self, column: Index, row: Index) -> None:
        self.places[self.across] = row
        self._evaluate(Place(column, None), row, {})

    def _evaluate(self, place: Place, row: Index, turned: Mapping[int, Value]) -> None:
        """The body at a place of a line of outputs, for these values of inputs that have been turned."""
        self.places[self.across] = row

        def index(loop: int) -> Index:
            number = self.nest.origin[loop]
            if number is None:
                return 0
            if number != self.along:
                return self.places[number]
            return place.at if place.lanes is None else iota(place.at, place.lanes)

        given = {i: turned[i] if i in turned else self.straight.load(i, place) for i in self.used}
        arguments = [given.get(i) for i in range(len(self.accesses))]
        for i, value in enumerate(self.body.evaluate(arguments, index, place)):
            self.straight.store(len(self.nest.inputs) + i, place, value)
