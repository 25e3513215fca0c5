"""Analysis of a loop body for vectorisation: the values that vary from lane to lane, and obstacles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from relax_mlir.dialects.attributes import CHECK
from relax_mlir.ir_queries import callee_of, entry_block, ops_of
from relax_mlir.lowering.loops.annotated_loops import (
    PARALLEL,
    enclosing_loops,
    is_inside,
    kind_of,
    variable_of,
)
from relax_mlir.lowering.loops.independence import Access, root_of
from relax_mlir.mlir import ir

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
