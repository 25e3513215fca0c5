"""Pass names → classes, as data: the class is imported when a pass is first looked up.

To add a pass, add one line to `PASSES`.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, cast

from relax_mlir.error import ArgumentError, RelaxError, UnknownNameError, expect

if TYPE_CHECKING:
    from relax_mlir.transform.pass_base import Pass

PASSES: dict[str, str] = {
    "canonicalize-bindings": "relax_mlir.passes.canonicalize_bindings:CanonicalizeBindings",
    "convert-layout": "relax_mlir.passes.convert_layout:ConvertLayout",
    "convert-to-dataflow": "relax_mlir.passes.convert_to_dataflow:ConvertToDataflow",
    "dead-code-elimination": "relax_mlir.passes.dead_code_elimination:DeadCodeElimination",
    "decompose-ops": "relax_mlir.passes.decompose_ops:DecomposeOps",
    "remove-redundant-reshape": "relax_mlir.passes.remove_redundant_reshape:RemoveRedundantReshape",
    "separate-empties": "relax_mlir.lowering.bufferize.bufferize:SeparateEmpties",
    "topological-sort": "relax_mlir.passes.topological_sort:TopologicalSort",
    "bfloat16-bits": "relax_mlir.lowering.llvm.to_llvm:BFloat16Bits",
    "bind-params": "relax_mlir.passes.bind_params:BindParams",
    "bind-symbolic-vars": "relax_mlir.passes.bind_symbolic_vars:BindSymbolicVars",
    "call-exposed-prim-funcs": "relax_mlir.lowering.bufferize.bufferize:CallExposedPrimFuncs",
    "expose-prim-funcs": "relax_mlir.lowering.legalize.expose_prim_funcs:ExposePrimFuncs",
    "check-bounds": "relax_mlir.lowering.analysis.check_bounds:CheckBounds",
    "call-tir-rewrite": "relax_mlir.passes.memory.call_tir_rewrite:CallTIRRewrite",
    "canonicalize-calls": "relax_mlir.passes.canonicalize_calls:CanonicalizeCalls",
    "check-legality": "relax_mlir.lowering.legality:CheckLegality",
    "check-prim-funcs": "relax_mlir.lowering.legalize.check_prim_funcs:CheckPrimFuncs",
    "check-prim-calls": "relax_mlir.passes.check_prim_calls:CheckPrimCalls",
    "cut-kernels": "relax_mlir.lowering.kernels.cut_kernels:CutKernels",
    "drop-destination-results": "relax_mlir.lowering.bufferize.bufferize:DropDestinationResults",
    "emit-ffi-wrappers": "relax_mlir.lowering.entry.emit_ffi_wrappers:EmitFFIWrappers",
    "emit-lifecycle": "relax_mlir.lowering.entry.emit_lifecycle:EmitLifecycle",
    "expand-floats": "relax_mlir.lowering.expand.expand_ops:ExpandFloats",
    "expand-bools": "relax_mlir.lowering.expand.expand_ops:ExpandBools",
    "expand-fma": "relax_mlir.lowering.expand.expand_ops:ExpandFma",
    "expand-rounding": "relax_mlir.lowering.expand.expand_ops:ExpandRounding",
    "expand-math": "relax_mlir.lowering.expand.expand_ops:ExpandMath",
    "expand-tuple-arguments": "relax_mlir.passes.expand_tuple_arguments:ExpandTupleArguments",
    "fold-constant": "relax_mlir.passes.fold_constant:FoldConstant",
    "explicit-effects": "relax_mlir.passes.explicit_effects:ExplicitEffects",
    "fuse-attention": "relax_mlir.passes.fusion.fuse_attention:FuseAttention",
    "fuse-ops-by-pattern": "relax_mlir.passes.patterns.fuse_ops_by_pattern:FuseOpsByPattern",
    "merge-composite-functions": "relax_mlir.passes.patterns.merge_composite_functions:MergeCompositeFunctions",
    "run-codegen": "relax_mlir.passes.patterns.run_codegen:RunCodegen",
    "fuse-ops": "relax_mlir.passes.fusion.fuse_ops:FuseOps",
    "inline-private-functions": "relax_mlir.passes.inline_private_functions:InlinePrivateFunctions",
    "instrument-calls": "relax_mlir.lowering.entry.instrument_calls:InstrumentCalls",
    "internalize": "relax_mlir.lowering.base.module_parts:Internalize",
    "lambda-lift": "relax_mlir.passes.closures.lambda_lift:LambdaLift",
    "legalize-ops": "relax_mlir.lowering.legalize.legalize_ops:LegalizeOps",
    "linalg-to-loops": "relax_mlir.lowering.kernels.nest.linalg_to_loops:LinalgToLoops",
    "lower-checks": "relax_mlir.lowering.checks.lower_checks:LowerChecks",
    "lower-constants": "relax_mlir.lowering.entry.emit_lifecycle:LowerConstants",
    "lower-contractions": "relax_mlir.lowering.kernels.gemm.lower_contractions:LowerContractions",
    "lower-copies": "relax_mlir.lowering.llvm.to_llvm:LowerCopies",
    "lower-objects": "relax_mlir.lowering.entry.lower_objects:LowerObjects",
    "lower-packed-calls": "relax_mlir.lowering.entry.lower_packed_calls:LowerPackedCalls",
    "lower-symbolic-shapes": "relax_mlir.lowering.shapes.lower_symbolic_shapes:LowerSymbolicShapes",
    "mangle-names": "relax_mlir.lowering.llvm.to_llvm:MangleNames",
    "mark-straight-loops": "relax_mlir.lowering.llvm.to_llvm:MarkStraightLoops",
    "materialize-results": "relax_mlir.lowering.bufferize.bufferize:MaterializeResults",
    "name-unknown-dims": "relax_mlir.passes.name_unknown_dims:NameUnknownDims",
    "normalize": "relax_mlir.passes.normalize:Normalize",
    "outline-branches": "relax_mlir.lowering.legalize.outline_branches:OutlineBranches",
    "outline-parallel-loops": "relax_mlir.lowering.loops.parallelize_loops:OutlineParallelLoops",
    "place-results": "relax_mlir.lowering.bufferize.bufferize:PlaceResults",
    "plan-memory": "relax_mlir.lowering.memory.plan_memory:PlanMemory",
    "pool-buffers": "relax_mlir.lowering.memory.pool_buffers:PoolBuffers",
    "protect-carried": "relax_mlir.lowering.bufferize.bufferize:ProtectCarried",
    "protect-inputs": "relax_mlir.lowering.bufferize.bufferize:ProtectInputs",
    "refine-shapes": "relax_mlir.passes.refine_shapes:RefineShapes",
    "relax-to-relax": "relax_mlir.lowering.pipeline:RelaxToRelax",
    "relax-to-calls": "relax_mlir.lowering.pipeline:RelaxToCalls",
    "relax-to-explicit-memory": "relax_mlir.lowering.pipeline:RelaxToExplicitMemory",
    "relax-to-flat": "relax_mlir.lowering.pipeline:RelaxToFlat",
    "relax-to-kernels": "relax_mlir.lowering.pipeline:RelaxToKernels",
    "relax-to-llvm": "relax_mlir.lowering.pipeline:RelaxToLlvm",
    "relax-to-memrefs": "relax_mlir.lowering.pipeline:RelaxToMemrefs",
    "relax-to-tensors": "relax_mlir.lowering.pipeline:RelaxToTensors",
    "specialize-full-tiles": "relax_mlir.lowering.loops.specialize_full_tiles:SpecializeFullTiles",
    "vectorize-loops": "relax_mlir.lowering.loops.vectorize_loops:VectorizeLoops",
    "unroll-loops": "relax_mlir.lowering.loops.unroll_loops:UnrollLoops",
    "join-fused-indices": "relax_mlir.lowering.loops.join_fused_indices:JoinFusedIndices",
    "parallelize-loops": "relax_mlir.lowering.loops.parallelize_loops:ParallelizeLoops",
    "stack-buffers": "relax_mlir.lowering.memory.pool_buffers:StackBuffers",
    "skip-empty-loops": "relax_mlir.lowering.loops.skip_empty_loops:SkipEmptyLoops",
    "skip-empty-results": "relax_mlir.lowering.loops.skip_empty_loops:SkipEmptyResults",
    "remove-unused-outputs": "relax_mlir.passes.remove_unused_outputs:RemoveUnusedOutputs",
    "remove-unused-parameters": "relax_mlir.passes.remove_unused_parameters:RemoveUnusedParameters",
    "print-ir": "relax_mlir.passes.print_ir:PrintIR",
    "relax-to-vm": "relax_mlir.lowering.pipeline:RelaxToVm",
    "pack-constants": "relax_mlir.lowering.memory.pack_constants:PackConstants",
    "select-kernels": "relax_mlir.lowering.kernels.select_kernels:SelectKernels",
    "static-plan-block-memory": "relax_mlir.passes.memory.static_plan_block_memory:StaticPlanBlockMemory",
    "lower-closures": "relax_mlir.passes.closures.lower_closures:LowerClosures",
    "specialize-closures": "relax_mlir.passes.closures.specialize_closures:SpecializeClosures",
    "to-non-dataflow": "relax_mlir.passes.to_non_dataflow:ToNonDataflow",
    "vm-memory-lower": "relax_mlir.passes.vm.vm_memory_lower:VMMemoryLower",
    "vm-shape-lower": "relax_mlir.passes.vm.vm_shape_lower:VMShapeLower",
}

LIBRARIES: dict[str, str] = {
    "openblas": "relax_mlir.contrib.openblas",
}
"""Third-party libraries → the modules that register their patterns and code generators."""


FUNCTIONS_PREFIX = "relax_mlir."
"""Prefix of the names of packed functions of libraries, followed by the library's name and a dot."""


