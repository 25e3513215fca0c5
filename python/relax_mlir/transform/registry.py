"""Registry of passes: pass names → classes, as data; MLIR's names, and the properties of passes.

The class of a pass is imported when it is first looked up. To add a pass, add one line to `PASSES`."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from relax_mlir.error import ArgumentError, RelaxError, UnknownNameError, expect

if TYPE_CHECKING:
    from relax_mlir.transform.passes import Pass


PASSES: dict[str, str] = {
    "canonicalize-bindings": "relax_mlir.passes.bindings:CanonicalizeBindings",
    "convert-layout": "relax_mlir.passes.convert_layout:ConvertLayout",
    "convert-to-dataflow": "relax_mlir.passes.dataflow:ConvertToDataflow",
    "dead-code-elimination": "relax_mlir.passes.unused:DeadCodeElimination",
    "decompose-ops": "relax_mlir.passes.decompose_ops:DecomposeOps",
    "remove-redundant-reshape": "relax_mlir.passes.shapes:RemoveRedundantReshape",
    "separate-empties": "relax_mlir.lowering.bufferize:SeparateEmpties",
    "topological-sort": "relax_mlir.passes.dataflow:TopologicalSort",
    "bfloat16-bits": "relax_mlir.lowering.llvm.to_llvm:BFloat16Bits",
    "bind-params": "relax_mlir.passes.bindings:BindParams",
    "bind-symbolic-vars": "relax_mlir.passes.bindings:BindSymbolicVars",
    "call-exposed-prim-funcs": "relax_mlir.lowering.bufferize:CallExposedPrimFuncs",
    "expose-prim-funcs": "relax_mlir.lowering.legalize.expose_prim_funcs:ExposePrimFuncs",
    "check-bounds": "relax_mlir.lowering.analysis.check_bounds:CheckBounds",
    "call-tir-rewrite": "relax_mlir.passes.memory:CallTIRRewrite",
    "canonicalize-calls": "relax_mlir.passes.calls:CanonicalizeCalls",
    "check-legality": "relax_mlir.lowering.legality:CheckLegality",
    "check-prim-funcs": "relax_mlir.lowering.legalize.check_prim_funcs:CheckPrimFuncs",
    "check-prim-calls": "relax_mlir.passes.calls:CheckPrimCalls",
    "link-kernels": "relax_mlir.lowering.llvm.link_kernels:LinkKernels",
    "drop-destination-results": "relax_mlir.lowering.bufferize:DropDestinationResults",
    "emit-ffi-wrappers": "relax_mlir.lowering.entry.emit_ffi_wrappers:EmitFFIWrappers",
    "emit-lifecycle": "relax_mlir.lowering.entry.emit_lifecycle:EmitLifecycle",
    "expand-floats": "relax_mlir.lowering.expand:ExpandFloats",
    "expand-bools": "relax_mlir.lowering.expand:ExpandBools",
    "expand-fma": "relax_mlir.lowering.expand:ExpandFma",
    "expand-rounding": "relax_mlir.lowering.expand:ExpandRounding",
    "expand-math": "relax_mlir.lowering.expand:ExpandMath",
    "expand-tuple-arguments": "relax_mlir.passes.calls:ExpandTupleArguments",
    "fold-constant": "relax_mlir.passes.bindings:FoldConstant",
    "explicit-effects": "relax_mlir.passes.dataflow:ExplicitEffects",
    "fuse-attention": "relax_mlir.passes.fusion.fuse_attention:FuseAttention",
    "fuse-ops-by-pattern": "relax_mlir.passes.patterns:FuseOpsByPattern",
    "merge-composite-functions": "relax_mlir.passes.patterns:MergeCompositeFunctions",
    "run-codegen": "relax_mlir.passes.patterns:RunCodegen",
    "fuse-ops": "relax_mlir.passes.fusion.fuse_ops:FuseOps",
    "inline-private-functions": "relax_mlir.passes.calls:InlinePrivateFunctions",
    "instrument-calls": "relax_mlir.lowering.entry.instrument_calls:InstrumentCalls",
    "internalize": "relax_mlir.lowering.base.module_parts:Internalize",
    "lambda-lift": "relax_mlir.passes.lambda_lift:LambdaLift",
    "legalize-ops": "relax_mlir.lowering.legalize.legalize_ops:LegalizeOps",
    "linalg-to-loops": "relax_mlir.lowering.kernels.nest.vector_loops:LinalgToLoops",
    "lower-checks": "relax_mlir.lowering.checks:LowerChecks",
    "lower-constants": "relax_mlir.lowering.entry.emit_lifecycle:LowerConstants",
    "lower-contractions": "relax_mlir.lowering.kernels.gemm.lower_contractions:LowerContractions",
    "lower-copies": "relax_mlir.lowering.llvm.to_llvm:LowerCopies",
    "lower-objects": "relax_mlir.lowering.entry.lower_objects:LowerObjects",
    "lower-packed-calls": "relax_mlir.lowering.entry.lower_packed_calls:LowerPackedCalls",
    "lower-symbolic-shapes": "relax_mlir.lowering.shapes.lower_symbolic_shapes:LowerSymbolicShapes",
    "mangle-names": "relax_mlir.lowering.llvm.to_llvm:MangleNames",
    "mark-straight-loops": "relax_mlir.lowering.llvm.to_llvm:MarkStraightLoops",
    "materialize-results": "relax_mlir.lowering.bufferize:MaterializeResults",
    "name-unknown-dims": "relax_mlir.passes.shapes:NameUnknownDims",
    "normalize": "relax_mlir.passes.shapes:Normalize",
    "outline-branches": "relax_mlir.lowering.legalize.outline_branches:OutlineBranches",
    "outline-parallel-loops": "relax_mlir.lowering.loops.parallelize_loops:OutlineParallelLoops",
    "place-results": "relax_mlir.lowering.bufferize:PlaceResults",
    "plan-memory": "relax_mlir.lowering.memory.plan_memory:PlanMemory",
    "pool-buffers": "relax_mlir.lowering.memory.pool_buffers:PoolBuffers",
    "protect-carried": "relax_mlir.lowering.bufferize:ProtectCarried",
    "protect-inputs": "relax_mlir.lowering.bufferize:ProtectInputs",
    "refine-shapes": "relax_mlir.passes.shapes:RefineShapes",
    "relax-to-relax": "relax_mlir.lowering.pipeline:RelaxToRelax",
    "relax-to-calls": "relax_mlir.lowering.pipeline:RelaxToCalls",
    "relax-to-explicit-memory": "relax_mlir.lowering.pipeline:RelaxToExplicitMemory",
    "relax-to-flat": "relax_mlir.lowering.pipeline:RelaxToFlat",
    "relax-to-kernels": "relax_mlir.lowering.pipeline:RelaxToKernels",
    "relax-to-llvm": "relax_mlir.lowering.pipeline:RelaxToLlvm",
    "relax-to-memrefs": "relax_mlir.lowering.pipeline:RelaxToMemrefs",
    "relax-to-tensors": "relax_mlir.lowering.pipeline:RelaxToTensors",
    "specialize-full-tiles": "relax_mlir.lowering.loops.unroll_loops:SpecializeFullTiles",
    "vectorize-loops": "relax_mlir.lowering.loops.vectorize_loops:VectorizeLoops",
    "unroll-loops": "relax_mlir.lowering.loops.unroll_loops:UnrollLoops",
    "join-fused-indices": "relax_mlir.lowering.loops.unroll_loops:JoinFusedIndices",
    "parallelize-loops": "relax_mlir.lowering.loops.parallelize_loops:ParallelizeLoops",
    "stack-buffers": "relax_mlir.lowering.memory.pool_buffers:StackBuffers",
    "skip-empty-loops": "relax_mlir.lowering.loops.skip_empty_loops:SkipEmptyLoops",
    "skip-empty-results": "relax_mlir.lowering.loops.skip_empty_loops:SkipEmptyResults",
    "remove-unused-outputs": "relax_mlir.passes.unused:RemoveUnusedOutputs",
    "remove-unused-parameters": "relax_mlir.passes.unused:RemoveUnusedParameters",
    "print-ir": "relax_mlir.instrument.instruments:PrintIR",
    "relax-to-vm": "relax_mlir.lowering.pipeline:RelaxToVm",
    "pack-constants": "relax_mlir.lowering.memory.pack_constants:PackConstants",
    "select-kernels": "relax_mlir.lowering.kernels.select_kernels:SelectKernels",
    "static-plan-block-memory": "relax_mlir.passes.memory:StaticPlanBlockMemory",
    "lower-closures": "relax_mlir.passes.specialize_closures:LowerClosures",
    "specialize-closures": "relax_mlir.passes.specialize_closures:SpecializeClosures",
    "to-non-dataflow": "relax_mlir.passes.dataflow:ToNonDataflow",
    "vm-memory-lower": "relax_mlir.passes.vm:VMMemoryLower",
    "vm-shape-lower": "relax_mlir.passes.vm:VMShapeLower",
}


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

    return name in MLIR_PASSES or name in MLIR_PIPELINES


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
        RelaxError: its module cannot be imported.
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

    return UnknownNameError(
        "pass", name, [*names(), *MLIR_PASSES, *MLIR_PIPELINES], "relax-opt --show-passes lists all"
    )


# Names of MLIR's passes, pipelines and dialects in the bindings wheel, as data.
#
# The bindings cannot list them. Only messages and ``--show-passes`` use this list; MLIR itself decides if a name
# exists. A test checks that the bindings know every name here.

_PASSES = """
acc-bind-routine acc-cg-to-gpu acc-compute-lowering acc-declare-gpu-module-insertion
acc-emit-remarks-data acc-emit-remarks-loop acc-emit-remarks-private acc-if-clause-lowering
acc-implicit-data acc-implicit-declare acc-implicit-routine acc-legalize-serial acc-loop-tiling
acc-recipe-materialization acc-routine-lowering acc-routine-to-gpu-func acc-specialize-for-device
acc-specialize-for-host acc-to-llvm affine-data-copy-generate affine-expand-index-ops
affine-expand-index-ops-as-affine affine-fold-memref-alias-ops affine-loop-coalescing
affine-loop-fusion affine-loop-invariant-code-motion affine-loop-normalize affine-loop-tile
affine-loop-unroll affine-loop-unroll-jam affine-parallelize affine-pipeline-data-transfer
affine-raise-from-memref affine-scalrep affine-simplify-min-max affine-simplify-structures
affine-simplify-with-bounds affine-super-vectorize amdgpu-emulate-atomics amdgpu-maskedload-to-load
amdgpu-resolve-strided-metadata arith-emulate-unsupported-floats arith-emulate-wide-int arith-expand
arith-int-range-narrowing arith-unsigned-when-equivalent arm-neon-2d-to-intr
arm-sme-outer-product-fusion arm-sme-vector-legalization arm-sve-legalize-vector-storage
async-func-to-async-runtime async-parallel-for async-runtime-policy-based-ref-counting
async-runtime-ref-counting async-runtime-ref-counting-opt async-to-async-runtime
bubble-down-memory-space-casts buffer-deallocation-simplification buffer-hoisting buffer-loop-hoisting
buffer-results-to-out-params bufferization-lower-deallocations canonicalize composite-fixed-point-pass
control-flow-sink convert-affine-for-to-gpu convert-amdgpu-to-rocdl convert-arith-to-amdgpu
convert-arith-to-apfloat convert-arith-to-arm-sme convert-arith-to-emitc convert-arith-to-llvm
convert-arith-to-spirv convert-arm-sme-to-llvm convert-arm-sme-to-scf convert-async-to-llvm
convert-bufferization-to-memref convert-cf-to-llvm convert-cf-to-spirv convert-complex-to-libm
convert-complex-to-llvm convert-complex-to-rocdl-library-calls convert-complex-to-spirv
convert-complex-to-standard convert-elementwise-to-linalg convert-func-to-emitc convert-func-to-llvm
convert-func-to-spirv convert-gpu-to-llvm-spv convert-gpu-to-nvvm convert-gpu-to-rocdl
convert-gpu-to-spirv convert-index-to-llvm convert-index-to-spirv convert-linalg-to-affine-loops
convert-linalg-to-loops convert-linalg-to-parallel-loops convert-linalg-to-std convert-math-to-apfloat
convert-math-to-emitc convert-math-to-funcs convert-math-to-libm convert-math-to-llvm
convert-math-to-nvvm convert-math-to-rocdl convert-math-to-spirv convert-math-to-xevm
convert-memref-to-emitc convert-memref-to-spirv convert-nvgpu-to-nvvm convert-nvvm-to-llvm
convert-openacc-to-scf convert-openmp-to-llvm convert-parallel-loops-to-gpu convert-pdl-to-pdl-interp
convert-scf-to-cf convert-scf-to-emitc convert-scf-to-openmp convert-scf-to-spirv
convert-shape-constraints convert-shape-to-std convert-shard-to-mpi convert-spirv-to-llvm
convert-tensor-to-linalg convert-tensor-to-spirv convert-to-emitc convert-to-llvm convert-ub-to-llvm
convert-ub-to-spirv convert-vector-to-amx convert-vector-to-arm-sme convert-vector-to-gpu
convert-vector-to-llvm convert-vector-to-scf convert-vector-to-spirv convert-vector-to-xegpu
convert-xegpu-to-xevm convert-xevm-to-llvm cse decorate-spirv-composite-type-layout
drop-equivalent-buffer-results duplicate-function-elimination eliminate-empty-tensors
empty-tensor-to-alloc-tensor enable-arm-streaming ensure-debug-info-scope-on-llvm-func expand-realloc
expand-strided-metadata finalize-memref-to-llvm flatten-memref fold-tensor-subset-ops form-expressions
generate-runtime-verification gpu-async-region gpu-decompose-memrefs gpu-eliminate-barriers
gpu-kernel-outlining gpu-launch-sink-index-computations gpu-map-parallel-loops gpu-module-to-binary
gpu-to-llvm inline int-range-optimizations lift-cf-to-scf linalg-block-pack-matmul
linalg-fold-into-elementwise linalg-fold-unit-extent-dims linalg-fuse-elementwise-ops
linalg-generalize-named-ops linalg-inline-scalar-operands linalg-morph-ops
linalg-specialize-generic-ops llvm-add-comdats llvm-legalize-for-export llvm-optimize-for-nvvm-target
llvm-request-c-wrappers llvm-target-to-data-layout llvm-target-to-target-features
llvm-use-default-visibility loop-invariant-code-motion loop-invariant-subset-hoisting lower-affine
lower-host-to-llvm lower-quant-ops lower-sparse-foreach-to-scf lower-sparse-iteration-to-scf
lower-sparse-ops-to-foreach lower-vector-mask lower-vector-multi-reduction
lower-vector-to-from-elements-to-shuffle-tree map-memref-spirv-storage-class math-expand-ops
math-extend-to-supported-types math-sincos-fusion math-uplift-to-fma mem2reg
memref-elide-reinterpret-cast memref-emulate-wide-int memref-expand mlgo-add-reflection-map
mlprogram-pipeline-globals normalize-memrefs normalize-quant-types nvgpu-optimize-shared-memory
nvvm-attach-target offload-livein-value-canonicalization offload-target-verifier omp-host-op-filter
omp-mark-declare-target omp-offload-privatization-prepare omp-stack-to-shared one-shot-bufferize
openacc-legalize-data-values optimize-allocation-liveness outline-shape-computation
ownership-based-buffer-deallocation pre-sparsification-rewrite print-ir print-op-stats
promote-buffers-to-stack raise-scf-to-affine raise-wasm-mlir reconcile-unrealized-casts
reify-result-shapes remove-dead-values remove-shape-constraints resolve-ranked-shaped-type-result-dims
resolve-shaped-type-result-dims rocdl-attach-target scalarize-single-element-tensor-return sccp
scf-for-loop-canonicalization scf-for-loop-peeling scf-for-loop-range-folding
scf-for-loop-specialization scf-for-to-while scf-forall-to-for scf-forall-to-parallel
scf-parallel-for-to-nested-fors scf-parallel-loop-fusion scf-parallel-loop-specialization
scf-parallel-loop-tiling set-llvm-module-datalayout shape-to-shape-lowering shard-partition
shard-simplify sharding-propagation simplify-depthwise-conv snapshot-op-locations sparse-assembler
sparse-buffer-rewrite sparse-gpu-codegen sparse-reinterpret-map sparse-space-collapse
sparse-storage-specifier-to-llvm sparse-tensor-codegen sparse-tensor-conversion sparse-vectorization
sparsification sparsification-and-bufferization spirv-attach-target spirv-canonicalize-gl
spirv-lower-abi-attrs spirv-promote-to-replicated-constants spirv-rewrite-inserts
spirv-unify-aliased-resource spirv-update-vce spirv-webgpu-prepare sroa stage-sparse-ops
static-memory-planner-analysis strip-debuginfo strip-func-quant-types symbol-dce symbol-privatize
test-arm-sme-tile-allocation test-scf-parallel-loop-collapsing topological-sort
tosa-arith-const-to-tosa-const tosa-attach-target tosa-convert-integer-type-to-signless
tosa-downgrade-1-1-to-1-0 tosa-experimental-input-shape tosa-infer-shapes tosa-layerwise-constant-fold
tosa-make-broadcastable tosa-narrow-f64-to-f32 tosa-narrow-i64-to-i32 tosa-optional-decompositions
tosa-reduce-transposes tosa-to-arith tosa-to-linalg tosa-to-linalg-named tosa-to-mlprogram tosa-to-scf
tosa-to-spirv-tosa tosa-to-spirv-tosa-mark-graph-constants tosa-to-tensor tosa-validate
transform-dialect-check-uses transform-infer-effects transform-interpreter transform-preload-library
trivial-dce view-op-graph wrap-emitc-func-in-class xegpu-blocking xegpu-optimize-peephole
xegpu-propagate-layout xegpu-sg-to-lane-distribute xegpu-vector-linearize xegpu-wg-to-sg-distribute
xevm-attach-target
"""

_PIPELINES = """
buffer-deallocation-pipeline gpu-lower-to-nvvm-pipeline gpu-lower-to-rocdl-pipeline
gpu-lower-to-xevm-pipeline sparsifier tosa-to-linalg-pipeline
"""

_DIALECTS = """
acc affine amdgpu arith arm_neon arm_sme arm_sve async bufferization builtin cf complex dlti emitc func
gpu index irdl linalg llvm math memref ml_program mpi nvgpu nvvm omp pdl pdl_interp ptr quant rocdl scf
shape shard smt sparse_tensor spirv tensor tosa transform ub vcix vector wasmssa x86 xegpu xevm
"""

MLIR_PASSES = frozenset(_PASSES.split())
MLIR_PIPELINES = frozenset(_PIPELINES.split())
MLIR_DIALECTS = frozenset(_DIALECTS.split())


# The properties of a pass that are known without running it.

MAX_LEVEL = 3
"""The highest optimisation level of passes and contexts."""

_made: set[str] = set()
"""Names of existing passes that are not registered."""


def pass_names(what: str, given: Iterable[str] | None) -> tuple[str, ...]:
    """`given`, a list of names or None, as a tuple; raises `ArgumentError` for others. `what` names the parameter."""
    if given is None:
        return ()
    if isinstance(given, str):
        raise ArgumentError(f"{what} is the string '{given}', expected a list of names: ['{given}']")
    expect(what, given, list | tuple | set | frozenset, "a list of names of passes")
    found = tuple(given)
    for item in found:
        expect(f"{what}: an entry", item, str, "the name of a pass")
    return found


def level(what: str, given: int) -> int:
    """`given`, checked to be an optimisation level; `what` names the parameter. Raises `ArgumentError`."""
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= MAX_LEVEL:
        raise ArgumentError(f"{what} is {given!r}, expected an integer from 0 to {MAX_LEVEL}")
    return given


def remember(name: str) -> None:
    """Make contexts accept the name of a pass that is not registered."""
    _made.add(name)


def class_names() -> dict[str, str]:
    """The names of pass classes, mapped to the names of the passes."""
    return {class_name(name): name for name in names()}


def constructor(name: str) -> type:
    """The pass class called `name`; raises AttributeError, like a module without that attribute."""
    known = class_names()
    if name not in known:
        raise AttributeError(f"module 'relax_mlir.transform' has no attribute '{name}'")
    return pass_class(known[name])


def known_name(name: str) -> str:
    """The name of a pass in the form that contexts compare: a class's name (``FuseOps``) is mapped to ``fuse-ops``.

    Raises:
        UnknownNameError: there is no such pass; lists near matches.
    """
    if name in _made or is_known(name) or is_upstream(name):
        return name
    return name_of_class(name)


@dataclass(frozen=True)
class PassInfo:
    """Name, optimisation level and required passes, as in TVM.

    `text` is the pass in a textual pipeline (``func.func(canonicalize{top-down=false})``), by default its name.
    `composite` marks a pass that only runs others (instruments that print or dump skip it: they see its parts),
    `on_functions` one that runs on one function at a time.
    """

    name: str
    opt_level: int = 0
    required: tuple[str, ...] = ()
    text: str = ""
    composite: bool = False
    on_functions: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        expect("PassInfo: 'name'", self.name, str, "the name of a pass")
        level(f"pass '{self.name}': 'opt_level'", self.opt_level)
        object.__setattr__(self, "required", pass_names(f"pass '{self.name}': 'required'", self.required))
        if not self.text:
            object.__setattr__(self, "text", self.name)
        remember(self.name)
