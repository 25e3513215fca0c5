"""The operands of a loop nest in memory: loads and stores at one position of the vector loop."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from relax_mlir.lowering.kernels.core import emit, simd
from relax_mlir.lowering.kernels.core.addresses import address
from relax_mlir.lowering.kernels.core.emit import Index, Value
from relax_mlir.lowering.kernels.core.non_temporal import stream
from relax_mlir.lowering.kernels.core.scalar_body import Place
from relax_mlir.lowering.kernels.nest.loop_nest import Access, Nest
from relax_mlir.mlir import arith, ir
from relax_mlir.target import CACHE_LINE


@dataclass(frozen=True)
class View:
    """An operand as a memref with one axis per loop that moves it, the vector loop's last."""

    access: Access
    buffer: Value
    loops: tuple[int, ...]


@dataclass
class Operands:
    """Inputs, then outputs of a nest; `along` is its vector loop, if any.

    `places` holds the induction variable of each other loop, once it is emitted. Create it outside of all loops.
    """

    nest: Nest
    along: int | None
    places: dict[int, Index] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.accesses = (*self.nest.inputs, *self.nest.outputs)
        self.views = [self._view(access) for access in self.accesses]

    def _view(self, access: Access) -> View:
        if not access.is_buffer:
            return View(access, access.value, ())
        loops = [loop for loop in range(len(self.nest.sizes)) if access.moves(loop)]
        unit = self.along is not None and access.is_unit(self.along)
        if unit:
            loops.sort(key=lambda loop: loop == self.along)
        sizes = [self.nest.sizes[loop] for loop in loops]
        strides = [access.stride(loop) for loop in loops]
        buffer = emit.view(emit.metadata(access.value), sizes, strides, unit_inner=unit)
        return View(access, buffer, tuple(loops))

    def load(self, number: int, place: Place) -> Value:
        """Load operand `number` at a position: a scalar if the vector loop does not move it."""
        view = self.views[number]
        if not view.access.is_buffer:
            return view.buffer
        position = self._position(view, place)
        along = self.along is not None and view.access.moves(self.along)
        if place.lanes is None or not along:
            return emit.load(view.buffer, *position)
        if _is_boolean(view.access):
            loaded = simd.load(place.lanes, self._bytes(view), *position)
            return arith.CmpIOp(arith.CmpIPredicate.ne, loaded, emit.constant(loaded.type, 0)).result
        return simd.load(place.lanes, view.buffer, *position, where=place.mask)

    def prefetch_ahead(self, place: Place) -> None:
        """Prefetch inputs ahead of a position; those narrower than 32 bits arrive fast enough without it."""
        for view in self.views[: len(self.nest.inputs)]:
            access = view.access
            if self.along is None or not (
                access.is_buffer and access.moves(self.along) and access.bits >= 32
            ):
                continue
            size = (place.lanes or 1) * access.bits // 8
            for line in range(emit.AHEAD_BYTES, emit.AHEAD_BYTES + size, CACHE_LINE):
                later = replace(place, at=emit.add(place.at, line * 8 // access.bits))
                emit.prefetch_ahead(view.buffer, *self._position(view, later))

    def prefetch(self, number: int, place: Place, ahead: Index) -> None:
        """Prefetch operand `number` at `ahead` elements after a position."""
        view = self.views[number]
        for line in range(0, place.lanes or 1, CACHE_LINE * 8 // view.access.bits):
            later = replace(place, at=emit.add(emit.add(place.at, ahead), line))
            emit.prefetch(view.buffer, *self._position(view, later))

    def store(self, number: int, place: Place, value: Value) -> None:
        """Store operand `number` at a position."""
        view = self.views[number]
        position = self._position(view, place)
        if place.lanes is None:
            emit.store(value, view.buffer, *position)
        elif _is_boolean(view.access):
            type_ = emit.vector_type(place.lanes, ir.IntegerType.get_signless(8))
            simd.store(arith.ExtUIOp(type_, value).result, self._bytes(view), *position)
        elif place.streamed:
            stream(value, view.buffer, position, place.streamed)
        else:
            simd.store(value, view.buffer, *position, where=place.mask)

    def address_of(self, number: int, place: Place) -> Value:
        """The address of operand `number` at a position."""
        view = self.views[number]
        parts = emit.metadata(view.buffer)
        offset: Index = 0
        for position, stride in zip(self._position(view, place), parts.strides, strict=True):
            offset = emit.add(offset, emit.mul(position, stride))
        return address(parts, offset)

    def _bytes(self, view: View) -> Value:
        """View a buffer of booleans as bytes: an element takes a byte, but a vector of i1 is read as packed bits."""
        unit = self.along is not None and view.access.is_unit(self.along)
        type_ = emit.strided_memref(ir.IntegerType.get_signless(8), len(view.loops), unit_inner=unit)
        cast = "builtin.unrealized_conversion_cast"
        return ir.Operation.create(cast, results=[type_], operands=[view.buffer]).result

    def _position(self, view: View, place: Place) -> list[Index]:
        return [place.at if loop == self.along else self.places[loop] for loop in view.loops]


def _is_boolean(access: Access) -> bool:
    return isinstance(access.element, ir.IntegerType) and access.element.width == 1