def load_library(name: str) -> ModuleType | None:
    """The module that registers the patterns and the code generator of a library; None if this project has none.

    The library itself is loaded by the module's ``load()``.
    """
    return importlib.import_module(LIBRARIES[name]) if name in LIBRARIES else None


def library_of(function: str) -> str | None:
    """The library whose packed function is called `function`; None for any other."""
    library = function.removeprefix(FUNCTIONS_PREFIX).partition(".")[0]
    return library if function.startswith(FUNCTIONS_PREFIX) and library in LIBRARIES else None


def how_to_register(function: str) -> str:
    """Advice for a packed function that is not registered."""
    library = library_of(function)
    if library is None:
        return "tvm_ffi.register_global_func registers it"
    return f"{LIBRARIES[library]}.load() registers it (pip install relax-mlir[{library}])"


def register_pass(name: str, target: str | type[Pass]) -> None:
    """Register a pass of another package: a class, or ``"module:Class"``, which is imported when needed.

    Raises:
        ArgumentError: the name is taken.
    """
    expect("register_pass: 'name'", name, str, "a name")
    if name in PASSES or name in _CLASSES:
        raise ArgumentError(f"pass '{name}' is registered already")
    if isinstance(target, str):
        PASSES[name] = target
    else:
        _CLASSES[name] = target


