"""`plan-memory`: the temporaries of a Relax function share one workspace.

Buffers with disjoint live ranges share a slot. So do an argument that dies at a call and a result of equal size that
the call may compute in place (see `in_place`). The slots are consecutive in the workspace, each aligned to 64 bytes.
A slot is as large as its largest buffer; sizes are formulas of the function's arguments, computed at its entry. The
workspace is a block of the pool (see `lowering/runtime_lib/pool.py`), taken at the function's start and returned on
every exit.

Other buffers are not in the workspace. Small buffers of static size are on the stack. Buffers whose size is not known
at entry, and those that a loop carries to its next iteration, are allocated in place and freed when the function
returns.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from relax_mlir.dialects.attributes import KERNEL, PRIM_FUNC
from relax_mlir.lowering.memory.entry_sizes import (
    EntrySizes,
    checked_product,
    constant,
    static_bytes,
)
from relax_mlir.lowering.memory.in_place import InPlace
from relax_mlir.lowering.memory.liveness import Buffer, Liveness
from relax_mlir.lowering.memory.report import Formulas, describe, record
from relax_mlir.lowering.memory.size_formulas import Bytes
from relax_mlir.lowering.memory.workspace_layout import ALIGNMENT, lay_out
from relax_mlir.lowering.runtime_lib.frame import DEFER, declare_release, frame_of
from relax_mlir.mlir import func, ir, memref
from relax_mlir.mlir_text import Fragment, functions, is_declaration
from relax_mlir.transform import ModulePass, PassContext

NOT_RELAX = (PRIM_FUNC, KERNEL)


@dataclass
class Slot:
    """A part of the workspace, and the buffers that use it in sequence; `over`: those computed in place of another."""

    buffers: list[Buffer] = field(default_factory=list)
    sizes: list[Bytes] = field(default_factory=list)
    over: list[Buffer] = field(default_factory=list)
    lives: list[tuple[int, int]] = field(default_factory=list)
    """The live ranges of the buffers, sorted. Two of them overlap in at most the call that computes one in place."""

    def free_for(self, buffer: Buffer, dying: Buffer | None = None) -> bool:
        """True if no buffer in the slot overlaps this one; `dying` may be the one that it is computed in place of."""
        index = bisect.bisect_left(self.lives, (buffer.last + 1, 0)) - 1
        if index >= 0 and dying is not None and self.lives[index] == (dying.first, dying.last):
            index -= 1
        return index < 0 or self.lives[index][1] < buffer.first

    def add(self, buffer: Buffer, size: Bytes) -> None:
        bisect.insort(self.lives, (buffer.first, buffer.last))
        self.buffers.append(buffer)
        if size not in self.sizes:
            self.sizes.append(size)

    def distance(self, size: Bytes) -> tuple[bool, int]:
        """The distance of a size from the slot's: first, True if they differ in kind, then the factor difference."""
        kind = [other.factor for other in self.sizes if other.is_static == size.is_static]
        return not kind, abs(max(kind, default=0) - size.factor)

    @property
    def dynamic(self) -> bool:
        return any(not size.is_static for size in self.sizes)


Dying = Callable[[Buffer, Bytes], Sequence[Buffer]]
"""The buffers of a given size whose memory another buffer may take over at its first use."""


def assign_slots(
    buffers: Sequence[tuple[Buffer, Bytes]], dying: Dying = lambda buffer, size: ()
) -> list[Slot]:
    """Assign every buffer to a slot, large ones first (those with more symbols, then those with a larger factor).

    Ties are in order of first use. A buffer takes the slot of a buffer of equal size that dies where it begins, if
    `dying` returns one. Otherwise it takes a free slot that holds a buffer of equal size, otherwise the free slot of
    the nearest size: static sizes prefer static slots, dynamic sizes dynamic ones. A larger slot is never worse than a
    new one.
    """

    def order(item: tuple[Buffer, Bytes]) -> tuple[int, ...]:
        buffer, size = item
        return -len(size.sizes), -size.factor, buffer.first, buffer.position

    slots: list[Slot] = []
    homes: dict[int, tuple[int, int]] = {}  # buffer id -> (slot, index within it)
    for buffer, size in sorted(buffers, key=order):
        before = {id(other): other for other in dying(buffer, size)}
        ending = sorted((homes[key], key) for key in before if key in homes)
        number = next((home[0] for home, key in ending if slots[home[0]].free_for(buffer, before[key])), None)
        if number is not None:
            slots[number].over.append(buffer)
        else:
            number = _nearest(slots, buffer, size)
        homes[id(buffer)] = number, len(slots[number].buffers)
        slots[number].add(buffer, size)
    return slots


def _nearest(slots: list[Slot], buffer: Buffer, size: Bytes) -> int:
    """The index of the free slot with the nearest size, or of a new one if none is free."""
    best, least = len(slots), None
    for number, slot in enumerate(slots):
        if not slot.free_for(buffer):
            continue
        distance = (size not in slot.sizes, *slot.distance(size))
        if least is None or distance < least:
            best, least = number, distance
        if distance == (False, False, 0):
            break
    if best == len(slots):
        slots.append(Slot())
    return best


