"""From level V (kernels: vector, scf, memref) through level F (flat functions) to level L (LLVM dialect)."""

from __future__ import annotations

from collections.abc import Callable

from relax_mlir.lowering.abi.emit_ffi_wrappers import EmitFFIWrappers
from relax_mlir.lowering.abi.emit_lifecycle import EmitLifecycle
from relax_mlir.lowering.abi.internalize import Internalize
from relax_mlir.lowering.abi.lower_checks import LowerChecks
from relax_mlir.lowering.abi.lower_copies import LowerCopies
from relax_mlir.lowering.abi.lower_objects import LowerObjects
from relax_mlir.lowering.abi.lower_packed_calls import LowerPackedCalls
from relax_mlir.lowering.abi.mangle_names import MangleNames
from relax_mlir.lowering.constants.lower_constants import LowerConstants
from relax_mlir.lowering.expand.bfloat16_bits import BFloat16Bits
from relax_mlir.lowering.loops.skip_empty_loops import SkipEmptyLoops
from relax_mlir.lowering.memory.pool_buffers import PoolBuffers
from relax_mlir.lowering.memory.skip_empty_results import SkipEmptyResults
from relax_mlir.lowering.parts.mark_straight_loops import MarkStraightLoops
from relax_mlir.lowering.parts.module_parts import Part
from relax_mlir.lowering.threads.outline_parallel_loops import OutlineParallelLoops
from relax_mlir.transform.pass_base import Pass
from relax_mlir.transform.upstream import MLIRPass, known_passes


def boundary(hand_on: Callable[[list[Part]], None] | None = None) -> list[Pass]:
    """Define entry points, declarations and support functions; `hand_on` receives separately compiled ones."""
    return [
        PoolBuffers(),
        LowerCopies(),
        LowerPackedCalls(),
        LowerObjects(),
        MangleNames(),
        EmitFFIWrappers.handing_on(hand_on),
        LowerConstants(),
        EmitLifecycle(),
    ]


def flat_control_flow() -> list[MLIRPass]:
    """Lower to vectors of rank at most 1, and loops to branches between blocks, one function at a time."""
    return [
        known_passes("fold-memref-alias-ops"),
        known_passes("expand-strided-metadata"),
        known_passes("convert-vector-to-scf{full-unroll=true}"),
        known_passes("lower-affine"),
        known_passes("cse"),
        known_passes("convert-scf-to-cf"),
    ]


def kernels_to_flat() -> list[MLIRPass]:
    """The passes to level F for kernels that `CutKernels` moves out of a module at level V."""
    return [known_passes("canonicalize,cse"), *flat_control_flow()]


def to_llvm_dialect(
    low_precision: bool = True, all_vectors: bool = True, has_math: bool = True
) -> list[Pass]:
    """The passes F → L, which work on one function at a time.

    Without `low_precision` there is no bf16. Without `all_vectors`, all vector ops are ones that `convert-to-llvm`
    converts. Without `has_math` there are no ops of the math dialect (see `Part`).
    """
    maths = [
        known_passes("convert-math-to-llvm{approximate-log1p=false}"),
        known_passes("convert-math-to-libm"),
    ]
    return [
        *([known_passes("convert-vector-to-llvm{enable-x86=true}")] if all_vectors else []),
        known_passes("arith-expand{include-bf16=true}"),
        *(maths if has_math else []),
        known_passes("convert-to-llvm"),
        known_passes("reconcile-unrealized-casts"),
        *([BFloat16Bits()] if low_precision else []),
        known_passes("canonicalize{region-simplify=aggressive}"),
        known_passes("cse"),
    ]


def support_to_flat(is_hot: bool = False) -> list[Pass]:
    """The passes to level F for support functions that are compiled separately (`SEPARATE_SUPPORT`).

    Their locations are dropped, because they mean nothing to users.
    """
    return [known_passes("strip-debuginfo"), *kernels_to_flat(), LowerChecks(), Internalize(is_hot)]


def flatten(target: str = "cpu", hand_on: Callable[[list[Part]], None] | None = None) -> list[Pass]:
    """The passes V → F, where functions of a module no longer depend on each other's bodies.

    If `hand_on` receives the separately compiled code, the module declares the support functions common to all modules,
    and the entry points in that code.
    """
    return [
        SkipEmptyResults(),
        SkipEmptyLoops(),
        OutlineParallelLoops(target),
        MarkStraightLoops(),
        *boundary(hand_on),
        *flat_control_flow(),
        LowerChecks(),
        known_passes("symbol-dce"),
        Internalize(),
    ]


def lower_to_llvm(target: str = "cpu") -> list[Pass]:
    """The passes V → L."""
    return [*flatten(target), *to_llvm_dialect()]
