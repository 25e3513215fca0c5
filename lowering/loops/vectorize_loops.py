"""Pass `vectorize-loops`: vectorise loops written as `T.vectorized` (level V)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from relax_mlir.dialects.attributes import CHECK
from relax_mlir.fork_safety import cached_property
from relax_mlir.ir_queries import callee_of, entry_block, ops_of
from relax_mlir.lowering.analysis.dependence import Access, Aliases, Forms, Independence, root_of
from relax_mlir.lowering.analysis.index_ranges import Ranges
from relax_mlir.lowering.analysis.loop_annotations import (
    INDEPENDENT,
    PARALLEL,
    VECTORIZED,
    annotated_functions,
    body_of,
    clone_ops,
    constant_of,
    enclosing_loops,
    honoured,
    is_inside,
    kind_of,
    loops_of_kind,
    most_bound,
    serial,
    trip_count,
    variable_of,
)
from relax_mlir.lowering.kernels.core import emit, simd
from relax_mlir.lowering.kernels.core.emit import Index, Type, Value, element_of
from relax_mlir.lowering.kernels.core.scalar_body import TRAPPING, widen
from relax_mlir.lowering.kernels.nest.vector_loops import LIGHT_TOGETHER, MASKABLE
from relax_mlir.lowering.loops.unroll_loops import contract_sums
from relax_mlir.mlir import arith, func, ir, memref, scf, vector
from relax_mlir.target import Target
from relax_mlir.transform import ModulePass, PassContext

# Analysis of a loop body for vectorisation: the values that vary from lane to lane, and obstacles.


VIEWS = ("memref.cast", "builtin.unrealized_conversion_cast", "memref.subview")
MAX_PRIVATE = 256
"""The maximum elements of a private buffer: each lane has one, and those of all lanes are on the stack."""


class NoVectors(Exception):
    """The body cannot be vectorised; the message gives the reason."""


@dataclass
class LanePlan:
    """The analysis of a loop body to be vectorised; raises `NoVectors` if it cannot be."""

    loop: ir.Operation
    varying: set[ir.Value] = field(default_factory=set)
    """The values that vary from lane to lane."""
    private: set[ir.Value] = field(default_factory=set)
    """Buffers that are allocated in the body, and views of them: each lane has its own."""

    def __post_init__(self) -> None:
        self.varying.add(variable_of(self.loop))
        before = -1
        while before != len(self.varying):  # values carried by inner loops may vary because of later ops
            before = len(self.varying)
            self._visit(entry_block(self.loop))

    def _visit(self, block: ir.Block) -> None:
        for view in block.operations:
            self._op(view.operation)

    def _op(self, op: ir.Operation) -> None:
        varies = any(operand in self.varying for operand in op.operands)
        if op.name == "memref.load":
            varies = varies or op.operands[0] in self.private
        elif op.name == "memref.alloc":
            self._allocation(op)
        elif op.name == "scf.if":
            varies = self._branches(op, varies)
        elif op.name == "scf.for":
            varies = self._loop(op)
        elif op.name == "memref.dim" or op.name in VIEWS:
            self._view(op)
            varies = False
        elif op.name not in ("memref.store", "scf.yield") and not is_lanewise(op):
            raise NoVectors(_obstacle(op))
        if varies:
            self.varying.update(op.results)

    def _allocation(self, op: ir.Operation) -> None:
        type_ = ir.MemRefType(op.results[0].type)
        elements = 1
        for size in type_.shape:
            elements *= size
        if not type_.has_static_shape or elements > MAX_PRIVATE:
            raise NoVectors(f"each iteration has a buffer of its own, of more than {MAX_PRIVATE} elements")
        self.private.update(op.results)

    def _view(self, op: ir.Operation) -> None:
        if any(operand in self.varying for operand in op.operands):
            raise NoVectors("iterations see different parts of a buffer as a whole")
        if op.operands[0] in self.private and op.name != "memref.dim":
            if op.name != "builtin.unrealized_conversion_cast":
                raise NoVectors("each iteration has a buffer of its own, and sees a part of it as a whole")
            self.private.update(op.results)

    def _branches(self, op: ir.Operation, varies: bool) -> bool:
        for region in op.regions:
            for block in region.blocks:
                self._visit(block)
                last = block.operations[len(block.operations) - 1].operation
                varies = varies or any(operand in self.varying for operand in last.operands)
        return varies

    def _loop(self, op: ir.Operation) -> bool:
        if any(bound in self.varying for bound in list(op.operands)[:3]):
            raise NoVectors("a loop in it has another length in each iteration")
        block = entry_block(op)
        carried = list(block.arguments)[1:]
        if carried:
            last = block.operations[len(block.operations) - 1].operation
            given = [*list(op.operands)[3:], *last.operands]
            if any(value in self.varying for value in given):
                self.varying.update(carried)
        self._visit(block)
        return any(value in self.varying for value in carried)

    # What is accessed

    def accesses(self) -> Iterator[Access]:
        """The stores, and the loads that vary from lane to lane, without those of private buffers."""
        for op in ops_of(self.loop):
            access = Access.of(op)
            if access is None or access.buffer in self.private:
                continue
            if access.stores or any(index in self.varying for index in access.indices):
                yield access

    def is_light(self) -> bool:
        """True if the body is small enough for several vectors at a time."""
        ops = ops_of(self.loop)[1:]
        return len(ops) <= 24 and not any(op.name.startswith(("math.", "scf.for")) for op in ops)


def is_lanewise(op: ir.Operation) -> bool:
    """True if an op works lane by lane on vectors of its operands."""
    values = [*op.operands, *op.results]
    return op.name.startswith(("arith.", "math.")) and all(
        isinstance(value.type, ir.FloatType | ir.IntegerType | ir.IndexType) for value in values
    )


def _obstacle(op: ir.Operation) -> str:
    if op.name == "cf.assert":
        return "it holds an assert"
    if op.name == "func.call":
        name = callee_of(op)
        return "it holds a check" if name.startswith(CHECK) else f"it calls '{name}'"
    if op.name.startswith("vector."):
        return "it holds vectors already"
    return f"it holds {op.name}"


def own_buffer(access: Access, around: ir.Operation) -> bool:
    """True if an access is of a local buffer that no two iterations of a parallel loop share.

    Storing an element of such a buffer back unchanged is safe.
    """
    root, same = root_of(access.buffer)
    if not same or isinstance(root.owner, ir.Block) or root.owner.name != "memref.alloc":
        return False
    outside = (loop for loop in (around, *enclosing_loops(around)) if not is_inside(root, loop))
    return not any(kind_of(loop) == PARALLEL for loop in outside)


# Vectors of elements at a small stride: all elements between them are loaded, and some are selected.


MAX_STEP = 4
"""The maximum stride; elements that are further apart are loaded one by one."""


def load_every(
    step: int, lanes: int, buffer: Value, place: Sequence[Index], first: Index, active: Index | None
) -> Value:
    """Load elements ``first``, ``first + step``, … of the last dimension at `place` in the others: one per lane.

    Nothing is read before the first or after the last element: vector j begins ``j * (lanes - 1)`` elements after the
    first element, so that the last vector ends with the last element. `active`: the number of lanes to load, None for
    all; the others are undefined.
    """
    parts = [
        simd.load(lanes, buffer, *place, emit.add(first, offset), where=_mask(step, lanes, active, offset))
        for offset in range(0, step * (lanes - 1), max(lanes - 1, 1))
    ]
    value = parts[0]
    for number, part in enumerate(parts[1:], start=1):
        offset = number * (lanes - 1)
        known = [lane * step if number == 1 else lane for lane in range(lanes)]
        behind = [lanes + lane * step - offset for lane in range(lanes)]
        numbers = [
            old if lane * step < offset else min(new, 2 * lanes - 1)
            for lane, (old, new) in enumerate(zip(known, behind, strict=True))
        ]
        value = vector.shuffle(value, part, numbers)
    return value


def _mask(step: int, lanes: int, active: Index | None, offset: int) -> Value | None:
    """The lanes of the vector at an offset that are not after the last active element; None for all."""
    if active is None:
        return None
    return simd.mask(emit.add(emit.mul(active, step), 1 - step - offset), lanes)


# The vectorised body of a loop: each lane executes one iteration.
#
# Values that are uniform over all lanes stay scalar, and so does an index that grows by a constant from lane to lane,
# until its lanes are needed. Inactive lanes belong to no iteration, or to one that takes another branch. They access no
# memory, except for elements of private buffers, which are stored back unchanged.


@dataclass(frozen=True)
class Stepped:
    """An index that is `first` in the first lane, and grows by `step` from lane to lane."""

    first: Index
    step: int


@dataclass(frozen=True)
class Lanes:
    """The iterations that run at once: `count` from `first`, under a mask; `some`: the mask is not empty.

    `active`: the number of active lanes, if these are the first ones.
    """

    first: Index
    count: int
    mask: Value | None = None
    some: bool = True
    active: Index | None = None


@dataclass
class LaneBody:
    """Emits the body of a planned loop at the insertion point, for some lanes."""

    plan: LanePlan
    lanes: Lanes
    forms: Forms
    env: dict[Value, Value | Stepped] = field(default_factory=dict)

    def emit(self) -> None:
        """Emit the whole body."""
        self.env[variable_of(self.plan.loop)] = Stepped(self.lanes.first, 1)
        self._block(entry_block(self.plan.loop))

    # Values

    def _scalar(self, value: Value) -> Value:
        """A value that is uniform over all lanes, as a scalar."""
        found = self.env.get(value, value)
        assert not isinstance(found, Stepped)
        return found

    def _vector(self, value: Value) -> Value:
        """All lanes of a value, as a vector."""
        found = self.env.get(value, value)
        if not isinstance(found, Stepped):
            return widen(found, self.lanes.count)
        first = simd.splat(emit.index(found.first), self.lanes.count)
        steps = simd.steps(self.lanes.count)
        if found.step != 1:
            steps = arith.muli(steps, emit.constant(steps.type, found.step))
        return arith.addi(first, steps)

    def _lane(self, value: Value, lane: int) -> Index:
        """One lane of a value."""
        found = self.env.get(value, value)
        if isinstance(found, Stepped):
            return emit.add(found.first, found.step * lane)
        return simd.lane(found, lane) if emit.is_vector(found.type) else found

    def _varies(self, value: Value) -> bool:
        found = self.env.get(value, value)
        return isinstance(found, Stepped) or emit.is_vector(found.type)

    def _some(self) -> Value:
        """An ``i1``: true if any lane is active."""
        assert self.lanes.mask is not None
        return simd.reduce("or", self.lanes.mask)

    # Blocks

    def _block(self, block: ir.Block) -> list[Value]:
        """Emit the ops of a block; return the operands of its terminator, not yet vectorised."""
        for view in list(block.operations)[:-1]:
            with view.operation.location:
                self._op(view.operation)
        return list(block.operations[len(block.operations) - 1].operation.operands)

    def _op(self, op: ir.Operation) -> None:
        emitters: dict[str, Callable[[ir.Operation], None]] = {
            "memref.load": self._load,
            "memref.store": self._store,
            "memref.alloc": self._allocate,
            "scf.if": self._branch,
            "scf.for": self._loop,
        }
        if op.name in emitters:
            emitters[op.name](op)
        elif op.name.startswith(("memref.", "builtin.")):
            self._view(op)
        else:
            self._compute(op)

    def _inner(self, lanes: Lanes) -> LaneBody:
        return LaneBody(self.plan, lanes, self.forms, self.env)

    # Numbers

    def _compute(self, op: ir.Operation) -> None:
        stepped = self._stepped(op)
        if stepped is not None:
            self.env[op.results[0]] = stepped
            return
        in_lanes = any(self._varies(operand) for operand in op.operands)
        operands = [self._vector(value) if in_lanes else self._scalar(value) for value in op.operands]
        if op.name in TRAPPING:
            operands[1] = self._divisor(operands[1])
        types = [result.type for result in op.results]
        made = ir.Operation.create(
            op.name,
            results=[emit.vector_type(self.lanes.count, type_) for type_ in types] if in_lanes else types,
            operands=operands,
            attributes={name: op.attributes[name] for name in op.attributes},
        )
        self.env.update(zip(op.results, made.results, strict=True))

    def _divisor(self, value: Value) -> Value:
        """A divisor, and 1 in inactive lanes, where it might be 0."""
        if self.lanes.mask is None:
            return value
        if emit.is_vector(value.type):
            return arith.select(self.lanes.mask, value, emit.constant(value.type, 1))
        return value if self.lanes.some else arith.select(self._some(), value, emit.constant(value.type, 1))

    def _stepped(self, op: ir.Operation) -> Stepped | None:
        """The sum, difference or product of stepped indices, if it is stepped as well; else None."""
        if op.name not in ("arith.addi", "arith.subi", "arith.muli"):
            return None
        left, right = (self.env.get(operand, operand) for operand in op.operands)
        if not (isinstance(left, Stepped) or isinstance(right, Stepped)):
            return None
        if any(not isinstance(side, Stepped) and emit.is_vector(side.type) for side in (left, right)):
            return None
        if op.name == "arith.muli":
            return self._multiple(op, left, right)
        combine, sign = (emit.add, 1) if op.name == "arith.addi" else (_difference, -1)
        a, b = (side if isinstance(side, Stepped) else Stepped(_number(side), 0) for side in (left, right))
        return Stepped(combine(a.first, b.first), a.step + sign * b.step)

    def _multiple(self, op: ir.Operation, left: Value | Stepped, right: Value | Stepped) -> Stepped | None:
        for side, other in ((left, op.operands[1]), (right, op.operands[0])):
            factor = constant_of(other)
            if isinstance(side, Stepped) and factor is not None:
                return Stepped(emit.mul(side.first, factor), side.step * factor)
        return None

    # Memory

    def _view(self, op: ir.Operation) -> None:
        if op.operands[0] in self.plan.private and op.name != "memref.dim":
            self.env[op.results[0]] = self._scalar(op.operands[0])  # booleans are bytes already
            return
        operands = [self._scalar(value) for value in op.operands]
        attributes = {name: op.attributes[name] for name in op.attributes}
        made = ir.Operation.create(
            op.name, results=[result.type for result in op.results], operands=operands, attributes=attributes
        )
        self.env.update(zip(op.results, made.results, strict=True))

    def _allocate(self, op: ir.Operation) -> None:
        """Allocate a buffer for each lane: the lanes are an added last dimension."""
        type_ = ir.MemRefType(op.results[0].type)
        element = ir.IntegerType.get_signless(8) if emit.is_bool(type_.element_type) else type_.element_type
        wide = ir.MemRefType.get([*type_.shape, self.lanes.count], element)
        self.env[op.results[0]] = memref.alloc(wide, [], [])

    def _load(self, op: ir.Operation) -> None:
        access = Access.of(op)
        assert access is not None
        result = op.results[0]
        if access.buffer in self.plan.private:
            value = self._load_own(access)
        elif not any(map(self._varies, access.indices)):
            place = [self._scalar(index) for index in access.indices]
            buffer = self._scalar(access.buffer)
            is_safe = self.lanes.some or self._is_within(access)
            value = emit.load(buffer, *place) if is_safe else emit.load_if(self._some(), buffer, *place)
        elif (last := self._unit(access)) is not None:
            mask = None if self._is_within(access) else self.lanes.mask
            value = simd.load(self.lanes.count, self._bytes(access.buffer), *last, where=mask)
        elif (picked := self._every(access)) is not None:
            value = picked
        else:
            buffer = self._bytes(access.buffer)
            value = self._gathered(buffer, lambda lane: [self._lane(index, lane) for index in access.indices])
        if emit.is_bool(result.type) and not emit.is_bool(emit.element_of(value.type)):
            value = arith.cmpi(arith.CmpIPredicate.ne, value, emit.constant(value.type, 0))
        self.env[result] = value

    def _every(self, access: Access) -> Value | None:
        """Load elements at a small constant stride; None for other accesses.

        None also if the mask excludes lanes before active ones.
        """
        *outer, last = access.indices
        found, active = self.env.get(last, last), self.lanes.active
        if self.lanes.mask is None or self._is_within(access):
            active = None
        elif active is None:
            return None
        strides, _ = ir.MemRefType(access.buffer.type).get_strides_and_offset()
        if not isinstance(found, Stepped) or not 1 < found.step <= MAX_STEP or strides[-1] != 1:
            return None
        if self.lanes.count < 2 or any(map(self._varies, outer)):
            return None
        place = [self._scalar(index) for index in outer]
        return load_every(found.step, self.lanes.count, self._bytes(access.buffer), place, found.first, active)

    def _load_own(self, access: Access) -> Value:
        buffer = self._scalar(access.buffer)
        if not any(map(self._varies, access.indices)):
            place = [self._scalar(index) for index in access.indices]
            mask = None if self._is_within(access) else self.lanes.mask
            return simd.load(self.lanes.count, buffer, *place, 0, where=mask)
        return self._gathered(buffer, lambda lane: [*(self._lane(i, lane) for i in access.indices), lane])

    def _gathered(self, buffer: Value, place: Callable[[int], Sequence[Index]]) -> Value:
        """Load elements one by one."""
        elements = []
        for lane in range(self.lanes.count):
            if self.lanes.mask is None:
                elements.append(emit.load(buffer, *place(lane)))
            else:
                inside = simd.lane(self.lanes.mask, lane)
                elements.append(emit.load_if(inside, buffer, *place(lane)))
        type_ = emit.vector_type(self.lanes.count, elements[0].type)
        return emit.result_of("vector.from_elements", type_, elements)

    def _store(self, op: ir.Operation) -> None:
        access = Access.of(op)
        assert access is not None
        value = self._vector(op.operands[0])
        is_private = access.buffer in self.plan.private
        buffer = self._scalar(access.buffer) if is_private else self._bytes(access.buffer)
        if emit.is_bool(emit.element_of(value.type)):
            byte = emit.vector_type(self.lanes.count, ir.IntegerType.get_signless(8))
            value = arith.extui(byte, value)
        place = self._own_place(access) if is_private else self._unit(access)
        if place is None:
            self._scatter(access, value, buffer, is_private)
        elif self.lanes.mask is not None and self._is_within(access):
            old = simd.load(self.lanes.count, buffer, *place)
            simd.store(arith.select(self.lanes.mask, value, old), buffer, *place)
        else:
            simd.store(value, buffer, *place, where=self.lanes.mask)

    def _own_place(self, access: Access) -> list[Index] | None:
        if any(map(self._varies, access.indices)):
            return None
        return [*(self._scalar(index) for index in access.indices), 0]

    def _scatter(self, access: Access, value: Value, buffer: Value, is_private: bool) -> None:
        for lane in range(self.lanes.count):
            place = [self._lane(index, lane) for index in access.indices] + ([lane] if is_private else [])
            if self.lanes.mask is None:
                emit.store(simd.lane(value, lane), buffer, *place)
                continue
            with emit.when(simd.lane(self.lanes.mask, lane)):
                emit.store(simd.lane(value, lane), buffer, *place)

    def _unit(self, access: Access) -> list[Index] | None:
        """The indices of the first lane, if the lanes are consecutive elements; else None."""
        *outer, last = access.indices
        found = self.env.get(last, last)
        strides, _ = ir.MemRefType(access.buffer.type).get_strides_and_offset()
        if not isinstance(found, Stepped) or found.step != 1 or strides[-1] != 1:
            return None
        if any(map(self._varies, outer)):
            return None
        return [*(self._scalar(index) for index in outer), found.first]

    def _is_within(self, access: Access) -> bool:
        """True if all lanes, inactive ones included, access a private buffer within its bounds."""
        is_private = access.buffer in self.plan.private
        if not is_private and not own_buffer(access, self.plan.loop):
            return False
        variable = variable_of(self.plan.loop)
        for index, size in zip(access.indices, ir.MemRefType(access.buffer.type).shape, strict=True):
            form = self.forms.of(index)
            factor = form.terms.get(variable, 0)
            rest = form.plus(self.forms.of(variable), -factor).range()
            first = self.lanes.first
            if rest is None or (factor and not isinstance(first, int)):
                return False
            ends = (0, 0)
            if factor and isinstance(first, int):
                ends = (factor * first, factor * (first + self.lanes.count - 1))
            if rest[0] + min(ends) < 0 or rest[1] + max(ends) >= size:
                return False
        return True

    def _bytes(self, buffer: Value) -> Value:
        """A buffer, or its bytes if it has booleans, since vectors of i1 would be packed bits."""
        found = self._scalar(buffer)
        type_ = ir.MemRefType(found.type)
        if not emit.is_bool(type_.element_type):
            return found
        bytes_ = ir.MemRefType.get(type_.shape, ir.IntegerType.get_signless(8), type_.layout, type_.memory_space)
        return emit.result_of("builtin.unrealized_conversion_cast", bytes_, [found])

    # Control

    def _branch(self, op: ir.Operation) -> None:
        if self._varies(op.operands[0]):
            self._both_branches(op)
            return
        types = [self._type(result) for result in op.results]
        has_else = len(op.regions[1].blocks) > 0
        made = scf.IfOp(self._scalar(op.operands[0]), types, has_else=has_else)
        blocks = [made.then_block, *([made.else_block] if has_else else [])]
        for region, block in zip(op.regions, blocks, strict=False):
            with ir.InsertionPoint(block):
                given = self._block(region.blocks[0])
                scf.yield_([self._given(value, result) for value, result in zip(given, op.results, strict=True)])
        self.env.update(zip(op.results, made.results, strict=True))

    def _both_branches(self, op: ir.Operation) -> None:
        """Emit both branches, each under the mask of the lanes that take it."""
        condition, mask = self._vector(op.operands[0]), self.lanes.mask
        negated = arith.xori(condition, emit.constant(condition.type, -1))
        given: list[list[Value]] = []
        for region, chosen in zip(op.regions, (condition, negated), strict=True):
            if len(region.blocks):
                lanes = chosen if mask is None else arith.andi(mask, chosen)
                inner = self._inner(Lanes(self.lanes.first, self.lanes.count, lanes, some=False))
                given.append([self._vector(value) for value in inner._block(region.blocks[0])])
        for number, result in enumerate(op.results):
            self.env[result] = arith.select(condition, given[0][number], given[1][number])

    def _loop(self, op: ir.Operation) -> None:
        begin, end, step = (self._scalar(value) for value in list(op.operands)[:3])
        initial = [self._given(v, r) for v, r in zip(list(op.operands)[3:], op.results, strict=True)]
        made = scf.ForOp(begin, end, step, initial)
        for name in op.attributes:
            made.attributes[name] = op.attributes[name]
        block = entry_block(op)
        self.env.update(zip(block.arguments, made.body.arguments, strict=True))
        with ir.InsertionPoint(made.body):
            given = self._block(block)
            scf.yield_([self._given(v, r) for v, r in zip(given, op.results, strict=True)])
        self.env.update(zip(op.results, made.results, strict=True))

    def _given(self, value: Value, result: Value) -> Value:
        """A value in the form that an op with regions needs for a result: a vector or a scalar."""
        return self._vector(value) if result in self.plan.varying else self._scalar(value)

    def _type(self, result: Value) -> Type:
        return emit.vector_type(self.lanes.count, result.type) if result in self.plan.varying else result.type


def _number(value: Value) -> Index:
    """The constant of a value, or the value itself."""
    found = constant_of(value)
    return value if found is None else found


def _difference(a: Index, b: Index) -> Index:
    return arith.subi(emit.index(a), emit.index(b)) if not isinstance(b, int) else emit.add(a, -b)


# The chunks of iterations of a vectorised loop: whole vectors, and the remainder.


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
            lanes = self._constant(begin, count)
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

    def _constant(self, begin: int, count: int) -> int:
        """Emit a constant number of iterations: whole vectors, then smaller ones; return the lanes of the widest."""
        whole = count // self.wide
        end = begin + whole * self.wide
        if whole > MAX_BODIES:
            with emit.loop(begin, end, self.wide) as first:
                self._chunk(first, self.wide)
        else:
            for start in range(begin, end, self.wide):
                self._chunk(start, self.wide)
        rest, widest = count - whole * self.wide, self.wide if whole else 1
        if rest.bit_count() > 2 and self.can_mask:
            lanes = _power_above(rest)
            self._chunk(end, lanes, rest)
            return max(widest, lanes)
        for lanes in _powers(rest):
            widest = max(widest, lanes)
            if lanes == 1:
                clone_ops(body_of(self.plan.loop), {variable_of(self.plan.loop): emit.index(end)})
            else:
                self._chunk(end, lanes)
            end += lanes
        return widest

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


@dataclass(frozen=True)
class VectorizeLoops(ModulePass):
    """Vectorise `scf.for` annotated as ``vectorized`` for `target`, if its iterations are independent.

    Contiguous elements are vector loads and stores, those up to four apart are selected from vectors, uniform elements
    are read once, others are accessed one by one. Inner loops stay loops, over vectors. Conditions that differ between
    iterations become masks. A dynamic trip count is covered by a mask, or by a loop of single iterations for elements
    without cheap masks (16 bits and less). Nothing is read outside of the range between the first and the last element
    that the loop reads.

    A loop whose iterations are not proved independent, or that has ops without a vector form (checks, calls, `while`),
    stays, with a note. Loops annotated as ``parallel`` that are independent are marked so, before loops in them change.
    """

    name: ClassVar[str] = "vectorize-loops"
    target: str = "cpu"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        target, aliases = Target.parse(self.target), Aliases(module)
        for function in annotated_functions(module, VECTORIZED):
            _mark_independent(function, Independence(function, aliases))
            for loop in loops_of_kind(function.operation, VECTORIZED):
                _vectorize(loop, function, aliases, target)


def _mark_independent(function: func.FuncOp, independence: Independence) -> None:
    """Mark independent parallel loops for `parallelize-loops`."""
    for loop in loops_of_kind(function.operation, PARALLEL):
        if not loop.results and independence.obstacle(loop) is None:
            with loop.context:
                loop.attributes[INDEPENDENT] = ir.UnitAttr.get()


def _vectorize(loop: ir.Operation, function: func.FuncOp, aliases: Aliases, target: Target) -> None:
    try:
        plan = _plan(loop, Independence(function, aliases))
    except NoVectors as obstacle:
        serial(loop, str(obstacle))
        return
    contract_sums(loop)
    with ir.InsertionPoint(loop), loop.location:
        how = LaneChunks(plan, target, function).emit()
    honoured(loop, how)
    loop.erase()


def _plan(loop: ir.Operation, independence: Independence) -> LanePlan:
    """Analyse a loop; raises `NoVectors` if it cannot be vectorised."""
    if loop.results:
        raise NoVectors("an iteration gives values to the next")
    if constant_of(loop.operands[2]) != 1:
        raise NoVectors("its step is not 1")
    plan = LanePlan(loop)
    obstacle = independence.obstacle(loop)
    if obstacle is not None:
        raise NoVectors(obstacle)
    return plan
