# Written by `python -m relax_mlir.transform.generate_constructors`.

from relax_mlir.instrument.instruments import PrintIR as PrintIR
from relax_mlir.lowering.analysis.check_bounds import CheckBounds as CheckBounds
from relax_mlir.lowering.base.module_parts import Internalize as Internalize
from relax_mlir.lowering.bufferize import CallExposedPrimFuncs as CallExposedPrimFuncs
from relax_mlir.lowering.bufferize import DropDestinationResults as DropDestinationResults
from relax_mlir.lowering.bufferize import MaterializeResults as MaterializeResults
from relax_mlir.lowering.bufferize import PlaceResults as PlaceResults
from relax_mlir.lowering.bufferize import ProtectCarried as ProtectCarried
from relax_mlir.lowering.bufferize import ProtectInputs as ProtectInputs
from relax_mlir.lowering.bufferize import SeparateEmpties as SeparateEmpties
from relax_mlir.lowering.checks import LowerChecks as LowerChecks
from relax_mlir.lowering.entry.emit_ffi_wrappers import EmitFFIWrappers as EmitFFIWrappers
from relax_mlir.lowering.entry.emit_lifecycle import EmitLifecycle as EmitLifecycle
from relax_mlir.lowering.entry.emit_lifecycle import LowerConstants as LowerConstants
from relax_mlir.lowering.entry.instrument_calls import InstrumentCalls as InstrumentCalls
from relax_mlir.lowering.entry.lower_objects import LowerObjects as LowerObjects
from relax_mlir.lowering.entry.lower_packed_calls import LowerPackedCalls as LowerPackedCalls
from relax_mlir.lowering.expand import ExpandBools as ExpandBools
from relax_mlir.lowering.expand import ExpandFloats as ExpandFloats
from relax_mlir.lowering.expand import ExpandFma as ExpandFma
from relax_mlir.lowering.expand import ExpandMath as ExpandMath
from relax_mlir.lowering.expand import ExpandRounding as ExpandRounding
from relax_mlir.lowering.kernels.gemm.lower_contractions import LowerContractions as LowerContractions
from relax_mlir.lowering.kernels.nest.vector_loops import LinalgToLoops as LinalgToLoops
from relax_mlir.lowering.kernels.select_kernels import SelectKernels as SelectKernels
from relax_mlir.lowering.legality import CheckLegality as CheckLegality
from relax_mlir.lowering.legalize.check_prim_funcs import CheckPrimFuncs as CheckPrimFuncs
from relax_mlir.lowering.legalize.expose_prim_funcs import ExposePrimFuncs as ExposePrimFuncs
from relax_mlir.lowering.legalize.legalize_ops import LegalizeOps as LegalizeOps
from relax_mlir.lowering.legalize.outline_branches import OutlineBranches as OutlineBranches
from relax_mlir.lowering.llvm.link_kernels import LinkKernels as LinkKernels
from relax_mlir.lowering.llvm.to_llvm import BFloat16Bits as BFloat16Bits
from relax_mlir.lowering.llvm.to_llvm import LowerCopies as LowerCopies
from relax_mlir.lowering.llvm.to_llvm import MangleNames as MangleNames
from relax_mlir.lowering.llvm.to_llvm import MarkStraightLoops as MarkStraightLoops
from relax_mlir.lowering.loops.parallelize_loops import OutlineParallelLoops as OutlineParallelLoops
from relax_mlir.lowering.loops.parallelize_loops import ParallelizeLoops as ParallelizeLoops
from relax_mlir.lowering.loops.skip_empty_loops import SkipEmptyLoops as SkipEmptyLoops
from relax_mlir.lowering.loops.skip_empty_loops import SkipEmptyResults as SkipEmptyResults
from relax_mlir.lowering.loops.unroll_loops import JoinFusedIndices as JoinFusedIndices
from relax_mlir.lowering.loops.unroll_loops import SpecializeFullTiles as SpecializeFullTiles
from relax_mlir.lowering.loops.unroll_loops import UnrollLoops as UnrollLoops
from relax_mlir.lowering.loops.vectorize_loops import VectorizeLoops as VectorizeLoops
from relax_mlir.lowering.memory.pack_constants import PackConstants as PackConstants
from relax_mlir.lowering.memory.plan_memory import PlanMemory as PlanMemory
from relax_mlir.lowering.memory.pool_buffers import PoolBuffers as PoolBuffers
from relax_mlir.lowering.memory.pool_buffers import StackBuffers as StackBuffers
from relax_mlir.lowering.pipeline import RelaxToCalls as RelaxToCalls
from relax_mlir.lowering.pipeline import RelaxToExplicitMemory as RelaxToExplicitMemory
from relax_mlir.lowering.pipeline import RelaxToFlat as RelaxToFlat
from relax_mlir.lowering.pipeline import RelaxToKernels as RelaxToKernels
from relax_mlir.lowering.pipeline import RelaxToLlvm as RelaxToLlvm
from relax_mlir.lowering.pipeline import RelaxToMemrefs as RelaxToMemrefs
from relax_mlir.lowering.pipeline import RelaxToRelax as RelaxToRelax
from relax_mlir.lowering.pipeline import RelaxToTensors as RelaxToTensors
from relax_mlir.lowering.pipeline import RelaxToVm as RelaxToVm
from relax_mlir.lowering.shapes.lower_symbolic_shapes import LowerSymbolicShapes as LowerSymbolicShapes
from relax_mlir.passes.bindings import BindParams as BindParams
from relax_mlir.passes.bindings import BindSymbolicVars as BindSymbolicVars
from relax_mlir.passes.bindings import CanonicalizeBindings as CanonicalizeBindings
from relax_mlir.passes.bindings import FoldConstant as FoldConstant
from relax_mlir.passes.calls import CanonicalizeCalls as CanonicalizeCalls
from relax_mlir.passes.calls import CheckPrimCalls as CheckPrimCalls
from relax_mlir.passes.calls import ExpandTupleArguments as ExpandTupleArguments
from relax_mlir.passes.calls import InlinePrivateFunctions as InlinePrivateFunctions
from relax_mlir.passes.convert_layout import ConvertLayout as ConvertLayout
from relax_mlir.passes.dataflow import ConvertToDataflow as ConvertToDataflow
from relax_mlir.passes.dataflow import ExplicitEffects as ExplicitEffects
from relax_mlir.passes.dataflow import ToNonDataflow as ToNonDataflow
from relax_mlir.passes.dataflow import TopologicalSort as TopologicalSort
from relax_mlir.passes.decompose_ops import DecomposeOps as DecomposeOps
from relax_mlir.passes.fusion.fuse_attention import FuseAttention as FuseAttention
from relax_mlir.passes.fusion.fuse_ops import FuseOps as FuseOps
from relax_mlir.passes.lambda_lift import LambdaLift as LambdaLift
from relax_mlir.passes.memory import CallTIRRewrite as CallTIRRewrite
from relax_mlir.passes.memory import StaticPlanBlockMemory as StaticPlanBlockMemory
from relax_mlir.passes.patterns import FuseOpsByPattern as FuseOpsByPattern
from relax_mlir.passes.patterns import MergeCompositeFunctions as MergeCompositeFunctions
from relax_mlir.passes.patterns import RunCodegen as RunCodegen
from relax_mlir.passes.shapes import NameUnknownDims as NameUnknownDims
from relax_mlir.passes.shapes import Normalize as Normalize
from relax_mlir.passes.shapes import RefineShapes as RefineShapes
from relax_mlir.passes.shapes import RemoveRedundantReshape as RemoveRedundantReshape
from relax_mlir.passes.specialize_closures import LowerClosures as LowerClosures
from relax_mlir.passes.specialize_closures import SpecializeClosures as SpecializeClosures
from relax_mlir.passes.unused import DeadCodeElimination as DeadCodeElimination
from relax_mlir.passes.unused import RemoveUnusedOutputs as RemoveUnusedOutputs
from relax_mlir.passes.unused import RemoveUnusedParameters as RemoveUnusedParameters
from relax_mlir.passes.vm import VMMemoryLower as VMMemoryLower
from relax_mlir.passes.vm import VMShapeLower as VMShapeLower

