"""Match linalg operations on memrefs as contractions, with their groups of dimensions and epilogues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relax_mlir.ir_queries import entry_block
from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.gemm.contraction import Contraction, Dims, Finish, Operand
from relax_mlir.lowering.kernels.gemm.epilogue_match import match_epilogue, root
from relax_mlir.lowering.kernels.gemm.gemm import GemmKernel
from relax_mlir.lowering.kernels.nest.loop_nest import loops_of
from relax_mlir.lowering.kernels.windows.line_finish import match_line_finish
from relax_mlir.lowering.kernels.windows.window_match import match_pooling, match_windows
from relax_mlir.lowering.kernels.windows.window_words import Kind
from relax_mlir.mlir import ir, linalg


def match_contraction(operation: ir.Operation) -> Contraction | None:
    """The contraction that a linalg operation computes, if there is a kernel for it; else None.

    Rejected are bodies other than multiply-add (or pooling), element types without a kernel (integers), results whose
    last axis has no static unit stride or is a batch dimension, and results that are operands as well.
    """
    if not operation.name.startswith("linalg.") or len(operation.operands) != 3 or operation.results:
        return None
    buffers = list(operation.operands)
    if not all(isinstance(buffer.type, ir.MemRefType) for buffer in buffers):
        return None
    kernel = _kernel(operation, *(str(ir.MemRefType(buffer.type).element_type) for buffer in buffers))
    maps = linalg.get_indexing_maps(operation)
    if maps is None or buffers[2] in buffers[:2]:
        return None
    if kernel is None:
        pooling = match_pooling(operation, [attribute.value for attribute in maps])
        return pooling and _with_finish(operation, pooling)
    axes = [loops_of(attribute.value) for attribute in maps]
    if axes[1] is None or axes[2] is None or None in axes[2]:
        return None
    b, c = Operand(buffers[1], axes[1]), Operand(buffers[2], axes[2])
    if axes[0] is None:
        contraction = match_windows(operation, maps[0].value, b, c, kernel)
    else:
        contraction = _classify(Operand(buffers[0], axes[0]), b, c, kernel)
    return contraction and _with_finish(operation, contraction)


def _with_finish(operation: ir.Operation, contraction: Contraction) -> Contraction:
    """Attach the epilogue that follows the contraction, if it can run block by block."""
    following = match_epilogue(operation, contraction.c.buffer)
    kernel, ours = contraction.kernel, contraction.c
    if following is None or contraction.sums_outside or kernel.result != kernel.accumulator:
        return contraction
    operands = []
    for value, attribute in zip(following.operands, linalg.get_indexing_maps(following), strict=True):
        if not isinstance(value.type, ir.MemRefType):
            continue
        axes = loops_of(attribute.value)
        if axes is None:
            return contraction
        operands.append(Operand(value, tuple(None if d is None else ours.axes[d] for d in axes)))
    written = root(following.operands[-1])
    if written in (root(contraction.a.buffer), root(contraction.b.buffer)):
        return contraction
    for group, theirs in ((contraction.rows, contraction.a), (contraction.columns, contraction.b)):
        if _group(group, (ours, theirs, *operands)) != group:
            return contraction
    windows = contraction.windows
    if windows is not None and windows.kind is Kind.DEPTHWISE:
        axes_of = {operand.buffer: operand.axes for operand in operands}
        at_registers = match_line_finish(following, ours.buffer, axes_of, contraction.rows[0])
        if at_registers is not None:
            return replace(contraction, windows=replace(windows, finish=at_registers))
    consumes = _consumes(operation, following, ours.buffer)
    return replace(contraction, finish=Finish(following, tuple(operands), consumes))


def _consumes(operation: ir.Operation, following: ir.Operation, sums: e.Value) -> bool:
    """True if the accumulators are in a local allocation that only the two operations and a fill access."""
    if isinstance(sums.owner, ir.Block) or sums.owner.name not in ("memref.alloc", "memref.alloca"):
        return False
    users = [use.owner.operation for use in sums.uses]
    return following.operands[-1] != sums and all(
        user in (operation, following) or user.name in ("linalg.fill", "memref.dim", "memref.dealloc")
        for user in users
    )


def _classify(a: Operand, b: Operand, c: Operand, kernel: GemmKernel) -> Contraction | None:
    ours, theirs, out = set(a.dims), set(b.dims), set(c.dims)
    if (ours ^ theirs) - out or out - ours - theirs:
        return None  # a reduction of one operand alone, or a broadcast dimension of the result
    rows = [d for d in c.dims if d not in theirs]
    columns = [d for d in c.dims if d not in ours]
    last = c.dims[-1] if c.dims else None
    if last not in columns:
        if last in rows or not rows:
            # C^T = B^T A^T: the dimension with unit stride becomes the columns; without columns there is one column.
            a, b, rows, columns = b, a, columns, rows
        elif columns:
            return None
    if columns and (last not in columns or not c.unit_inner):
        # A single dimension can be the rows instead, which may have any stride.
        if rows:
            return None
        a, b, rows, columns = b, a, columns, rows
    depth = [d for d in a.dims if d in b.dims and d not in out]
    return Contraction(a, b, c, kernel, _group(rows, (c, a)), _group(columns, (c, b)), _group(depth, (a, b)))


def _group(dims: Sequence[int], operands: Sequence[Operand]) -> Dims:
    """The last dimension, with the preceding ones that are contiguous with it in all operands."""
    if not dims:
        return ()
    group = [dims[-1]]
    for left in reversed(dims[:-1]):
        if not all(operand.joins(left, group[0]) for operand in operands):
            break
        group.insert(0, left)
    return tuple(group)


def _kernel(operation: ir.Operation, a: str, b: str, c: str) -> GemmKernel | None:
    """The kernel for the element types, if the body multiplies (operands or widened operands) and adds; else None."""
    kernel = GemmKernel(a, c)
    if a != b or not kernel.supported:
        return None
    body = entry_block(operation)
    left, right, total = body.arguments
    *steps, end = (op.operation for op in body.operations)
    widened: dict[ir.Value, ir.Value] = {left: left, right: right}
    products, sums = [], []
    for step in steps:
        operands = list(step.operands)
        if step.name == "arith.extf" and operands[0] in widened:
            widened[step.results[0]] = operands[0]
        elif step.name == "arith.mulf" and all(x in widened for x in operands):
            if {widened[x] for x in operands} != {left, right}:
                return None
            products.append(step.results[0])
        elif step.name == "arith.addf" and total in operands and any(x in products for x in operands):
            sums.append(step.results[0])
        else:
            return None
    return kernel if len(sums) == 1 and list(end.operands) == sums else None