@dataclass(frozen=True)
class PlanMemory(ModulePass):
    """Replace the allocations of Relax functions by parts of one workspace per call.

    `stack_bytes`: maximum size of a buffer that is placed on the stack; its size must be static.
    """

    name: ClassVar[str] = "plan-memory"
    stack_bytes: int = 256

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        declared, table = False, functions(module)
        in_place = InPlace(table)
        for function in list(table.values()):
            if is_declaration(function) or any(mark in function.attributes for mark in NOT_RELAX):
                continue
            liveness = Liveness(function)
            buffers = [b for b in liveness.buffers if not b.escapes]
            if not buffers:
                continue
            if not declared:
                declare_allocation(module)
                declare_release(module)
                declared = True
            self.plan(function, buffers, in_place, liveness.operations)

    def plan(
        self,
        function: func.FuncOp,
        buffers: Sequence[Buffer],
        in_place: InPlace,
        operations: Sequence[ir.Operation],
    ) -> None:
        sizes, formulas = EntrySizes(function), Formulas(function)
        planned: list[tuple[Buffer, Bytes]] = []
        entries: list[tuple[int, dict[str, Any]]] = []
        known = [sizes.bytes_of(buffer.type, buffer.alloc.operands) for buffer in buffers]
        for number, (buffer, size) in enumerate(zip(buffers, known, strict=True)):
            formula = None if size is None else formulas.bytes(size)
            for op in buffer.freed:
                op.erase()
            buffer.freed.clear()
            if buffer.carried or size is None:
                entries.append((number, describe(buffer, "call", formula)))
                allocate_in_frame(buffer, frame_of(function))
            elif size.is_static and size.factor <= self.stack_bytes:
                entries.append((number, describe(buffer, "stack", formula)))
                _allocate_on_stack(buffer, sizes.entry)
            else:
                planned.append((buffer, size))

        ending_at: dict[int, list[tuple[Buffer, Bytes]]] = {}
        for buffer, size in planned:
            ending_at.setdefault(buffer.last, []).append((buffer, size))

        def dying(buffer: Buffer, size: Bytes) -> list[Buffer]:
            ending = [b for b, s in ending_at.get(buffer.first, ()) if b is not buffer and s == size]
            return [b for b in ending if in_place.allows(operations[buffer.first], b, buffer)]

        slots = sorted(assign_slots(planned, dying), key=lambda slot: slot.dynamic)
        slot_of = {id(buffer): i for i, slot in enumerate(slots) for buffer in slot.buffers}
        over = {id(buffer) for slot in slots for buffer in slot.over}
        numbers = {id(buffer): number for number, buffer in enumerate(buffers)}
        for buffer, size in planned:
            number = slot_of[id(buffer)]
            in_its_place = id(buffer) in over
            entry = describe(buffer, "workspace", formulas.bytes(size), number, in_its_place)
            entries.append((numbers[id(buffer)], entry))
        ordered = [entry for _, entry in sorted(entries, key=lambda item: item[0])]
        record(function, ordered, [slot.sizes for slot in slots], formulas)
        if slots:
            _allocate_in_workspace(function, slots, sizes)


def declare_allocation(module: ir.Module) -> None:
    """Declare the functions that take and return memory; `emit-ffi-wrappers` defines them."""
    fragment = Fragment()
    fragment.declare("relax.rt.workspace_take", "(index) -> memref<?xi8>")
    fragment.declare("relax.rt.workspace_give", "(memref<?xi8>) -> ()")
    fragment.declare("relax.rt.frame_buffer", "(!llvm.ptr, index) -> memref<?xi8>")
    fragment.splice(module)


def _bytes_type() -> ir.Type:
    return ir.Type.parse("memref<?xi8>")


def _view(buffer: Buffer, source: ir.Value, offset: ir.Value) -> None:
    """Replace a buffer by a view of `source`."""
    view = memref.ViewOp(buffer.type, source, offset, list(buffer.alloc.operands)).result
    buffer.alloc.results[0].replace_all_uses_with(view)
    buffer.alloc.erase()


def allocate_in_frame(buffer: Buffer, frame: ir.Value) -> None:
    """Replace an allocation by memory of the frame, which lives until the function returns."""
    with ir.InsertionPoint(buffer.alloc), buffer.alloc.location:
        size = checked_product([constant(static_bytes(buffer.type)), *buffer.alloc.operands])
        memory = func.CallOp([_bytes_type()], "relax.rt.frame_buffer", [frame, size]).results[0]
        _view(buffer, memory, constant(0))


def allocate_in_pool(buffer: Buffer) -> None:
    """Replace an allocation at a function's top level by pool memory, which every later exit returns."""
    with ir.InsertionPoint(buffer.alloc), buffer.alloc.location:
        size = checked_product([constant(static_bytes(buffer.type)), *buffer.alloc.operands])
        _view(buffer, _take(size), constant(0))


def _take(size: ir.Value) -> ir.Value:
    """Emit code that takes a block of the pool and returns it on every later exit; at a function's top level only."""
    memory = func.CallOp([_bytes_type()], "relax.rt.workspace_take", [size]).results[0]
    give = func.CallOp([], "relax.rt.workspace_give", [memory])
    give.operation.attributes[DEFER] = ir.StringAttr.get("always")
    return memory


def _allocate_on_stack(buffer: Buffer, entry: ir.Block) -> None:
    alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), ALIGNMENT)
    with ir.InsertionPoint.at_block_begin(entry), buffer.alloc.location:
        memory = memref.AllocaOp(buffer.type, [], [], alignment=alignment).result
    buffer.alloc.results[0].replace_all_uses_with(memory)
    buffer.alloc.erase()


def _allocate_in_workspace(function: func.FuncOp, slots: Sequence[Slot], sizes: EntrySizes) -> None:
    with ir.InsertionPoint.at_block_begin(sizes.entry), function.location:
        places, end = lay_out([slot.sizes for slot in slots], sizes)
        offsets = [sizes.index(place.offset) for place in places]
        workspace = _take(sizes.index(end))
    for slot, offset in zip(slots, offsets, strict=True):
        for buffer in slot.buffers:
            with ir.InsertionPoint(buffer.alloc), buffer.alloc.location:
                _view(buffer, workspace, offset)
