"""Convolutions as GEMMs: C = A B or C += A B, where the rows of A are the filters, and the columns of B the windows.

B is packed from the data by blocks, as the micro-kernels need it (`window_pack`), and nothing else is copied.
After Georganas et al., "Anatomy of High-Performance Deep Learning Convolutions on SIMD Architectures", SC 2018, and
Dukhan, "The Indirect Convolution Algorithm", 2019, where windows are read through tables, too.
"""

from __future__ import annotations

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.gemm import epilogue as ep
from relax_mlir.lowering.kernels.gemm.gemm import GemmKernel, emit_left_and_tiles, finished, tiling_of
from relax_mlir.lowering.kernels.gemm.gemm_blocks import Parts, emit_packed, emit_shared, signature
from relax_mlir.lowering.kernels.gemm.gemm_groups import Groups
from relax_mlir.lowering.kernels.gemm.gemv import clear_rows
from relax_mlir.lowering.kernels.windows.window_pack import WindowPacking
from relax_mlir.lowering.kernels.windows.window_words import Kind
from relax_mlir.mlir import ir
from relax_mlir.target import Target


def reads_windows(kernel: GemmKernel) -> bool:
    """True if there is a generator for windows of these types: neither for rounded results, nor for bf16 pairs."""
    return kernel.supported and kernel.result == kernel.accumulator and kernel.operand != "bf16"


def emit_gemm_windows(block: e.Block, kernel: GemmKernel, target: Target) -> str:
    """Emit the GEMM over windows at the end of a module's body; return the name of the entry.

    Entry: ``(A: memref<?x?xT, strided<[?, ?], offset: ?>>, parameter block of the windows, C: memref<?x?xU, strided<[?,
    1], offset: ?>>, accumulate: i1)``; the sizes are those of A and C. `finished` names the entry that also takes an
    epilogue.
    """
    name = Kind.PRODUCT.entry(kernel.name)
    if e.is_defined(block, name):
        return name
    emit_left_and_tiles(block, kernel, target)
    source, element = ir.Type.parse(kernel.operand), ir.Type.parse(kernel.accumulator)
    sizes = tiling_of(kernel, target)
    packing = WindowPacking(block, kernel.name, sizes, source, element)
    parts = Parts(name, Groups.of(name), Parts.of(kernel.name).block)
    types = signature(source, element, packing.right_type)
    with e.function(block, name, types, group=parts.groups.product) as arguments:
        e.call(finished(name), [*arguments, *ep.nothing(block).arguments])
    types = [*types, *ep.types()]
    with e.function(block, finished(name), types, group=parts.groups.product) as arguments:
        a, _, c, accumulate, *rest = arguments
        rows, columns = e.dim(c, 0), e.dim(c, 1)

        def empty_sum() -> None:
            with e.when(e.negate(accumulate)):
                clear_rows(sizes.lanes, c, 0, rows, columns)
            ep.Epilogue(*rest).run(0, rows, 0, columns)

        e.branch(e.compare("eq", e.dim(a, 1), 0), empty_sum, lambda: e.call(parts.packed, arguments))
    emit_packed(block, parts, packing, element)
    if sizes.threads > 1:
        emit_shared(block, parts, packing, element)
    packing.emit_b()
    return name
