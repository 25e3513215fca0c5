"""The pass `lower-contractions`: replace linalg contractions on memrefs by calls of generated kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from relax_mlir.ir_queries import entry_block
from relax_mlir.lowering.base.module_parts import own_ops
from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.core import simd
from relax_mlir.lowering.kernels.core.emit import address, item_bytes, memref_at
from relax_mlir.lowering.kernels.gemm.contraction import Contraction, Dims, Finish, Operand
from relax_mlir.lowering.kernels.gemm.epilogue import PURE, match_epilogue, root, writes
from relax_mlir.lowering.kernels.gemm.gemm import (
    GemmKernel,
    emit_gemm,
    emit_gemm_row,
    rounding_of,
    tiling_of,
)
from relax_mlir.lowering.kernels.gemm.gemm_blocks import Parts, signature
from relax_mlir.lowering.kernels.gemm.gemm_small_n import has_narrow
from relax_mlir.lowering.kernels.gemm.gemm_tiling import Tiling
from relax_mlir.lowering.kernels.library import define
from relax_mlir.lowering.kernels.nest.loop_nest import loops_of
from relax_mlir.lowering.kernels.windows.channel_windows import emit_channel_windows
from relax_mlir.lowering.kernels.windows.window_gemm import emit_gemm_windows
from relax_mlir.lowering.kernels.windows.window_match import match_pooling, match_windows
from relax_mlir.lowering.kernels.windows.window_params import Kind, match_line_finish
from relax_mlir.mlir import ir, linalg
from relax_mlir.target import Target
from relax_mlir.transform import ModulePass, PassContext

# Match linalg operations on memrefs as contractions, with their groups of dimensions and epilogues.


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
        user in (operation, following) or user.name in ("linalg.fill", "memref.dim", "memref.dealloc") for user in users
    )


def _classify(a: Operand, b: Operand, c: Operand, kernel: GemmKernel) -> Contraction | None:
    ours, theirs, out = set(a.dims), set(b.dims), set(c.dims)
    if (ours ^ theirs) - out or out - ours - theirs:
        return None  # a reduction of one operand alone, or a broadcast dimension of the result
    rows = [d for d in c.dims if d not in theirs]
    columns = [d for d in c.dims if d not in ours]
    last = c.dims[-1] if c.dims else None
    if last not in columns and (last in rows or not rows):
        # C^T = B^T A^T: the dimension with unit stride becomes the columns; without columns there is one column.
        a, b, rows, columns = b, a, columns, rows
    if columns and (last not in columns or not c.unit_inner):
        # A single dimension can be the rows instead, which may have any stride.
        if rows:
            return None
        a, b, rows, columns = b, a, columns, rows
    depth = [d for d in a.dims if d not in out]
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


# Batches of small GEMMs, for which the dispatch and packing of a GEMM call would cost more than the
# multiplication.
#
# All GEMMs of a batch have the same sizes and strides. The entry selects a code path once. Small GEMMs run
# one after the other on a register tile that reads both operands in place.


_MAX_ROWS, _MAX_DEPTH, _VECTORS = 64, 64, 2
"""Limits of small GEMMs: rows, depth and vectors of columns. Their operands stay in L1."""

_TILE_ROWS = 8


def emit_batch(block: e.Block, kernel: GemmKernel, target: Target) -> str:
    """Provide a batch of GEMMs in the module with the body `block`; return the name of the entry.

    Requires `has_narrow`. Its arguments are those of `emit_gemm` for the first GEMM, the number of GEMMs, and the
    distance in elements to the next A, B and C.
    """
    name = Parts(kernel.name).batch
    define(block, target, (name,), lambda body: _emit_batch(body, kernel, target))
    return name


def _emit_batch(block: e.Block, kernel: GemmKernel, target: Target) -> None:
    """Emit the functions for a batch of GEMMs."""
    parts, tiling, element = Parts(kernel.name), tiling_of(kernel, target), ir.Type.parse(kernel.result)
    size = ir.IndexType.get()
    with e.function(block, parts.batch, [*signature(element, element), *[size] * 4]) as values:
        a, b, c, accumulate, count, *steps = values
        matrices = [e.metadata(matrix) for matrix in (a, b, c)]
        a_parts, b_parts, c_parts = matrices
        (rows, columns), depth = c_parts.sizes, a_parts.sizes[1]

        def one_by_one() -> None:
            with e.loop(0, count) as i:
                views = [
                    e.view(x, x.sizes, x.strides, e.mul(i, step), unit_inner=x is c_parts)
                    for x, step in zip(matrices, steps, strict=True)
                ]
                e.call(parts.entry, [*views, accumulate])

        def by_tiles(vectors: int) -> None:
            bytes_ = [e.mul(step, item_bytes(element)) for step in steps]
            places = [address(x, 0) for x in matrices]
            strides = [*a_parts.strides, b_parts.strides[0], c_parts.strides[0]]
            e.call(parts.unpacked(f"batch_{vectors}"), [*places, *strides, rows, columns, depth, count, *bytes_])

        def small() -> None:
            e.branch(e.compare("le", columns, tiling.lanes), lambda: by_tiles(1), lambda: by_tiles(_VECTORS))

        # On AVX2 CPUs masked stores are slow, so partial vectors take the general code path.
        whole = e.any_of(*(e.compare("eq", columns, n * tiling.lanes) for n in range(1, _VECTORS + 1)))
        fits = whole if tiling.half_lines else e.compare("le", columns, _VECTORS * tiling.lanes)
        is_small = e.all_of(
            e.negate(accumulate),
            fits,
            e.compare("ge", rows, 2),
            e.compare("le", rows, _MAX_ROWS),
            e.compare("le", depth, _MAX_DEPTH),
            e.compare("eq", b_parts.strides[1], 1),
        )
        e.branch(is_small, small, one_by_one)
    for vectors in range(1, _VECTORS + 1):
        _emit_tiles(block, parts, tiling, element, vectors)
    emit_gemm(block, kernel, target)


def _emit_tiles(block: e.Block, parts: Parts, tiling: Tiling, element: e.Type, vectors: int) -> None:
    """Emit the function for a batch of GEMMs with `vectors` vectors of columns, the last of which may be partial.

    Arguments: the addresses of the first A, B and C; row stride and element stride of A, row strides of B and of C;
    rows, columns, depth; the number of GEMMs, and the distances in bytes to the next A, B and C. A tile that lacks rows
    computes the last one several times.
    """
    size, lanes, rows = ir.IndexType.get(), tiling.lanes, min(tiling.rows, _TILE_ROWS)
    with e.function(block, parts.unpacked(f"batch_{vectors}"), [size] * 14) as values:
        starts, (a_apart, a_step, b_apart, c_apart) = values[:3], values[3:7]
        (high, columns, depth, count), steps = values[7:11], values[11:]
        last = e.sub(high, 1)
        where = None if tiling.half_lines else simd.mask(e.sub(columns, (vectors - 1) * lanes), lanes)
        masks = [*[None] * (vectors - 1), where]
        zero = e.constant(e.vector_type(lanes, element), 0)
        with e.loop(0, count) as i, e.loop(0, high, rows) as first:
            here = [e.add(start, e.mul(i, step)) for start, step in zip(starts, steps, strict=True)]
            a, b = (memref_at(at, element, [1], unit_inner=True) for at in here[:2])
            c = memref_at(here[2], element, [c_apart, 1], unit_inner=True)
            places = [e.minimum(e.add(first, r), last) for r in range(rows)]
            lines = [e.mul(place, a_apart) for place in places]
            initial = [*[zero] * (rows * vectors), e.index(0), e.index(0)]
            with e.carrying_loop(0, depth, 1, initial, unroll=False) as k:
                *sums, at, line_at = k.values
                right = [simd.load(lanes, b, e.add(line_at, v * lanes), where=m) for v, m in enumerate(masks)]
                new = []
                for r, line in enumerate(lines):
                    factor = simd.splat(e.load(a, e.add(line, at)), lanes)
                    old = sums[r * vectors : (r + 1) * vectors]
                    new += [simd.fma(factor, x, y, tiling.fused) for x, y in zip(right, old, strict=True)]
                k.give([*new, e.add(at, a_step), e.add(line_at, b_apart)])
            for r, place in enumerate(places):
                for v, mask in enumerate(masks):
                    simd.store(k.results[r * vectors + v], c, place, v * lanes, where=mask)


@dataclass(frozen=True)
class LowerContractions(ModulePass):
    """Replace linalg contractions on memrefs by loops around calls of kernels generated for the target.

    It lowers products of two float operands under any projections (matmul, batch_matmul, matvec, dot, contract,
    generic, ...) with a result whose last axis has unit stride; convolutions, which read the first operand at sums of
    loop indices; and sum and max pooling over such windows. It also removes a fill of the result with the neutral
    element right before, and a padding copy of the data into such a fill. All other operations stay.
    """

    name: ClassVar[str] = "lower-contractions"
    opt_level: ClassVar[int] = 2

    target: str = "cpu"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Transform the module in place."""
        found = [operation for operation in own_ops(module) if operation.name.startswith("linalg.")]
        target = Target.parse(self.target)
        kernels: dict[str, tuple[Contraction, ir.Location]] = {}
        taken: set[ir.Operation] = set()
        replaced: list[ir.Operation] = []
        for operation in found:
            contraction = None if operation in taken else match_contraction(operation)
            if contraction is None:
                continue
            kernels.setdefault(contraction.entry, (contraction, operation.location))
            fill = None if contraction.sums_outside else fill_before(operation, contraction.neutral)
            emit_contraction(module.body, operation, contraction, fill is not None, target)
            if contraction.windows is not None:
                replaced += contraction.windows.replaced
            taken.update(op for op in (contraction.end, operation, fill) if op is not None)
        for operation in (*taken, *replaced):
            operation.erase()
        for contraction, location in kernels.values():
            with location:
                _emit_kernel(module.body, contraction, target)