_CLASSES: dict[str, type[Pass]] = {}

PLUGINS: list[str] = []
"""The Python files whose passes are registered (see `relax_mlir.tools.plugins`)."""


def names() -> list[str]:
    """All registered names, sorted."""
    return sorted({*PASSES, *_CLASSES})


def is_known(name: str) -> bool:
    """True if a pass of that name is registered; does not import it."""
    return name in PASSES or name in _CLASSES


def is_upstream(name: str) -> bool:
    """True if MLIR has a pass or a pipeline of that name."""
    from relax_mlir.transform.upstream_names import PASSES as UPSTREAM
    from relax_mlir.transform.upstream_names import PIPELINES

    return name in UPSTREAM or name in PIPELINES


def name_of_class(text: str) -> str:
    """The name of the registered pass whose class is called `text`.

    Raises:
        UnknownNameError: no pass has this class; lists near matches among the names of passes.
    """
    found = next((name for name in names() if class_name(name) == text), None)
    if found is None:
        raise unknown_pass(text)
    return found


def class_name(name: str) -> str:
    """The name of the class of a registered pass; does not import it."""
    return _CLASSES[name].__name__ if name in _CLASSES else PASSES[name].rpartition(":")[2]


def pass_class(name: str) -> type[Pass]:
    """The class of a registered pass, imported if necessary.

    Raises:
        UnknownNameError: no such pass; lists near matches, including MLIR's own passes.
    """
    if name in _CLASSES:
        return _CLASSES[name]
    if name not in PASSES:
        raise unknown_pass(name)
    module_name, _, class_name = PASSES[name].partition(":")
    try:
        cls = getattr(importlib.import_module(module_name), class_name)
    except (ImportError, AttributeError) as error:
        raise RelaxError(f"pass '{name}' cannot be loaded from {PASSES[name]}: {error}") from error
    _CLASSES[name] = cast("type[Pass]", cls)
    return _CLASSES[name]


def unknown_pass(name: str) -> UnknownNameError:
    """The error for a name that neither this project nor MLIR knows."""
    from relax_mlir.transform.upstream_names import PASSES as UPSTREAM
    from relax_mlir.transform.upstream_names import PIPELINES

    return UnknownNameError(
        "pass", name, [*names(), *UPSTREAM, *PIPELINES], "relax-opt --show-passes lists all"
    )
