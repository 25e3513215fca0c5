"""Liveness of buffers: alias closure, and live ranges over the operations of the function's entry block."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from relax_mlir.dialects.traits import IsLoop, has_trait
from relax_mlir.ir_queries import FUNCTION, ancestors
from relax_mlir.mlir import func, ir

VIEWS = frozenset(
    {
        "arith.select",
        "builtin.unrealized_conversion_cast",
        "memref.cast",
        "memref.collapse_shape",
        "memref.expand_shape",
        "memref.memory_space_cast",
        "memref.reinterpret_cast",
        "memref.subview",
        "memref.transpose",
        "memref.view",
    }
)
_POINTERS = frozenset({"memref.extract_aligned_pointer_as_index", "memref.extract_strided_metadata"})


@dataclass
class Buffer:
    """A `memref.alloc` and its live range.

    `first` and `last` are positions in the entry block between which its memory is read or written (inclusive).
    `carried`: a loop around the allocation passes it on to its next iteration. `escapes`: it is returned. `freed`: its
    deallocations. `aliases`: values that may be (views of) its memory.
    """

    alloc: ir.Operation
    position: int
    first: int = -1
    last: int = -1
    carried: bool = False
    yielded: bool = False
    escapes: bool = False
    freed: list[ir.Operation] = field(default_factory=list)
    aliases: set[ir.Value] = field(default_factory=set)

    @property
    def type(self) -> ir.MemRefType:
        return ir.MemRefType(self.alloc.results[0].type)

    def used(self, position: int) -> None:
        self.first = position if self.first < 0 else min(self.first, position)
        self.last = max(self.last, position)

    def meets(self, other: Buffer) -> bool:
        """True if both are live at some position."""
        return self.first <= other.last and other.first <= self.last


class Liveness:
    """The buffers of a function with structured control flow, and the operations that positions index."""

    def __init__(self, function: func.FuncOp) -> None:
        self.buffers: list[Buffer] = []
        self._position: dict[ir.Operation, int] = {}
        allocs: list[ir.Operation] = []
        self.operations = [op.operation for op in function.body.blocks[0].operations]
        self.end = len(self.operations) - 1

        def visit(op: ir.Operation, position: int) -> ir.WalkResult:
            self._position[op] = position
            if op.name == "memref.alloc":
                allocs.append(op)
            return ir.WalkResult.ADVANCE

        for position, top in enumerate(self.operations):
            top.walk(partial(visit, position=position))
        for alloc in allocs:
            self.buffers.append(self._follow(alloc))

    def _follow(self, alloc: ir.Operation) -> Buffer:
        """Visit every use of a buffer and of its possible aliases."""
        buffer = Buffer(alloc, self._position[alloc])
        aliases: set[ir.Value] = {alloc.results[0]}
        todo: list[ir.Value] = [alloc.results[0]]
        while todo:
            value = todo.pop()
            for use in value.uses:
                for alias in self._use(buffer, use.owner.operation, use.operand_number):
                    if alias not in aliases and isinstance(alias.type, ir.MemRefType | ir.UnrankedMemRefType):
                        aliases.add(alias)
                        todo.append(alias)
        if buffer.first < 0:
            buffer.used(buffer.position)
        buffer.aliases = aliases
        return buffer

    def _use(self, buffer: Buffer, op: ir.Operation, operand: int) -> list[ir.Value]:
        """Record a use; return the values that may now alias the buffer."""
        position = self._position[op]
        if op.name == "memref.dealloc":
            buffer.freed.append(op)
            return []
        if op.name == "memref.dim" or op.name in VIEWS:
            return list(op.results)
        if op.name == "func.return":
            buffer.escapes = True
            buffer.used(self.end)
            return []
        buffer.used(position)
        if op.name in _POINTERS:
            # A bare pointer may be used until the function returns.
            buffer.used(self.end)
        if op.name in ("scf.yield", "scf.condition"):
            parent = op.parent.operation
            buffer.yielded = True
            if has_trait(parent, IsLoop):
                buffer.carried = buffer.carried or parent in ancestors(buffer.alloc)
                return _loop_values(parent)
            return [parent.results[operand]] if parent.name == "scf.if" else list(parent.results)
        return _loop_values(op) if has_trait(op, IsLoop) else list(op.results)


def _loop_values(loop: ir.Operation) -> list[ir.Value]:
    """Every value through which a loop may pass on a buffer."""
    arguments = [a for region in loop.regions for block in region.blocks for a in block.arguments]
    return [*loop.results, *arguments]


def is_nested(op: ir.Operation) -> bool:
    """True if `op` is nested in another op of its function."""
    return op.parent is not None and op.parent.operation.name != FUNCTION
