"""Nests that transpose data, in square tiles that are transposed in registers.

Outputs are contiguous along one loop, some inputs along another one. Element by element, one side or the other jumps
from row to row: a cache line and maybe a page for each element, and rows at distances of a power of two map to few
cache sets. A tile has as many rows as a vector has lanes. One vector of each row is loaded, and the columns of the tile
are stored, again as whole vectors. Other inputs are read along the outputs, and the body is computed on vectors.

If sizes are no multiples of the lanes, the last tiles overlap others, provided that all inputs are transposed (mostly
pure copies). Other bodies must not run twice, because the output may alias an input: the remainder is done in small
tiles, then element by element. Matrices that hold no tile are done in small ones, those of few elements by scalar
loops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from relax_mlir.fork_safety import cached_property
from relax_mlir.lowering.kernels.core import emit
from relax_mlir.lowering.kernels.core.emit import Index, Value
from relax_mlir.lowering.kernels.core.parallel import parallel_loop, part_size
from relax_mlir.lowering.kernels.core.scalar_body import Body, Place, iota
from relax_mlir.lowering.kernels.core.simd import transpose
from relax_mlir.lowering.kernels.nest.loop_nest import Access, Nest, Operands
from relax_mlir.mlir import arith, ir
from relax_mlir.target import CACHE_LINE, Target

NARROWEST = 32
"""Bits. Tiles of narrower elements use the lane count of elements of this width: rows must fit the registers."""

SMALL = 4
"""Lanes of small tiles."""

LEAST, MIN_OF_OTHERS = 64, 256
"""The minimum elements of a matrix for tiles to pay off: if all inputs that are read are transposed, and otherwise."""

BLOCK = 64
"""Elements of a block along either loop: some cache lines of each row, on few enough pages for the first-level TLB."""

CYCLE_ELEMENTS = 2
"""The approximate number of elements per cycle."""


def emit_transposed(nest: Nest, body: Body, target: Target, by_elements: Callable[[], None]) -> bool:
    """Emit the loops of a nest at the insertion point; return False (and emit nothing) if no input is transposed.

    The body is unrolled for each row of a tile, so it must have few operations. `by_elements` emits scalar loops, which
    run instead if dynamic sizes turn out to be too small.
    """
    loops = range(len(nest.sizes))
    if not all(nest.parallel) or not body.is_light:
        return False
    for along, across in ((i, j) for i in reversed(loops) for j in loops if i != j):
        emitter = _Emitter(nest, body, target, along, across)
        if emitter.fits:
            emitter.run(by_elements)
            return True
    return False


@dataclass(frozen=True)
class _Area:
    """An iteration area: from `left` to `right` along rows of the outputs, and rows from `top` to `bottom`."""

    left: Index
    right: Index
    top: Index
    bottom: Index


@dataclass
class _Emitter:
    """Outputs are contiguous along the loop `along`, transposed inputs along the loop `across`."""

    nest: Nest
    body: Body
    target: Target
    along: int
    across: int
    places: dict[int, Index] = field(default_factory=dict)

    # Decisions

    @property
    def fits(self) -> bool:
        """True if inputs are to be transposed, and everything else works on vectors along the outputs."""
        outputs_fit = all(output.is_unit(self.along) for output in self.nest.outputs)
        if not outputs_fit or not self.transposed or self.lanes == 1:
            return False
        straight = [self.accesses[i] for i in self.used if i not in self.transposed]
        moved = [i for i, access in enumerate(self.accesses) if access.moves(self.along)]
        return (
            all(access.is_unit(self.along) or not access.moves(self.along) for access in straight)
            and not any(emit.is_bool(self.accesses[i].element) for i in self.transposed)
            and not any(isinstance(size, int) and size < self.sides[-1] for size in (self.height, self.width))
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
    def transposed(self) -> list[int]:
        """The inputs that are contiguous across the rows of the outputs."""

        def is_transposed(access: Access) -> bool:
            return access.is_unit(self.across) and access.moves(self.along)

        return [i for i in self.used if i < len(self.nest.inputs) and is_transposed(self.accesses[i])]

    @cached_property
    def lanes(self) -> int:
        """Rows of a large tile, and elements of each row."""
        return self.target.lanes(max(NARROWEST, *(access.bits for access in self.accesses)))

    @property
    def sides(self) -> list[int]:
        """Lanes of tiles, the larger ones first."""
        return [self.lanes, SMALL] if self.lanes > SMALL else [self.lanes]

    @property
    def can_overlap(self) -> bool:
        """True if tiles may overlap: all inputs that are read are transposed, and so do not alias outputs."""
        return self.used == self.transposed

    @property
    def height(self) -> Index:
        """The number of rows of the outputs."""
        return self.nest.sizes[self.across]

    @property
    def width(self) -> Index:
        """The length of a row of the outputs."""
        return self.nest.sizes[self.along]

    @cached_property
    def straight(self) -> Operands:
        """Accesses along the outputs: operands that are not transposed, and single elements of the others."""
        return Operands(self.nest, self.along, self.places)

    @cached_property
    def lines(self) -> Operands:
        """Accesses along the rows of transposed inputs."""
        return Operands(self.nest, self.across, self.places)

    def _cost(self) -> Index:
        """The approximate cycles of the nest (see `parallel_loop`)."""
        total: Index = 1
        for size in self.nest.sizes:
            total = emit.mul(total, size)
        return emit.div(total, CYCLE_ELEMENTS)

    # Loops

    def run(self, by_elements: Callable[[], None]) -> None:
        """Emit all loops; the views of the operands are created outside of them."""
        unknown = [size for size in (self.height, self.width) if not isinstance(size, int)]
        if not unknown:
            self._by_parts()
            return
        holds_square = [emit.compare("ge", size, self.sides[-1]) for size in unknown]
        least = LEAST if self.can_overlap else MIN_OF_OTHERS
        is_enough = emit.compare("ge", emit.mul(self.height, self.width), least)
        emit.branch(emit.all_of(is_enough, *holds_square), self._by_parts, by_elements)

    def _by_parts(self) -> None:
        """Emit parts of the rows of outputs. Each part holds a tile if the matrix does, so tiles never cross parts."""
        _ = self.straight, self.lines
        cost, lanes = self._cost(), self.lanes
        others = [loop for loop in range(len(self.nest.sizes)) if loop not in (self.along, self.across)]
        threads = 1 if others else self.target.num_threads
        rows = emit.minimum(max(BLOCK, lanes), part_size(self.height, lanes, threads, cost))
        end = emit.add(emit.sub(emit.maximum(self.height, lanes), lanes), 1)
        with ExitStack() as stack:
            for loop in others:
                self.places[loop] = stack.enter_context(parallel_loop(0, self.nest.sizes[loop], 1, cost))
            top = stack.enter_context(parallel_loop(0, end, rows, cost))
            is_last = emit.compare("gt", emit.add(emit.add(top, rows), lanes), self.height)
            bottom = emit.select(is_last, self.height, emit.add(top, rows))
            self._fill(_Area(0, self.width, top, bottom), self.sides)

    def _fill(self, area: _Area, sides: Sequence[int]) -> None:
        """Fill an area with tiles of these sizes, and the remainder by elements."""
        if not sides:
            with emit.loop(area.top, area.bottom) as row, emit.loop(area.left, area.right) as column:
                self.places[self.across] = row
                self._evaluate(Place(column, None), row, {})
            return
        lanes, *smaller = sides
        right = self._in_squares(area.left, area.right, lanes)
        below = self._in_squares(area.top, area.bottom, lanes)
        self._squares(_Area(area.left, right, area.top, below), lanes)
        if (self.can_overlap and not smaller) or self._is_whole(lanes):
            return
        with emit.loop(0, 2) as side:
            is_right = emit.compare("eq", side, 0)
            left = emit.select(is_right, right, area.left)
            top, bottom = emit.select(is_right, area.top, below), emit.select(is_right, below, area.bottom)
            size = emit.mul(emit.sub(area.right, left), emit.sub(bottom, top))
            with emit.when(emit.compare("ne", size, 0)):
                self._fill(_Area(left, area.right, top, bottom), smaller)

    def _in_squares(self, start: Index, end: Index, lanes: int) -> Index:
        """The end of the tiled range of one side of an area."""
        size = emit.sub(end, start)
        if not self.can_overlap:
            return emit.add(start, emit.round_down(size, lanes))
        return emit.select(emit.compare("ge", size, lanes), end, start)

    def _is_whole(self, lanes: int) -> bool:
        """True if static sizes leave no remainder after tiles."""
        for size in (self.height, self.width):
            if not isinstance(size, int) or size < lanes or not (self.can_overlap or size % lanes == 0):
                return False
        return True

    def _squares(self, area: _Area, lanes: int) -> None:
        """Emit the tiles of an area, in blocks: rows of outputs grow by a cache line at a time."""
        line = max(CACHE_LINE * 8 // max(access.bits for access in self.accesses), lanes)
        block = max(BLOCK, line)
        with ExitStack() as stack:
            first = stack.enter_context(emit.loop(area.left, area.right, block))
            last = emit.minimum(emit.add(first, block), area.right)
            left = stack.enter_context(emit.loop(first, last, line))
            row = stack.enter_context(emit.loop(area.top, area.bottom, lanes))
            if line > lanes:
                right = emit.minimum(emit.add(left, line), last)
                left = stack.enter_context(emit.loop(left, right, lanes))
            self._square(left, row, area, lanes)

    # One evaluation of the body

    def _square(self, column: Index, row: Index, area: _Area, lanes: int) -> None:
        """Emit the tile at a position, or at an earlier one if it does not fit the area."""
        if self.can_overlap:
            column = emit.minimum(column, emit.sub(area.right, lanes))
            row = emit.minimum(row, emit.sub(area.bottom, lanes))
        column, row = emit.opaque(column), emit.opaque(row)
        transposed = {i: self._transposed(i, column, Place(row, lanes), lanes) for i in self.transposed}
        for q in range(lanes):
            given = {i: columns[q] for i, columns in transposed.items()}
            self._evaluate(Place(column, lanes), emit.add(row, q), given)

    def _transposed(self, number: int, column: Index, place: Place, lanes: int) -> list[Value]:
        """The columns of a tile of an input, whose first row is `column`."""
        lines = []
        for q in range(lanes):
            self.places[self.along] = emit.add(column, q)
            lines.append(self.lines.load(number, place))
        element = self.accesses[number].element
        if not isinstance(element, ir.FloatType) or element.width >= NARROWEST:
            return transpose(lines)
        # LLVM may move 16-bit floats through wider ones.
        type_, bits = lines[0].type, emit.vector_type(lanes, ir.IntegerType.get_signless(element.width))
        columns = transpose([arith.bitcast(bits, line) for line in lines])
        return [arith.bitcast(type_, each) for each in columns]

    def _evaluate(self, place: Place, row: Index, transposed: Mapping[int, Value]) -> None:
        """Evaluate the body at a position of a row of outputs, for these values of the transposed inputs."""
        self.places[self.across] = row

        def index(loop: int) -> Index:
            number = self.nest.origin[loop]
            if number is None:
                return 0
            if number != self.along:
                return self.places[number]
            return place.at if place.lanes is None else iota(place.at, place.lanes)

        given = {i: transposed[i] if i in transposed else self.straight.load(i, place) for i in self.used}
        arguments = [given.get(i) for i in range(len(self.accesses))]
        for i, value in enumerate(self.body.evaluate(arguments, index, place)):
            self.straight.store(len(self.nest.inputs) + i, place, value)
