"""`plan-memory`: the temporaries of a Relax function share one workspace.

Buffers with disjoint live ranges share a slot. So do an argument that dies at a call and a result of equal size that
the call may compute in place (see `InPlace`). The slots are consecutive in the workspace, each aligned to 64 bytes.
A slot is as large as its largest buffer; sizes are formulas of the function's arguments, computed at its entry. The
workspace is a block of the pool (see `lowering/base/support.py`), taken at the function's start and returned on
every exit.

Other buffers are not in the workspace. Small buffers of static size are on the stack. Buffers whose size is not known
at entry, and those that a loop carries to its next iteration, are allocated in place and freed when the function
returns.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from relax_mlir.dialects.attributes import KERNEL, KERNEL_INPUTS, PRIM_FUNC
from relax_mlir.dialects.prim_funcs import InPlace as KernelInPlace
from relax_mlir.dialects.prim_funcs import kernel_spec
from relax_mlir.dialects.traits import IsView, has_trait
from relax_mlir.ir_queries import callee_of, ops_of
from relax_mlir.lowering.analysis.buffers import (
    ALIGNMENT,
    Buffer,
    Bytes,
    EntrySizes,
    Liveness,
    checked_product,
    constant,
    lay_out,
    static_bytes,
)
from relax_mlir.lowering.base.runtime_declarations import DEFER, declare_release, frame_of
from relax_mlir.lowering.base.signature import element_bytes
from relax_mlir.lowering.kernels.gemm.lower_contractions import match_contraction
from relax_mlir.lowering.kernels.rows.scan import is_scannable
from relax_mlir.lowering.memory.report import Formulas, describe, record
from relax_mlir.mlir import func, ir, linalg, memref
from relax_mlir.mlir_text import Fragment, functions, is_declaration
from relax_mlir.transform import ModulePass, PassContext

# Decide which prim funcs (level M) may write a result into the memory of an argument.
#
# The two buffers then share memory. That is safe if every element of the argument is read for the last time before the
# element at its position is written, for every lowering of the function:
#
# - Its operations on buffers run in order, each as loops (`linalg-to-loops`). The first that writes the result must be
#   elementwise in both: it reads the argument only at the position where it writes. Later ones do not read it.
# - A contraction and its epilogue run block by block: none of its operands may be overwritten.
# - Kernels with a `KernelSpec` (`select-kernels`) declare that they work in place. They apply a prologue row by row, so
#   it must read the argument at the position that it writes.
# - Scans are always replaced by their kernel, which reads each element before it writes it; their body need not be
#   safe.


_SIMPLE = frozenset({"func.return", "linalg.fill", "memref.alloc", "memref.copy", "memref.dealloc"})
_WITHOUT_BUFFERS = ("affine.", "arith.", "index.", "math.")


Views = Mapping[ir.Value, tuple[str, ...]]
"""A buffer and its reshaped views in a function; views with equal keys have equal elements at equal positions."""


@dataclass(frozen=True)
class _Step:
    """An operation of a function on buffers, and the operands of all ops in it."""

    operation: ir.Operation
    values: frozenset[ir.Value]

    @staticmethod
    def of(operation: ir.Operation) -> _Step:
        return _Step(operation, frozenset(value for op in ops_of(operation) for value in op.operands))

    def uses(self, buffer: Views) -> bool:
        """True if it uses a view of the buffer."""
        return not self.values.isdisjoint(buffer)


@dataclass(frozen=True)
class _Body:
    """The operations of a single-block function in order, and the views of each argument with identity layout."""

    steps: Sequence[_Step]
    views: Mapping[int, Views]

    @staticmethod
    def of(function: func.FuncOp) -> _Body:
        body = function.body.blocks[0]
        plain = {i: _views(argument) for i, argument in enumerate(body.arguments) if _is_plain(argument.type)}
        views = {view for found in plain.values() for view in found}
        steps = [
            _Step.of(op.operation)
            for op in body.operations
            if op.operation.name != "memref.dim" and views.isdisjoint(op.operation.results)
        ]
        return _Body(steps, plain)


@dataclass
class InPlace:
    """Memoised answers for the functions of a module."""

    functions: dict[str, func.FuncOp]
    _bodies: dict[str, _Body] = field(default_factory=dict)
    _known: dict[tuple[str, int, int], bool] = field(default_factory=dict)

    def may_share(self, name: str, given: int, out: int) -> bool:
        """True if argument `out` of a function, whose initial value is not read, may share memory with `given`."""
        key = name, given, out
        if key not in self._known:
            function = self.functions.get(name)
            self._known[key] = function is not None and self._find(function, given, out)
        return self._known[key]

    def allows(self, call: ir.Operation, given: Buffer, out: Buffer) -> bool:
        """True if two buffers of equal size may share memory; `given` dies at `call`, and `out` is first used there."""
        if call.name != "func.call":
            return False
        reads = [i for i, value in enumerate(call.operands) if value in given.aliases]
        writes = [i for i, value in enumerate(call.operands) if value in out.aliases]
        if len(writes) != 1 or not all(_is_whole(call.operands[i]) for i in (*reads, *writes)):
            return False
        return all(self.may_share(callee_of(call), read, writes[0]) for read in reads)

    def _find(self, function: func.FuncOp, given: int, out: int) -> bool:
        if PRIM_FUNC not in function.attributes or len(function.body.blocks) != 1:
            return False
        spec, marked = kernel_spec(function), KERNEL in function.attributes
        if spec is not None and spec.in_place is KernelInPlace.ELEMENTS:
            return (given, out) == (0, 1) and _is_scan(function)
        if given == out or (marked and (spec is None or spec.in_place is KernelInPlace.NEVER)):
            return False
        name = function.name.value
        if name not in self._bodies:
            self._bodies[name] = _Body.of(function)
        body = self._bodies[name]
        if given not in body.views or out not in body.views:
            return False
        read, written = body.views[given], body.views[out]
        return _is_safe(body.steps, read, written) and (not marked or _stays_in_place(body.steps, read))


def _is_whole(value: ir.Value) -> bool:
    """True if a value is always a whole buffer: a chain of views of an allocation."""
    defining = value.owner
    while not isinstance(defining, ir.Block) and has_trait(defining, IsView):
        defining = defining.operands[0].owner
    return not isinstance(defining, ir.Block) and bool(defining.name == "memref.alloc")


def _is_scan(function: func.FuncOp) -> bool:
    """True if the scan kernel implements the function: equal types and no prologue."""
    types = list(function.type.inputs)
    same = len(types) == 2 and types[0] == types[1] and _is_plain(types[0])
    return same and is_scannable(types[0]) and KERNEL_INPUTS not in function.attributes


def _views(argument: ir.Value) -> Views:
    found: dict[ir.Value, tuple[str, ...]] = {argument: ()}
    for use in argument.uses:
        user = use.owner.operation
        if user.name == "memref.expand_shape" and use.operand_number == 0 and _has_one_meaning(user):
            shape = str(ir.MemRefType(user.results[0].type).shape)
            found[user.results[0]] = (str(user.attributes["reassociation"]), shape)
    return found


def _has_one_meaning(expand: ir.Operation) -> bool:
    """True if the buffer's sizes determine the view's: each expanded dimension has at most one dynamic size."""
    type_ = ir.MemRefType(expand.results[0].type)
    groups = (ir.ArrayAttr(group) for group in ir.ArrayAttr(expand.attributes["reassociation"]))
    return all(sum(type_.is_dynamic_dim(ir.IntegerAttr(i).value) for i in group) <= 1 for group in groups)


def _is_plain(type_: ir.Type) -> bool:
    if not isinstance(type_, ir.MemRefType):
        return False
    return bool(type_.affine_map == ir.AffineMap.get_identity(type_.rank))


def _is_safe(steps: Sequence[_Step], given: Views, out: Views) -> bool:
    if _element_bytes(given) != _element_bytes(out):
        return False
    reads = [number for number, step in enumerate(steps) if step.uses(given)]
    writes = [number for number, step in enumerate(steps) if step.uses(out)]
    if not writes or any(number > writes[0] for number in reads):
        return False
    if not all(_only_reads(steps[number].operation, given) for number in reads):
        return False
    if any(number < writes[0] for number in reads) and not all(_runs_alone(step.operation) for step in steps):
        return False
    return _is_elementwise(steps[writes[0]].operation, given, out)


def _element_bytes(views: Views) -> int:
    return element_bytes(ir.MemRefType(next(iter(views)).type).element_type)


def _stays_in_place(steps: Sequence[_Step], given: Views) -> bool:
    """True if each op that reads the argument uses identity maps; the output of a reduction may have another one."""
    for step in (step.operation for step in steps if step.uses(given)):
        kinds = [str(kind) for kind in step.attributes["iterator_types"]]
        identity = ir.AffineMap.get_identity(len(kinds))
        sums = any("parallel" not in kind for kind in kinds)
        maps = [attribute.value for attribute in linalg.get_indexing_maps(step)]
        outputs = list(step.opview.outputs)
        for operand, map_ in zip(step.operands, maps, strict=True):
            if map_ != identity and (operand in given or (operand in outputs and not sums)):
                return False
    return True


def _only_reads(step: ir.Operation, given: Views) -> bool:
    if step.name != "linalg.generic" or any(value in given for value in step.opview.outputs):
        return False
    return any(value in given for value in step.opview.inputs)


def _runs_alone(step: ir.Operation) -> bool:
    """True if an operation completes before the next begins. Contractions do not: they fuse with their epilogue."""
    if step.name == "linalg.generic":
        return match_contraction(step) is None
    return step.name in _SIMPLE or step.name.startswith(_WITHOUT_BUFFERS)


def _is_elementwise(step: ir.Operation, given: Views, out: Views) -> bool:
    """True if an operation reads the argument only where it writes the output: parallel loops with identity maps."""
    if step.name != "linalg.generic" or any(value in out for value in step.opview.inputs):
        return False
    written = [out[value] for value in step.opview.outputs if value in out]
    if len(written) != 1 or any("parallel" not in str(kind) for kind in step.attributes["iterator_types"]):
        return False
    if any(value in given or value in out for op in ops_of(step)[1:] for value in op.operands):
        return False
    identity = ir.AffineMap.get_identity(len(step.attributes["iterator_types"]))
    maps = [attribute.value for attribute in linalg.get_indexing_maps(step)]
    pairs = list(zip(step.operands, maps, strict=True))
    if any(value in given and given[value] != written[0] for value, _ in pairs):
        return False
    return all(map_ == identity for value, map_ in pairs if value in given or value in out)


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
        if dying is not None and self.lives[index] == (dying.first, dying.last):
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


def assign_slots(buffers: Sequence[tuple[Buffer, Bytes]], dying: Dying = lambda buffer, size: ()) -> list[Slot]:
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
