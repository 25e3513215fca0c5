"""The named pipelines of `relax_mlir.lowering.pipeline` as passes, for the registry and ``relax-opt``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.error import UnknownNameError
from relax_mlir.lowering.pipeline import pipeline_phases
from relax_mlir.target import Target
from relax_mlir.transform import Pass, PipelinePass


@dataclass(frozen=True)
class NamedPipeline(PipelinePass):
    """The phases up to and including one.

    `target` describes the machine; `start` is the first phase to run, for a module that is at a lower level.
    """

    target: str = "cpu"
    start: str = ""

    def passes(self) -> Sequence[Pass]:
        """The phases as passes.

        Raises:
            UnknownNameError: `start` is not among the phases of this pipeline, or no such target.
            ParseError: a target that is no description of one.
        """
        every = pipeline_phases(self.name, str(Target.parse(self.target)))
        names = [phase.name for phase in every]
        first = self.start or names[0]
        if first not in names:
            raise UnknownNameError(f"phase of pipeline '{self.name}'", first, names)
        return [phase.as_pass() for phase in every[names.index(first) :]]


class RelaxOptimize(NamedPipeline):
    """Relax-to-Relax passes (level R0)."""

    name: ClassVar[str] = "relax-optimize"


class RelaxToCalls(NamedPipeline):
    """Down to calls of prim funcs (level R1)."""

    name: ClassVar[str] = "relax-to-calls"


class RelaxToExplicitMemory(NamedPipeline):
    """Down to tensors in planned storages (level R1, explicit memory)."""

    name: ClassVar[str] = "relax-to-explicit-memory"


class RelaxToVm(NamedPipeline):
    """Down to builtins of the virtual machine and a shape heap (level R1, shape heap)."""

    name: ClassVar[str] = "relax-to-vm"


class RelaxToTensors(NamedPipeline):
    """Down to linalg on tensors (level T)."""

    name: ClassVar[str] = "relax-to-tensors"


class RelaxToMemrefs(NamedPipeline):
    """Down to linalg on memrefs (level M)."""

    name: ClassVar[str] = "relax-to-memrefs"


class RelaxToKernels(NamedPipeline):
    """Down to loops and vectors (level V)."""

    name: ClassVar[str] = "relax-to-kernels"


class RelaxToFlat(NamedPipeline):
    """Down to functions of blocks and branches, with errors as statuses (level F)."""

    name: ClassVar[str] = "relax-to-flat"


class RelaxToLLVM(NamedPipeline):
    """Down to the LLVM dialect (level L)."""

    name: ClassVar[str] = "relax-to-llvm"
