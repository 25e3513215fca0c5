"""The whole lowering, from Relax to the LLVM dialect, as named phases."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from relax_mlir.error import ArgumentError, UnknownNameError
from relax_mlir.lowering.analysis.check_bounds import CheckBounds
from relax_mlir.lowering.analysis.loop_annotations import WhereAnnotated
from relax_mlir.lowering.base.module_parts import Part
from relax_mlir.lowering.bufferize import bufferize
from relax_mlir.lowering.expand import ExpandBools, ExpandFloats, ExpandFma, ExpandMath, ExpandRounding
from relax_mlir.lowering.kernels.gemm.lower_contractions import LowerContractions
from relax_mlir.lowering.kernels.nest.vector_loops import LinalgToLoops
from relax_mlir.lowering.kernels.select_kernels import SelectKernels
from relax_mlir.lowering.legality import CheckLegality
from relax_mlir.lowering.legalize.check_prim_funcs import CheckPrimFuncs
from relax_mlir.lowering.legalize.expose_prim_funcs import ExposePrimFuncs
from relax_mlir.lowering.legalize.legalize_ops import LegalizeOps
from relax_mlir.lowering.legalize.outline_branches import OutlineBranches
from relax_mlir.lowering.llvm.to_llvm import flatten, to_llvm_dialect
from relax_mlir.lowering.loops.parallelize_loops import ParallelizeLoops
from relax_mlir.lowering.loops.unroll_loops import JoinFusedIndices, SpecializeFullTiles, UnrollLoops
from relax_mlir.lowering.loops.vectorize_loops import VectorizeLoops
from relax_mlir.lowering.memory.pack_constants import PackConstants
from relax_mlir.lowering.memory.pool_buffers import StackBuffers
from relax_mlir.lowering.shapes.lower_symbolic_shapes import LowerSymbolicShapes
from relax_mlir.passes.bindings import FoldConstant
from relax_mlir.passes.calls import CanonicalizeCalls, CheckPrimCalls, InlinePrivateFunctions
from relax_mlir.passes.convert_layout import ConvertLayout
from relax_mlir.passes.dataflow import ExplicitEffects, ToNonDataflow
from relax_mlir.passes.fusion.fuse_attention import FuseAttention
from relax_mlir.passes.fusion.fuse_ops import FuseOps
from relax_mlir.passes.lambda_lift import LambdaLift
from relax_mlir.passes.shapes import NameUnknownDims, Normalize, RefineShapes, RemoveRedundantReshape
from relax_mlir.passes.specialize_closures import LowerClosures, SpecializeClosures
from relax_mlir.passes.unused import RemoveUnusedParameters
from relax_mlir.target import Target
from relax_mlir.transform import MLIRPass, Pass, PassContext, PipelinePass, Sequential, create_pass
from relax_mlir.transform.pipeline import known_passes


@dataclass(frozen=True)
class Phase:
    """A step of the lowering: its passes, and the name of the level that it lowers the module to."""

    name: str
    passes: tuple[Pass, ...]

    def as_pass(self) -> Sequential:
        """The passes, followed by the legality check."""
        return Sequential((*self.passes, CheckLegality(self.name)), name=self.name)


def phases(
    target: str = "cpu",
    low_precision: bool = True,
    take_parts: Callable[[list[Part]], None] | None = None,
    keep_closures: bool = False,
) -> tuple[Phase, ...]:
    """All phases, in order.

    Args:
        target: describes the machine (see `relax_mlir.target.Target`).
        low_precision: if False, the module has neither f16 nor bf16 (see `mentions_low_precision`), and no pass looks
            for them.
        take_parts: receives entry points, which are compiled separately and skip the later phases (see
            `EmitFFIWrappers`). The support functions common to all modules (`early_support`) are then left out, too.
        keep_closures: support function values that are only known at run time, for the virtual machine.
    """
    lowered = (LowerClosures(),) if keep_closures else ()
    halves = (ExpandFloats(target),) if low_precision else ()
    cleanup = known_passes("canonicalize,cse")
    loops = (
        JoinFusedIndices(),
        SpecializeFullTiles(),
        VectorizeLoops(target),
        UnrollLoops(),
        ParallelizeLoops(),
    )
    thorough = (InlinePrivateFunctions(), RefineShapes(), RemoveRedundantReshape(), RemoveUnusedParameters())
    return (
        Phase(
            "relax",
            (
                Normalize(),
                ExposePrimFuncs(),
                CheckPrimFuncs(),
                LambdaLift(),
                ExplicitEffects(),
                SpecializeClosures(keep_closures),
                *lowered,
                Sequential(thorough, opt_level=3, name="thorough"),
                CanonicalizeCalls(),
                ConvertLayout(),
                FoldConstant(),
                FuseAttention(),
                known_passes("canonicalize,cse", opt_level=1, name="clean-up"),
            ),
        ),
        Phase(
            "calls",
            (
                NameUnknownDims(),
                CheckPrimCalls(),
                LegalizeOps(target),
                known_passes("cse", opt_level=1),
                FuseOps(),
                OutlineBranches(),
                known_passes("symbol-dce"),
            ),
        ),
        Phase(
            "tensors",
            (ToNonDataflow(), LowerSymbolicShapes(), CheckBounds(), cleanup),
        ),
        Phase("memrefs", tuple(bufferize())),
        Phase(
            "kernels",
            (
                SelectKernels(target),
                PackConstants(target),
                LowerContractions(target),
                LinalgToLoops(target),
                ExpandBools(),
                WhereAnnotated(loops, name="kinds-of-loops", opt_level=1),
                Sequential((StackBuffers(),), opt_level=1, name="buffers-on-the-stack"),
                ExpandMath(target),
                *halves,
                ExpandFma(target),
                ExpandRounding(target),
                cleanup,
            ),
        ),
        Phase("flat", tuple(flatten(target, take_parts))),
        Phase("llvm", tuple(to_llvm_dialect(low_precision))),
    )


def memory_phases() -> tuple[Phase, ...]:
    """The branch that leaves the lowering at level R1: explicit memory, then the virtual machine's shape heap."""
    return (
        Phase(
            "explicit-memory",
            tuple(map(create_pass, ("to-non-dataflow", "call-tir-rewrite", "static-plan-block-memory"))),
        ),
        Phase("vm", tuple(map(create_pass, ("vm-memory-lower", "vm-shape-lower")))),
    )


