"""A `linalg.generic` on memrefs as a loop nest: loop sizes, and per operand its stride along each loop.

Loops of static size 1 are removed, and loops that are contiguous with their neighbour in all operands are fused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from relax_mlir.dialects.attributes import DESTINATIONS
from relax_mlir.ir_queries import entry_block, function_of
from relax_mlir.lowering.kernels.core import emit, simd
from relax_mlir.lowering.kernels.core.emit import DYNAMIC_STRIDE, Index, Type, Value, address
from relax_mlir.lowering.kernels.core.scalar_body import Place
from relax_mlir.mlir import arith, ir, memref, vector
from relax_mlir.target import CACHE_LINE, Target

Operation: TypeAlias = ir.Operation

LONG = 2**16
"""The minimum size of loops that are skipped if a loop inside of them is empty; shorter ones take little time."""


@dataclass(frozen=True)
class Access:
    """An operand of a nest.

    `axes` gives the axis of the buffer that each loop runs along (None: the loop does not move the operand),
    `strides` the stride of each axis. A scalar operand (no memref) has neither.
    """

    value: Value
    axes: tuple[int | None, ...]
    strides: tuple[Index, ...]

    @property
    def is_buffer(self) -> bool:
        return isinstance(self.value.type, ir.MemRefType)

    @property
    def element(self) -> Type:
        return emit.element_of(self.value.type)

    @property
    def bits(self) -> int:
        """Width of an element in memory: a boolean takes a byte, an index 64 bits."""
        return 64 if isinstance(self.element, ir.IndexType) else max(int(self.element.width), 8)

    def moves(self, loop: int) -> bool:
        """True if the loop moves the operand."""
        return self.axes[loop] is not None

    def is_unit(self, loop: int) -> bool:
        """True if the loop runs along consecutive elements, according to the type."""
        axis = self.axes[loop]
        return axis is not None and isinstance(self.strides[axis], int) and self.strides[axis] == 1

    def stride(self, loop: int) -> Index:
        """Elements from one iteration to the next."""
        axis = self.axes[loop]
        return 0 if axis is None else self.strides[axis]

    def joins(self, outer: int, inner: int) -> bool:
        """True if two loops can be fused for this operand."""
        first, last = self.axes[outer], self.axes[inner]
        if first is None or last is None:
            return first is last
        return first < last and all(self._dense(axis) for axis in range(first, last)) and self._unit(first, last)

    def _unit(self, first: int, last: int) -> bool:
        shape = ir.MemRefType(self.value.type).shape
        return all(shape[axis] == 1 for axis in range(first + 1, last))

    def _dense(self, axis: int) -> bool:
        """True if the axis's stride is the next one's size times its stride, according to the type."""
        type_ = ir.MemRefType(self.value.type)
        if type_.affine_map == ir.AffineMap.get_identity(type_.rank):
            return True
        known = [s for s in self.strides[axis : axis + 2] if isinstance(s, int)]
        if len(known) < 2 or type_.is_dynamic_dim(axis + 1):
            return False
        return bool(known[0] == known[1] * type_.shape[axis + 1])


@dataclass(frozen=True)
class Nest:
    """Loops around a scalar body: `inputs` and `outputs` in the order of the body's arguments.

    `origin` maps each loop of the operation to its loop in the nest, or to None if it has one iteration. Fused loops
    have the same index (only without `linalg.index`).
    """

    sizes: tuple[Index, ...]
    parallel: tuple[bool, ...]
    inputs: tuple[Access, ...]
    outputs: tuple[Access, ...]
    body: Any
    origin: tuple[int | None, ...]


def nest_of(operation: Operation) -> Nest | None:
    """The nest of a `linalg.generic` on memrefs; None if an indexing map is not a selection of loops."""
    generic = operation.opview
    maps = [attribute.value for attribute in operation.attributes["indexing_maps"]]
    parallel = ["parallel" in str(kind) for kind in operation.attributes["iterator_types"]]
    operands = [*generic.inputs, *generic.outputs]
    choices = [loops_of(map_) for map_ in maps]
    if any(choice is None for choice in choices):
        return None
    accesses = [_access(v, c or (), len(parallel)) for v, c in zip(operands, choices, strict=True)]
    sizes = [_size(accesses, loop) for loop in range(len(parallel))]
    body = entry_block(operation)
    uses_index = any(op.operation.name == "linalg.index" for op in body.operations)
    groups = _groups(sizes, parallel, accesses, join=not uses_index)
    kept = [_join(access, groups) for access in accesses]
    joined = [emit.product([sizes[loop] for loop in group]) for group in groups]
    kinds = tuple(parallel[group[0]] for group in groups)
    prim = DESTINATIONS in function_of(operation).attributes
    return Nest(
        tuple(_none_if_empty(joined, [not (prim and kind) for kind in kinds])),
        kinds,
        tuple(kept[: len(generic.inputs)]),
        tuple(kept[len(generic.inputs) :]),
        body,
        tuple(_number(groups, loop) for loop in range(len(parallel))),
    )


def loops_of(map_: ir.AffineMap) -> tuple[int | None, ...] | None:
    """Per result of an indexing map its loop (None: the constant 0), each loop once; None for any other map."""
    loops: list[int | None] = []
    for expression in map_.results:
        if isinstance(expression, ir.AffineDimExpr):
            loops.append(int(expression.position))
        elif isinstance(expression, ir.AffineConstantExpr) and expression.value == 0:
            loops.append(None)
        else:
            return None
    chosen = [loop for loop in loops if loop is not None]
    return tuple(loops) if len(set(chosen)) == len(chosen) else None


def _access(value: Value, loops: Sequence[int | None], count: int) -> Access:
    axes: list[int | None] = [None] * count
    for axis, loop in enumerate(loops):
        if loop is not None:
            axes[loop] = axis
    if not isinstance(value.type, ir.MemRefType):
        return Access(value, tuple(axes), ())
    static, _ = ir.MemRefType(value.type).get_strides_and_offset()
    if DYNAMIC_STRIDE in static:
        found = emit.metadata(value).strides
        return Access(value, tuple(axes), tuple(found[i] if s == DYNAMIC_STRIDE else s for i, s in enumerate(static)))
    return Access(value, tuple(axes), tuple(static))


def _size(accesses: Sequence[Access], loop: int) -> Index:
    """The loop's size: of a static axis if there is one, else of the first operand that it moves."""
    places = [(access.value, axis) for access in accesses if (axis := access.axes[loop]) is not None]
    static = [(value, axis) for value, axis in places if not ir.MemRefType(value.type).is_dynamic_dim(axis)]
    value, axis = (static or places)[0]
    return emit.dim(value, axis)


