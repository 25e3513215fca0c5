"""The pass `lower-contractions`: replace linalg contractions on memrefs by calls of generated kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.lowering.kernels.core import emit as e
from relax_mlir.lowering.kernels.gemm.contraction import Contraction
from relax_mlir.lowering.kernels.gemm.contraction_match import match_contraction
from relax_mlir.lowering.kernels.gemm.epilogue_match import PURE, writes
from relax_mlir.lowering.kernels.gemm.gemm import (
    emit_gemm,
    emit_gemm_row,
    rounding_of,
    tiling_of,
)
from relax_mlir.lowering.kernels.gemm.gemm_batch import emit_batch
from relax_mlir.lowering.kernels.gemm.gemm_blocks import Parts
from relax_mlir.lowering.kernels.gemm.gemm_narrow import has_narrow
from relax_mlir.lowering.kernels.gemm.gemm_tiling import Tiling
from relax_mlir.lowering.kernels.windows.channel_windows import emit_channel_windows
from relax_mlir.lowering.kernels.windows.window_product import emit_gemm_windows
from relax_mlir.lowering.parts.shared_code import own_ops
from relax_mlir.mlir import ir
from relax_mlir.target import Target
from relax_mlir.transform import ModulePass, PassContext


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
    """Emit the functions that a contraction calls."""
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
        batch = None if panels else _batch_kernel(block, contraction, sizes)
        contraction.emit_call(block, not overwrite, sizes, rounding, panels, batch)


def _batch_kernel(block: e.Block, contraction: Contraction, sizes: Tiling) -> str | None:
    """Emit the kernel for batches of the GEMM, and return its name; None if there is none."""
    kernel = contraction.kernel
    operand, element = ir.Type.parse(kernel.operand), ir.Type.parse(kernel.result)
    if not contraction.is_batch or not has_narrow(sizes, operand, element):
        return None
    parts = Parts.of(kernel.name)
    emit_batch(block, parts, sizes, element)
    return parts.batch


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