PREFIX = "relax-to-"
"""Prefix of a pipeline's name; the rest is the name of the level that it lowers to."""


def pipeline(name: str, target: str = "cpu") -> Sequential:
    """Return the named pipeline; raise `UnknownNameError` if there is none."""
    if name not in PIPELINES:
        raise UnknownNameError("pipeline", name, PIPELINES)
    return Sequential([phase.as_pass() for phase in pipeline_phases(name, target)], name=name)


def pipeline_phases(name: str, target: str = "cpu") -> list[Phase]:
    """The phases of the named pipeline, in order."""
    last = name.removeprefix(PREFIX)
    branch = memory_phases()
    if any(phase.name == last for phase in branch):
        return _up_to([*_up_to(phases(target, keep_closures=True), "calls"), *branch], last)
    return _up_to(phases(target), last)


def _up_to(all_phases: Sequence[Phase], last: str) -> list[Phase]:
    names = [phase.name for phase in all_phases]
    return list(all_phases[: names.index(last) + 1])


PIPELINES: dict[str, type[NamedPipeline]] = {}
"""Named pipelines: all phases up to and including that of a level."""


@dataclass(frozen=True)
class NamedPipeline(PipelinePass):
    """The phases up to and including one.

    `target` describes the machine. `start` is the level of the module if it is not Relax: only later phases run.
    """

    target: str = "cpu"
    start: str = ""

    def __init_subclass__(cls, text: str) -> None:  # up to Python 3.10, ABCMeta has a parameter `name`
        cls.name = text
        PIPELINES[text] = cls
        super().__init_subclass__()

    def passes(self) -> Sequence[Pass]:
        """The phases as passes.

        Raises:
            UnknownNameError: `start` is no level before the end of this pipeline, or the target is unknown.
            ParseError: `target` is not a valid target description.
        """
        every = pipeline_phases(self.name, str(Target.parse(self.target)))
        if not self.start:
            return [phase.as_pass() for phase in every]
        names = [phase.name for phase in every[:-1]]
        if self.start not in names:
            raise UnknownNameError(f"level from which '{self.name}' starts", self.start, names)
        rest = every[names.index(self.start) + 1 :]
        return [CheckLegality(self.start), *(phase.as_pass() for phase in rest)]