def _groups(
    sizes: Sequence[Index], parallel: Sequence[bool], accesses: Sequence[Access], join: bool
) -> list[list[int]]:
    """The remaining loops, each as the list of the loops that are fused into it."""
    groups: list[list[int]] = []
    for loop, size in enumerate(sizes):
        if isinstance(size, int) and size == 1:
            continue
        previous = groups[-1][-1] if groups else None
        if (
            join
            and previous is not None
            and parallel[previous] == parallel[loop]
            and all(access.joins(previous, loop) for access in accesses)
        ):
            groups[-1].append(loop)
        else:
            groups.append([loop])
    return groups


def _none_if_empty(sizes: Sequence[Index], chosen: Sequence[bool]) -> list[Index]:
    """The sizes; if one of the `chosen` is 0, all long ones of them become 0, so that no loop around an empty one runs.

    Parallel loops of prim funcs need not be chosen: prim funcs return early if their results have no elements.
    """
    numbers = [number for number, is_chosen in enumerate(chosen) if is_chosen]
    long = [n for n in numbers if not isinstance(size := sizes[n], int) or size >= LONG]
    may_be_empty = [sizes[n] for n in numbers if not isinstance(size := sizes[n], int) or size == 0]
    if not may_be_empty or not long or len(numbers) < 2:
        return list(sizes)
    is_empty = emit.any_of(*(emit.compare("eq", size, 0) for size in may_be_empty))
    return [emit.select(is_empty, 0, size) if n in long else size for n, size in enumerate(sizes)]


def _join(access: Access, groups: Sequence[Sequence[int]]) -> Access:
    """The operand in terms of the fused loops: a fused loop has the stride of its innermost one."""
    return Access(access.value, tuple(access.axes[group[-1]] for group in groups), access.strides)


def _number(groups: Sequence[Sequence[int]], loop: int) -> int | None:
    return next((number for number, group in enumerate(groups) if loop in group), None)


# Non-temporal stores for results larger than the caches; an ordinary store first reads each cache line from
# memory.
#
# The next reader of such a result would not find it in a cache either way. On x86 these stores are weakly
# ordered until an atomic read-modify-write: the thread pool executes one when it counts finished parts.


def is_past_caches(target: Target, output: Access, inputs: Sequence[Access], size: Index) -> Value | None:
    """True if `size` consecutive elements are to be written by non-temporal stores; None if there are too few of them.

    The output must begin at a multiple of the vector size and must not be one of the inputs: an input is in the caches,
    from which a non-temporal store evicts it.
    """
    most = target.l3_bytes or target.l2_bytes
    bytes_ = emit.mul(size, output.bits // 8)
    if isinstance(bytes_, int) and bytes_ <= most:
        return None
    start = _address(output)
    aligned = emit.compare("eq", arith.andi(start, emit.index(target.vector_bytes - 1)), 0)
    apart = [emit.compare("ne", start, _address(x)) for x in inputs if x.is_buffer]
    return emit.all_of(aligned, emit.compare("gt", bytes_, most), *apart)


def stream(value: Value, buffer: Value, position: Sequence[Index], multiple: int) -> None:
    """Write a vector by a non-temporal store; the address is a multiple of `multiple` bytes."""
    vector.store(value, buffer, [emit.index(p) for p in position], nontemporal=True, alignment=multiple)


def _address(access: Access) -> Value:
    """The address of the first element of an operand."""
    parts = emit.metadata(access.value)
    start = memref.extract_aligned_pointer_as_index(parts.base)
    return arith.addi(start, emit.index(emit.mul(parts.offset, access.bits // 8)))


# The operands of a loop nest in memory: loads and stores at one position of the vector loop.


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
        if emit.is_bool(view.access.element):
            loaded = simd.load(place.lanes, self._bytes(view), *position)
            return arith.CmpIOp(arith.CmpIPredicate.ne, loaded, emit.constant(loaded.type, 0)).result
        return simd.load(place.lanes, view.buffer, *position, where=place.mask)

    def prefetch_ahead(self, place: Place) -> None:
        """Prefetch inputs ahead of a position; those narrower than 32 bits arrive fast enough without it."""
        for view in self.views[: len(self.nest.inputs)]:
            access = view.access
            if self.along is None or not (access.is_buffer and access.moves(self.along) and access.bits >= 32):
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
        elif emit.is_bool(view.access.element):
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
