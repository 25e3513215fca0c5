"""`pool-buffers`: allocate the buffers of kernels and prim funcs from the pool, and return them after their last use.

Runs after loops have become jobs of threads (`outline-parallel-loops`). A buffer at a function's top level is a block
of the pool that every exit returns. A nested buffer is on the function's frame until the end of its block, or until the
function returns if the block may yield it. If memory runs out, the call fails with an error, from any thread (see
`job_errors`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.dialects.attributes import AS_GENERATED, JOB, KERNEL, PRIM_FUNC, SHARED_GROUP
from relax_mlir.error import CompileError
from relax_mlir.ir_queries import callee_of, ops_of
from relax_mlir.lowering.memory.liveness import Liveness, is_nested
from relax_mlir.lowering.memory.plan_memory import allocate_in_frame, allocate_in_pool, declare_allocation
from relax_mlir.lowering.memory.stack_memory import is_on_stack, place_on_stack
from relax_mlir.lowering.runtime_lib.frame import declare_release, frame_of
from relax_mlir.lowering.threads.job_errors import RUN, guard_jobs, jobs_of, pointed
from relax_mlir.mlir import func, ir, llvm
from relax_mlir.mlir_text import functions, is_declaration
from relax_mlir.transform import ModulePass, PassContext

_OWN_FRAME = (PRIM_FUNC, KERNEL, SHARED_GROUP, AS_GENERATED, JOB)
"""Attributes of functions whose frames hold only their buffers."""


class PoolBuffers(ModulePass):
    """Replace every `memref.alloc` whose buffer does not leave its function, and its `memref.dealloc`s.

    Buffers that `stack-buffers` has chosen are on the stack, allocated at function entry.

    Raises `CompileError` for a buffer in a function that is called by its address and is not a job of threads.
    """

    name: ClassVar[str] = "pool-buffers"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        uses = {name: _Uses.of(op) for name, op in functions(module).items() if not is_declaration(op)}
        for alloc in [alloc for use in uses.values() for alloc in use.on_stack]:
            place_on_stack(alloc)
        taking = _taking(uses)
        if not taking:
            return
        declare_allocation(module)
        declare_release(module)
        for name in taking:
            if uses[name].allocates:
                _pool(uses[name].function)
        guard_jobs(module, [uses[name].function for name in uses if RUN in uses[name].calls], taking)


@dataclass(frozen=True)
class _Uses:
    """The functions that a function calls or takes the address of, and whether it has buffers."""

    function: func.FuncOp
    calls: set[str]
    addresses: set[str]
    allocates: bool
    on_stack: Sequence[ir.Operation]
    """The buffers that are chosen for the stack."""

    @classmethod
    def of(cls, function: func.FuncOp) -> _Uses:
        ops = ops_of(function.operation, "func.call", "func.constant", "memref.alloc")
        calls = {callee_of(op) for op in ops if op.name == "func.call"}
        addresses = {pointed(op) for op in ops if op.name == "func.constant"}
        buffers = [op for op in ops if op.name == "memref.alloc"]
        on_stack = [op for op in buffers if is_on_stack(op)]
        return cls(function, calls, addresses, len(on_stack) < len(buffers), on_stack)


def _taking(uses: dict[str, _Uses]) -> set[str]:
    """The functions that take memory: those with buffers, and all that call them or run them as jobs."""
    users: dict[str, set[str]] = {}
    for name, use in uses.items():
        for used in use.calls | use.addresses:
            users.setdefault(used, set()).add(name)
    taking = {name for name, use in uses.items() if use.allocates}
    left = list(taking)
    while left:
        more = users.get(left.pop(), set()) - taking
        taking |= more
        left += more
    for use in uses.values():
        pointed_at = use.addresses & taking
        if pointed_at and (
            wrong := sorted(pointed_at - {pointed(job.body) for job in jobs_of(use.function)})
        ):
            raise CompileError(
                f"pool-buffers: @{wrong[0]}, which @{use.function.name.value} calls by its address, needs memory "
                "of the pool, but cannot say that there is none"
            )
    return taking


def _pool(function: func.FuncOp) -> None:
    """Allocate the buffers of a function from the pool."""
    nested = []
    for buffer in Liveness(function).buffers:
        if buffer.escapes:
            continue
        for op in buffer.freed:
            op.erase()
        buffer.freed.clear()
        if is_nested(buffer.alloc) or buffer.yielded:
            nested.append(buffer)
        else:
            allocate_in_pool(buffer)
    if not nested:
        return
    frame = frame_of(function)
    own = any(mark in function.attributes for mark in _OWN_FRAME)
    # The frame of a Relax function also holds objects that others may still use.
    if own and not any(buffer.yielded for buffer in nested):
        for block in dict.fromkeys(buffer.alloc.block for buffer in nested):
            _release_at_end(block, next(b.alloc for b in nested if b.alloc.block == block), frame)
    for buffer in nested:
        allocate_in_frame(buffer, frame)


def _release_at_end(block: ir.Block, first: ir.Operation, frame: ir.Value) -> None:
    """Release what the frame acquires from `first` on at the end of its block."""
    with ir.InsertionPoint(first), first.location:
        mark = llvm.LoadOp(ir.Type.parse("!llvm.ptr"), frame).result
    with ir.InsertionPoint.at_block_terminator(block), first.location:
        func.CallOp([], "relax.rt.release_to", [frame, mark])