def _emit_kernel(block: e.Block, contraction: Contraction, target: Target) -> None:
    """Provide the kernel that a contraction calls."""
    kernel, windows = contraction.kernel, contraction.windows
    if windows is None:
        (emit_gemm_row if contraction.is_row else emit_gemm)(block, kernel, target)
    elif windows.kind.by_channel:
        emit_channel_windows(block, kernel, windows.kind, target)
    else:
        emit_gemm_windows(block, kernel, target)


def emit_contraction(
    block: e.Block,
    operation: ir.Operation,
    contraction: Contraction,
    overwrite: bool,
    target: Target,
    panels: tuple[str, e.Value] | None = None,
) -> None:
    """Emit calls of the kernel that replace a contraction and its epilogue, which the caller erases.

    `block`: the module's body; `overwrite`: C is not added to; `panels`: see `Contraction.emit_call`.
    """
    with ir.InsertionPoint(contraction.end or operation), operation.location:
        sizes = tiling_of(contraction.kernel, target)
        windows = contraction.windows
        by_channel = windows is not None and windows.kind.by_channel
        rounding = None if by_channel else rounding_of(contraction.kernel, target)
        batch = None if panels else _batch_kernel(block, contraction, sizes, target)
        contraction.emit_call(block, not overwrite, sizes, rounding, panels, batch)


def _batch_kernel(block: e.Block, contraction: Contraction, sizes: Tiling, target: Target) -> str | None:
    """Provide the kernel for batches of the GEMM, and return its name; None if there is none."""
    kernel = contraction.kernel
    operand, element = ir.Type.parse(kernel.operand), ir.Type.parse(kernel.result)
    if not contraction.is_batch or not has_narrow(sizes, operand, element):
        return None
    return emit_batch(block, kernel, target)


def fill_before(operation: ir.Operation, value: float) -> ir.Operation | None:
    """The fill of the operation's result with a constant, if no operation between the two accesses memory."""
    result = operation.operands[-1]
    siblings = [op.operation for op in operation.block.operations]
    for earlier in reversed(siblings[: siblings.index(operation)]):
        if earlier.name == "linalg.fill" and earlier.operands[-1] == result:
            return earlier if writes(earlier, value) else None
        if not earlier.name.startswith(PURE):
            return None
    return None