class RelaxToRelax(NamedPipeline, text="relax-to-relax"):
    """Relax-to-Relax passes."""


class RelaxToCalls(NamedPipeline, text="relax-to-calls"):
    """Down to calls of prim funcs."""


class RelaxToExplicitMemory(NamedPipeline, text="relax-to-explicit-memory"):
    """Down to tensors in planned storages."""


class RelaxToVm(NamedPipeline, text="relax-to-vm"):
    """Down to builtins of the virtual machine and a shape heap."""


class RelaxToTensors(NamedPipeline, text="relax-to-tensors"):
    """Down to linalg on tensors."""


class RelaxToMemrefs(NamedPipeline, text="relax-to-memrefs"):
    """Down to linalg on memrefs."""


class RelaxToKernels(NamedPipeline, text="relax-to-kernels"):
    """Down to loops and vectors."""


class RelaxToFlat(NamedPipeline, text="relax-to-flat"):
    """Down to functions of blocks and branches."""


class RelaxToLlvm(NamedPipeline, text="relax-to-llvm"):
    """Down to the LLVM dialect."""


# Optimisation levels: the lowering passes that each level of a `PassContext` runs, and those that are required.


def leaves(passes: Iterable[Pass], level: int = 0) -> Iterator[tuple[str, int, bool]]:
    """Yield (name, effective level, is composite) of each pass, including nested ones."""
    for each in passes:
        own = max(level, each.info.opt_level)
        parts = each.passes if isinstance(each, Sequential | MLIRPass) else ()
        is_composite = isinstance(each, Sequential) or each.info.composite
        yield each.info.name, own, is_composite
        if is_composite:
            yield from leaves(parts, own)


@functools.cache
def needed_passes() -> frozenset[str]:
    """The names of passes that every lowering requires: those of level 0, and the phases that contain them.

    MLIR's ``canonicalize`` and ``cse`` are among them, because passes below level R1 depend on them.
    """
    found = leaves(phase.as_pass() for phase in _all_phases())
    return frozenset(name for name, level, _ in found if level == 0)


def with_needed(context: PassContext, opt_level: int | None = None) -> PassContext:
    """The context of a compilation, in which instruments cannot skip required passes.

    Raises:
        ArgumentError: the context disables a required pass.
    """
    disabled = sorted(context.disabled_pass & needed_passes())
    if disabled:
        raise ArgumentError(
            f"build: {', '.join(repr(name) for name in disabled)} cannot be disabled: nothing can be compiled without; "
            f"what can is {', '.join(optional_passes())}"
        )
    return context.derived(
        opt_level=context.opt_level if opt_level is None else opt_level,
        required_pass=context.required_pass | needed_passes(),
    )


def optional_passes() -> list[str]:
    """The names of the passes that levels and `PassContext.disabled_pass` control, in order."""
    found = leaves(phase.as_pass() for phase in phases())
    return list(
        dict.fromkeys(name for name, level, group in found if level and not group and name not in needed_passes())
    )


def level_table() -> list[tuple[int, str, str, str]]:
    """Level, phase, pass and kind of each pass above level 0, sorted by level."""
    rows = []
    for phase in phases():
        for name, level, is_composite in leaves(phase.passes):
            if level:
                rows.append((level, phase.name, name, "group" if is_composite else "pass"))
    return sorted(rows, key=lambda row: row[0])


def _all_phases() -> list[Phase]:
    return [*phases(keep_closures=True), *memory_phases()]
