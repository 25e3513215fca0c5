"""The vectorised body of a loop: each lane executes one iteration.

Values that are uniform over all lanes stay scalar, and so does an index that grows by a constant from lane to lane,
until its lanes are needed. Inactive lanes belong to no iteration, or to one that takes another branch. They access no
memory, except for elements of private buffers, which are stored back unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from relax_mlir.ir_queries import entry_block
from relax_mlir.lowering.kernels.core import emit, simd
from relax_mlir.lowering.kernels.core.emit import Index, Type, Value
from relax_mlir.lowering.kernels.core.scalar_body import TRAPPING, widen
from relax_mlir.lowering.loops.annotated_loops import constant_of, variable_of
from relax_mlir.lowering.loops.independence import Access
from relax_mlir.lowering.loops.index_forms import Forms
from relax_mlir.lowering.loops.lane_plan import LanePlan, own_buffer
from relax_mlir.lowering.loops.strided_loads import MAX_STEP, load_every
from relax_mlir.mlir import arith, ir, memref, scf


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
        if op.operands[0] in self.plan.private:
            operands[0] = self._scalar(op.operands[0])
        made = ir.Operation.create(
            op.name, results=[result.type for result in op.results], operands=operands, attributes=attributes
        )
        self.env.update(zip(op.results, made.results, strict=True))

    def _allocate(self, op: ir.Operation) -> None:
        """Allocate a buffer for each lane: the lanes are an added last dimension."""
        type_ = ir.MemRefType(op.results[0].type)
        element = ir.IntegerType.get_signless(8) if _is_bool(type_.element_type) else type_.element_type
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
        if _is_bool(result.type) and not _is_bool(emit.element_of(value.type)):
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
        return load_every(
            found.step, self.lanes.count, self._bytes(access.buffer), place, found.first, active
        )

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
        if _is_bool(emit.element_of(value.type)):
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
        if not _is_bool(type_.element_type):
            return found
        bytes_ = ir.MemRefType.get(
            type_.shape, ir.IntegerType.get_signless(8), type_.layout, type_.memory_space
        )
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
                scf.yield_(
                    [self._given(value, result) for value, result in zip(given, op.results, strict=True)]
                )
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


def _is_bool(type_: Type) -> bool:
    return isinstance(type_, ir.IntegerType) and type_.width == 1


def _number(value: Value) -> Index:
    """The constant of a value, or the value itself."""
    found = constant_of(value)
    return value if found is None else found


def _difference(a: Index, b: Index) -> Index:
    return arith.subi(emit.index(a), emit.index(b)) if not isinstance(b, int) else emit.add(a, -b)