__all__ = [
    "BFloat16Bits",
    "BindParams",
    "BindSymbolicVars",
    "CallExposedPrimFuncs",
    "CallTIRRewrite",
    "CanonicalizeBindings",
    "CanonicalizeCalls",
    "CheckBounds",
    "CheckLegality",
    "CheckPrimCalls",
    "CheckPrimFuncs",
    "ConvertLayout",
    "ConvertToDataflow",
    "DeadCodeElimination",
    "DecomposeOps",
    "DropDestinationResults",
    "EmitFFIWrappers",
    "EmitLifecycle",
    "ExpandBools",
    "ExpandFloats",
    "ExpandFma",
    "ExpandMath",
    "ExpandRounding",
    "ExpandTupleArguments",
    "ExplicitEffects",
    "ExposePrimFuncs",
    "FoldConstant",
    "FuseAttention",
    "FuseOps",
    "FuseOpsByPattern",
    "InlinePrivateFunctions",
    "InstrumentCalls",
    "Internalize",
    "JoinFusedIndices",
    "LambdaLift",
    "LegalizeOps",
    "LinalgToLoops",
    "LinkKernels",
    "LowerChecks",
    "LowerClosures",
    "LowerConstants",
    "LowerContractions",
    "LowerCopies",
    "LowerObjects",
    "LowerPackedCalls",
    "LowerSymbolicShapes",
    "MangleNames",
    "MarkStraightLoops",
    "MaterializeResults",
    "MergeCompositeFunctions",
    "NameUnknownDims",
    "Normalize",
    "OutlineBranches",
    "OutlineParallelLoops",
    "PackConstants",
    "ParallelizeLoops",
    "PlaceResults",
    "PlanMemory",
    "PoolBuffers",
    "PrintIR",
    "ProtectCarried",
    "ProtectInputs",
    "RefineShapes",
    "RelaxToCalls",
    "RelaxToExplicitMemory",
    "RelaxToFlat",
    "RelaxToKernels",
    "RelaxToLlvm",
    "RelaxToMemrefs",
    "RelaxToRelax",
    "RelaxToTensors",
    "RelaxToVm",
    "RemoveRedundantReshape",
    "RemoveUnusedOutputs",
    "RemoveUnusedParameters",
    "RunCodegen",
    "SelectKernels",
    "SeparateEmpties",
    "SkipEmptyLoops",
    "SkipEmptyResults",
    "SpecializeClosures",
    "SpecializeFullTiles",
    "StackBuffers",
    "StaticPlanBlockMemory",
    "ToNonDataflow",
    "TopologicalSort",
    "UnrollLoops",
    "VMMemoryLower",
    "VMShapeLower",
    "VectorizeLoops",
]
